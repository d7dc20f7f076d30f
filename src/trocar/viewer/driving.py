"""What drives the arm: by joint positions, by the pose of the tip or by efforts, and with which controller.

A target may jump; what the controller is given moves there smoothly, within the limits of the joints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from ruckig import InputParameter, OutputParameter, Result, Ruckig
from scipy.spatial.transform import Rotation

from trocar import control
from trocar.control import Controller, Setpoint, State, TipMotion
from trocar.errors import TrocarError, UnknownName
from trocar.mechanics import Mechanism
from trocar.spatial import Array, rotation_vector
from trocar.viewer.plant import TIMESTEP, Plant

TIP_PERIOD = 3 * TIMESTEP  # controllers of the tip cost more than a step [s]
TIP_SPEED, TIP_TURN = 0.15, 2.0  # largest of a target that moves [m/s, rad/s]
TIP_LAG = 0.08  # time constant with which the reference of the tip follows its target [s]
JERK_TIME = 0.05  # from rest to full acceleration of a joint reference [s]


class Mode(StrEnum):
    joint = "joint"
    cartesian = "cartesian"
    torque = "torque"


@dataclass(frozen=True)
class Gain:
    """A number of a controller that can be changed while it runs."""

    least: float
    most: float
    usual: float
    unit: str = ""


@dataclass(frozen=True)
class Kind:
    """A controller that can be chosen: what it is, which numbers it has, how it is made."""

    mode: Mode
    about: str
    gains: Mapping[str, Gain]
    make: Callable[[Mechanism, Mapping[str, float]], Controller]


def _joint_gains(mechanism: Mechanism) -> tuple[Array, Array]:
    """The actuators' published gains as each joint feels them."""
    gains, motor_from_joint = mechanism.arm.gains, np.linalg.inv(mechanism.arm.motors.coupling)
    return np.array(gains.kp) @ motor_from_joint**2, np.array(gains.kd) @ motor_from_joint**2


