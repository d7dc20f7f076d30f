"""The controllers of a running arm by name, with the ranges of their gains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from trocar import control
from trocar.control import Controller, State
from trocar.mechanics import Mechanism
from trocar.runtime.settings import TIMESTEP
from trocar.spatial import Array

TIP_PERIOD = 3 * TIMESTEP  # a Cartesian controller takes longer than a step of the engine [s]


class Mode(StrEnum):
    """The type of a target: joint positions, tip pose or efforts."""

    joint = "joint"
    cartesian = "cartesian"
    torque = "torque"


@dataclass(frozen=True)
class Gain:
    """Range and default of a gain that can be changed while the controller runs."""

    least: float
    most: float
    default: float
    unit: str = ""


@dataclass(frozen=True)
class ControllerKind:
    """A selectable controller: its mode, description, gains and factory function."""

    mode: Mode
    about: str
    gains: Mapping[str, Gain]
    make: Callable[[Mechanism, Mapping[str, float]], Controller]

    @property
    def default_gains(self) -> dict[str, float]:
        return {name: gain.default for name, gain in self.gains.items()}


def _pid(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    arm = mechanism.arm
    kp, ki, kd = (np.array(getattr(arm.gains, k)) * gain[k] for k in ("kp", "ki", "kd"))
    return control.JointPID(arm, kp=kp, ki=ki, kd=kd, clamp=True)


def _pd(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    # the published gains are actuator gains, which act on the joints through the coupling
    gains, motor_from_joint = mechanism.arm.gains, np.linalg.inv(mechanism.arm.motors.coupling)
    kp, kd = (np.array(k) @ motor_from_joint**2 for k in (gains.kp, gains.kd))
    return control.JointPD(gain["kp"] * kp, gain["kd"] * kd) + control.GravityCompensation(mechanism)


def _computed_torque(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    w = gain["bandwidth"]
    return control.ComputedTorque(mechanism, w**2, 2 * gain["damping ratio"] * w)


def _feedback_linearisation(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    w = gain["bandwidth"]
    return control.CartesianFeedbackLinearisation(
        mechanism, w**2, 2 * gain["damping ratio"] * w, joints=6 if orients_tip(mechanism) else 3, period=TIP_PERIOD
    )


def _impedance(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    return control.CartesianImpedance(mechanism, gain["stiffness"], gain["damping"], period=TIP_PERIOD)


class _Efforts(Controller):
    """The setpoint itself."""

    def __call__(self, state: State, setpoint: Array) -> Array:
        return setpoint


_TIMES = Gain(0.0, 2.0, 1.0, "x published")
_QUARTER = Gain(0.0, 1.0, 0.25, "x published")
_SECOND_ORDER = {"bandwidth": Gain(2.0, 60.0, 30.0, "rad/s"), "damping ratio": Gain(0.2, 2.0, 1.0)}
_SPRING = {"stiffness": Gain(20.0, 800.0, 200.0, "N/m"), "damping": Gain(1.0, 200.0, 80.0, "N s/m")}

CONTROLLERS: dict[str, ControllerKind] = {
    "PID (dVRK)": ControllerKind(
        Mode.joint, "the dVRK's own, on the actuators at 1500 Hz", {"kp": _TIMES, "ki": _TIMES, "kd": _TIMES}, _pid
    ),
    "PD + gravity": ControllerKind(
        Mode.joint, "joint by joint, with gravity compensation", {"kp": _QUARTER, "kd": _QUARTER}, _pd
    ),
    "computed torque": ControllerKind(Mode.joint, "with the full model", _SECOND_ORDER, _computed_torque),
    "feedback linearisation": ControllerKind(
        Mode.cartesian, "of the tip, with the full model", _SECOND_ORDER, _feedback_linearisation
    ),
    "impedance": ControllerKind(Mode.cartesian, "the tip yields like a spring; push it", _SPRING, _impedance),
    "effort + gravity": ControllerKind(
        Mode.torque,
        "your efforts plus gravity compensation",
        {},
        lambda m, _: _Efforts() + control.GravityCompensation(m),
    ),
    "effort alone": ControllerKind(
        Mode.torque, "your efforts only; their initial values hold the arm", {}, lambda m, _: _Efforts()
    ),
}


def controllers_of(mode: Mode) -> list[str]:
    """Names of the controllers of a mode, the default one first."""
    return [name for name, kind in CONTROLLERS.items() if kind.mode is mode]


DEFAULT_CONTROLLER = controllers_of(Mode.joint)[0]


def orients_tip(mechanism: Mechanism) -> bool:
    """True if the arm can reach any tip orientation; False if it controls only the position."""
    return mechanism.arm.tip_joints >= 6
