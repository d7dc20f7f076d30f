"""Control laws of a live arm: the functions that turn its setpoint and its measured state into efforts.

The default is the dVRK's servo, which runs in `ControlLoop` for all arms at once. Any other law replaces it for one arm
while that arm follows positions; commands, trajectories and states stay those of the dVRK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar import checks, control
from trocar.control import Controller, Setpoint, State, TipMotion
from trocar.control.cartesian import TipController
from trocar.errors import TrocarError, check_known, shown
from trocar.mechanics import Mechanism
from trocar.robot.controller.constants import PERIOD
from trocar.robot.controller.memory import Remembering
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.robot.controller.arm import ArmController

TIP_PERIOD = 3 * PERIOD  # a Cartesian law takes longer than a cycle [s]


@dataclass(frozen=True)
class Gain:
    """Range and default of a gain that can be changed while the law runs."""

    minimum: float
    maximum: float
    default: float
    unit: str = ""


@dataclass(frozen=True)
class Law:
    """A selectable law.

    Attributes:
        about: description in a few words. gains: by name.
        make: function of the arm's equations and the gains; None for the dVRK's servo.
        cartesian: it acts on the pose of the tip.
    """

    about: str
    gains: Mapping[str, Gain]
    make: Callable[[Mechanism, Mapping[str, float]], Controller] | None = None
    cartesian: bool = False


def _pd(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    # the published gains are actuator gains, which act on the joints through the coupling
    gains, motor_from_joint = mechanism.arm.gains, np.linalg.inv(mechanism.arm.motors.coupling)
    if len(gains.kp) != mechanism.arm.n:
        raise TrocarError(f"{mechanism.arm.name} has no published PD gains; use the law 'computed torque'")
    kp, kd = (np.array(k) @ motor_from_joint**2 for k in (gains.kp, gains.kd))
    return control.JointPD(gain["kp"] * kp, gain["kd"] * kd) + control.GravityCompensation(mechanism)


def _computed_torque(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    w = gain["bandwidth"]
    return control.ComputedTorque(mechanism, w**2, 2 * gain["damping ratio"] * w)


def _feedback_linearisation(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    w, joints = gain["bandwidth"], 6 if mechanism.arm.tip_joints >= 6 else 3
    return control.CartesianFeedbackLinearisation(
        mechanism, w**2, 2 * gain["damping ratio"] * w, joints=joints, period=TIP_PERIOD
    )


def _impedance(mechanism: Mechanism, gain: Mapping[str, float]) -> Controller:
    return control.CartesianImpedance(mechanism, gain["stiffness"], gain["damping"], period=TIP_PERIOD)


_TIMES = Gain(0.0, 2.0, 1.0, "x published")
_QUARTER = Gain(0.0, 1.0, 0.25, "x published")
_SECOND_ORDER = {"bandwidth": Gain(2.0, 60.0, 30.0, "rad/s"), "damping ratio": Gain(0.2, 2.0, 1.0)}
_SPRING = {"stiffness": Gain(20.0, 800.0, 200.0, "N/m"), "damping": Gain(1.0, 200.0, 80.0, "N s/m")}

SERVO = "PID (dVRK)"
LAWS: Mapping[str, Law] = MappingProxyType(
    {
        SERVO: Law("the dVRK's own, on the actuators at 1500 Hz", {"kp": _TIMES, "ki": _TIMES, "kd": _TIMES}),
        "PD + gravity": Law("joint by joint, with gravity compensation", {"kp": _QUARTER, "kd": _QUARTER}, _pd),
        "computed torque": Law("with the full model", _SECOND_ORDER, _computed_torque),
        "feedback linearisation": Law(
            "of the tip, with the full model", _SECOND_ORDER, _feedback_linearisation, cartesian=True
        ),
        "impedance": Law("the tip yields like a spring; push it", _SPRING, _impedance, cartesian=True),
    }
)
WITHOUT_GAINS = "computed torque"  # the default law of an arm without published PID gains


def default_law(mechanism: Mechanism) -> str:
    """Name of the law an arm starts with."""
    return SERVO if len(mechanism.arm.gains.kp) == mechanism.arm.n else WITHOUT_GAINS


def checked_gains(law: str, gains: Mapping[str, float] | None) -> dict[str, float]:
    """All gains of a law: the given ones, each within its range, and the defaults of the others."""
    check_known("control law", LAWS, law)
    known, changed = LAWS[law].gains, {} if gains is None else gains
    if not isinstance(changed, Mapping):
        raise TrocarError(f"gains must be numbers by name, got {shown(gains)}")
    check_known(f"gain of {law}", known, *changed)
    return {
        name: checks.number(f"{name} of {law}", changed.get(name, gain.default), gain.minimum, gain.maximum, gain.unit)
        for name, gain in known.items()
    }


class ActiveLaw(Remembering):
    """The law of one arm.

    Attributes:
        arm: the arm. name, gains: of the law. controller: the control law itself; None for the dVRK's servo.
        memory: efforts (n,) of the last cycle, if the law acted [N m, N].
    """

    MEMORY = ("memory",)

    def __init__(self, arm: ArmController, name: str, gains: Mapping[str, float]) -> None:
        law = LAWS[name]
        self.name, self.gains = name, MappingProxyType(dict(gains))
        self.arm, self._hardware, self._law = arm, arm.hardware, law
        self._make()
        period = None if self.controller is None else self.controller.period
        self._interval = 1 if period is None else max(1, round(period / PERIOD))
        self.memory: Array | None = None

    def _make(self) -> None:
        self._mechanism = self._hardware.sim.mechanism
        self.controller = None if self._law.make is None else self._law.make(self._mechanism, self.gains)

    def __repr__(self) -> str:
        gains = ", ".join(f"{name}={value:g}" for name, value in self.gains.items())
        return repr(self.controller) if self.controller is not None else f"{self.name}({gains})"

    def act(self) -> None:
        """Efforts of this cycle; the dVRK's servo and efforts commanded by a client need none."""
        hardware, controller = self._hardware, self.controller
        if controller is None or not hardware.tracks:
            self.memory = None
            return
        if self.memory is None or hardware.loop.cycle % self._interval == 0:
            if self._mechanism is not hardware.sim.mechanism:  # another instrument, or another direction of gravity
                self._make()
                controller = self.controller
                assert controller is not None
            state = State(hardware.loop.time, hardware.q, hardware.dq)
            self.memory = np.asarray(controller(state, self._setpoint(controller)), dtype=float)
            if not np.isfinite(self.memory).all():
                raise TrocarError(f"{self.name} of {self.arm.name}: efforts are not finite: {self.memory}")
        pushed = self.arm.pushed
        hardware.drive(self.memory if pushed is None else self.memory + pushed)

    def _setpoint(self, controller: Controller) -> Any:
        q, dq, ddq = self._hardware.setpoint(), self._hardware.setpoint_velocity(), self.arm.trajectory.ddq
        if not self._law.cartesian:
            return Setpoint(q, dq, ddq)
        if isinstance(controller, TipController):
            controller.hold_at(q)
        mechanism = self._mechanism
        T, J = mechanism.forward_kinematics(q), mechanism.jacobian(q)
        if not (dq.any() or ddq.any()):
            return TipMotion(T, np.zeros(6), np.zeros(6))
        m = J.shape[1]
        return TipMotion(T, J @ dq[:m], J @ ddq[:m] + mechanism.jacobian_dot(q, dq) @ dq[:m])