def _pid(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    arm = mechanism.arm
    kp, ki, kd = (np.array(getattr(arm.gains, k)) * gain[k] for k in ("kp", "ki", "kd"))
    return control.JointPID(arm, kp=kp, ki=ki, kd=kd, clamp=True)


def _pd(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    kp, kd = _joint_gains(mechanism)
    return control.JointPD(gain["kp"] * kp, gain["kd"] * kd) + control.GravityCompensation(mechanism)


def _computed_torque(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    w = gain["bandwidth"]
    return control.ComputedTorque(mechanism, w**2, 2 * gain["damping ratio"] * w)


def _feedback_linearisation(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    w = gain["bandwidth"]
    return control.CartesianFeedbackLinearisation(
        mechanism, w**2, 2 * gain["damping ratio"] * w, joints=tip_task(mechanism), period=TIP_PERIOD
    )


def _impedance(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    return control.CartesianImpedance(mechanism, gain["stiffness"], gain["damping"], period=TIP_PERIOD)


class _Efforts(Controller):
    """The efforts asked for, which are the setpoint itself."""

    def __call__(self, state: State, setpoint: Array) -> Array:
        return setpoint


_TIMES = Gain(0.0, 2.0, 1.0, "x published")
_QUARTER = Gain(0.0, 1.0, 0.25, "x published")
_BANDWIDTH, _DAMPING = Gain(2.0, 60.0, 30.0, "rad/s"), Gain(0.2, 2.0, 1.0)

CONTROLLERS: dict[str, Kind] = {
    "PID (dVRK)": Kind(
        Mode.joint, "the dVRK's own, on the actuators at 1500 Hz", {"kp": _TIMES, "ki": _TIMES, "kd": _TIMES}, _pid
    ),
    "PD + gravity": Kind(Mode.joint, "joint by joint, weight carried", {"kp": _QUARTER, "kd": _QUARTER}, _pd),
    "computed torque": Kind(
        Mode.joint, "with the full model", {"bandwidth": _BANDWIDTH, "damping ratio": _DAMPING}, _computed_torque
    ),
    "feedback linearisation": Kind(
        Mode.cartesian,
        "of the tip, with the full model",
        {"bandwidth": _BANDWIDTH, "damping ratio": _DAMPING},
        _feedback_linearisation,
    ),
    "impedance": Kind(
        Mode.cartesian,
        "the tip yields like a spring; push it",
        {"stiffness": Gain(20.0, 800.0, 200.0, "N/m"), "damping": Gain(1.0, 200.0, 80.0, "N s/m")},
        _impedance,
    ),
    "effort + gravity": Kind(
        Mode.torque, "what you set, beside the weight", {}, lambda m, _: _Efforts() + control.GravityCompensation(m)
    ),
    "effort alone": Kind(Mode.torque, "what you set: the arm falls", {}, lambda m, _: _Efforts()),
}


def choices(mode: Mode) -> list[str]:
    """Controllers of a mode, the usual one first."""
    return [name for name, kind in CONTROLLERS.items() if kind.mode is mode]


def usual_gains(controller: str) -> dict[str, float]:
    return {name: gain.usual for name, gain in CONTROLLERS[controller].gains.items()}


def tip_task(mechanism: Mechanism) -> int:
    """6 where the arm takes any pose of its tip, 3 where only the position is free."""
    return 6 if mechanism.arm.tip_joints >= 6 else 3


class JointReference:
    """A reference in the joints on its way to a target, time-optimal within velocity, acceleration and jerk."""

    def __init__(self, plant: Plant, q: Array, dq: Array) -> None:
        arm = plant.arm
        self._generator = Ruckig(arm.n, TIMESTEP)
        self._input, self._output = InputParameter(arm.n), OutputParameter(arm.n)
        acceleration = np.array([joint.acceleration for joint in arm.joints])
        velocity = np.array([joint.velocity for joint in arm.joints])
        self._input.max_velocity = velocity.tolist()
        self._input.max_acceleration = acceleration.tolist()
        self._input.max_jerk = (acceleration / JERK_TIME).tolist()
        self._input.current_position = q.tolist()
        self._input.current_velocity = np.clip(dq, -velocity, velocity).tolist()
        self._input.current_acceleration = [0.0] * arm.n
        self._arrived: Setpoint | None = None
        self.aim(q)

    def aim(self, q: Array) -> None:
        self._arrived = None
        self._input.target_position, self._input.target_velocity = q.tolist(), [0.0] * len(q)

    def advance(self) -> Setpoint:
        """The reference one timestep later."""
        if self._arrived is not None:
            return self._arrived
        result = self._generator.update(self._input, self._output)
        if result not in (Result.Working, Result.Finished):
            raise TrocarError(f"no motion to the joint target: {result}")
        self._output.pass_to_input(self._input)
        o = self._output
        setpoint = Setpoint(np.array(o.new_position), np.array(o.new_velocity), np.array(o.new_acceleration))
        self._arrived = setpoint if result is Result.Finished else None
        return setpoint


class TipReference:
    """A pose on its way to a target, at limited speed, slowing down as it arrives."""

    def __init__(self, T: Array) -> None:
        self.T, self.target = T.copy(), T.copy()

    def aim(self, T: Array) -> None:
        self.target = T.copy()

    def advance(self) -> TipMotion:
        """The reference one timestep later; six-vectors in base axes."""
        v = _capped((self.target[:3, 3] - self.T[:3, 3]) / TIP_LAG, TIP_SPEED)
        w = _capped(rotation_vector(self.target[:3, :3] @ self.T[:3, :3].T) / TIP_LAG, TIP_TURN)
        self.T[:3, 3] += v * TIMESTEP
        self.T[:3, :3] = Rotation.from_rotvec(w * TIMESTEP).as_matrix() @ self.T[:3, :3]
        return TipMotion(self.T.copy(), np.concatenate([v, w]), np.zeros(6))


class EffortReference:
    """Efforts, as they are set."""

    def __init__(self, n: int) -> None:
        self._tau = np.zeros(n)

    def aim(self, tau: Array) -> None:
        self._tau = np.array(tau)

    def advance(self) -> Array:
        return self._tau


class Driver:
    """A controller on its way to a target: effort from state, step by step."""

    def __init__(self, plant: Plant, controller: str, gains: Mapping[str, float] | None = None) -> None:
        if controller not in CONTROLLERS:
            raise UnknownName("controller", controller, CONTROLLERS)
        self.controller, self.kind = controller, CONTROLLERS[controller]
        self.gains = usual_gains(controller) | dict(gains or {})
        self._plant = plant
        sim = plant.sim
        q = plant.within_limits(sim.q)
        self.reference: JointReference | TipReference | EffortReference
        match self.kind.mode:
            case Mode.joint:
                self.reference = JointReference(plant, q, sim.dq)
            case Mode.cartesian:
                self.reference = TipReference(plant.mechanism.forward_kinematics(sim.q))
            case Mode.torque:
                self.reference = EffortReference(sim.n)
        self.law = self.kind.make(plant.mechanism, self.gains)
        self._interval = 1 if self.law.period is None else max(1, round(self.law.period / TIMESTEP))
        self._count = 0
        self.setpoint: Any = self.reference.advance()
        self._effort = np.zeros(sim.n)
        self._target = self._start()

    def moved_to(self, plant: Plant) -> Driver:
        """The same controller for what the arm is now, on its way to the same target."""
        other = Driver(plant, self.controller, self.gains)
        other.aim(plant.within_limits(self._target) if self.mode is Mode.joint else self._target)
        return other

    def _start(self) -> Array:
        """The target before there is one: to stay, or no effort."""
        match self.mode:
            case Mode.joint:
                return self._plant.within_limits(self._plant.sim.q)
            case Mode.cartesian:
                return self._plant.mechanism.forward_kinematics(self._plant.sim.q)
            case Mode.torque:
                return np.zeros(self._plant.arm.n)

    @property
    def mode(self) -> Mode:
        return self.kind.mode

    def retune(self, gains: Mapping[str, float]) -> None:
        """Other gains; the reference goes on, an integral starts anew."""
        self.gains |= gains
        self.law = self.kind.make(self._plant.mechanism, self.gains)

    def aim(self, target: Array) -> None:
        """Joint positions (n,) [rad, m], a tip pose (4, 4), or efforts (n,) [N m, N], as the mode has it."""
        self._target = target
        self.reference.aim(target)

    def effort(self, state: State) -> Array:
        """Joint efforts (n,) for the next step."""
        self.setpoint = self.reference.advance()
        if self._count % self._interval == 0:
            self._effort = np.asarray(self.law(state, self.setpoint), dtype=float)
        self._count += 1
        return self._effort


def _capped(v: Array, most: float) -> Array:
    length = float(np.linalg.norm(v))
    return v if length <= most else v * (most / length)
