"""Controllers in joint space (PD, the dVRK's PID, computed torque), open-loop efforts, and wrappers of controllers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.control.controller import Controller, Setpoint, State, checked_mechanism, checked_period
from trocar.control.trajectories.paths import SCALINGS
from trocar.control.trajectories.reference import vector
from trocar.errors import TrocarError, check_type
from trocar.mechanics import Mechanism
from trocar.spatial import Array


class JointPD(Controller):
    """tau = kp (q_ref - q) + kd (dq_ref - dq).

    Args:
        kp: [N m/rad, N/m]. kd: [N m s/rad, N s/m]. One number for all joints, or (n,).
        period: [s]. Default: every step.
    """

    def __init__(self, kp: ArrayLike, kd: ArrayLike, period: float | None = None) -> None:
        self.kp, self.kd = checks.gains("kp", kp), checks.gains("kd", kd)
        if self.kp.ndim and self.kd.ndim and len(self.kp) != len(self.kd):
            raise TrocarError(f"kp has {len(self.kp)} gains and kd {len(self.kd)}; give one number or one per joint")
        self.period = checked_period(period)

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        try:
            tau, rate = setpoint.q - state.q, setpoint.dq - state.dq
            tau *= self.kp  # in place: faster
            rate *= self.kd
            tau += rate
            return tau
        except ValueError:
            raise TrocarError(
                f"{type(self).__name__}: gains of shapes {self.kp.shape}, {self.kd.shape} and a setpoint of "
                f"{np.size(setpoint.q)} joints do not fit an arm of {np.size(state.q)}"
            ) from None


class VelocityServo(JointPD):
    """tau = kv (dq_ref - dq) + kp (q_ref - q); with kp = 0 the position may drift.

    The torque is held over a step, so kv must stay well below 2 M / timestep for each joint.

    Args:
        kv: [N m s/rad, N s/m]. kp: [N m/rad, N/m]. One number for all joints, or (n,).
        period: [s]. Default: every step.
    """

    def __init__(self, kv: ArrayLike, kp: ArrayLike = 0.0, period: float | None = None) -> None:
        super().__init__(kp, checks.gains("kv", kv), period)


class JointPID(Controller):
    """tau_motor = kp e + ki int(e) + kd e', e = q_motor_ref - q_motor, tau = coupling^-T tau_motor.

    The dVRK closes its loops on the actuators: q = coupling q_motor. Default period and gains: those published for the
    arm.

    Args:
        kp, ki, kd: (n,) in actuator coordinates. Default: the arm's gains [N m/rad, N m/(rad s), N m s/rad; N/m, ...].
        delay: samples between measurement and actuation (1 on the robot). Until then the effort is zero.
        clamp: limit tau_motor to the motors' largest effort; the integral of a saturated motor is frozen (anti-windup).
    """

    def __init__(
        self,
        arm: Arm,
        *,
        kp: ArrayLike | None = None,
        ki: ArrayLike | None = None,
        kd: ArrayLike | None = None,
        delay: int = 0,
        clamp: bool = False,
    ) -> None:
        check_type("arm", arm, Arm, "an Arm, such as tr.load_arm('PSM') or mechanism.arm")
        gains = arm.gains
        self.kp = checks.gains("kp", gains.kp if kp is None else kp, arm.n)
        self.ki = checks.gains("ki", gains.ki if ki is None else ki, arm.n)
        self.kd = checks.gains("kd", gains.kd if kd is None else kd, arm.n)
        self.delay, self.clamp = checks.count("delay", delay, 0, unit="samples"), clamp
        self.period: float = 1.0 / gains.rate
        self._motor_from_joint = np.linalg.inv(arm.motors.coupling)
        self._limit = arm.motors.effort if clamp else np.full(arm.n, np.inf)
        self._n = arm.n
        # Without integral and limits the law is linear, so the gains can be mapped to the joints.
        self._linear = not clamp and not self.ki.any()
        A = self._motor_from_joint
        self._kp, self._kd = (A.T @ (np.broadcast_to(k, arm.n)[:, None] * A) for k in (self.kp, self.kd))
        self.reset()

    def reset(self) -> None:
        self._integral = np.zeros(self._n)  # integral of e [rad s, m s]
        self._pending = deque([np.zeros(self._n)] * self.delay)

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        if self._linear:
            tau = self._kp.dot(setpoint.q - state.q)
            tau += self._kd.dot(setpoint.dq - state.dq)
            return self._delayed(tau)
        e = self._motor_from_joint @ (setpoint.q - state.q)
        de = self._motor_from_joint @ (setpoint.dq - state.dq)
        integral = self._integral + e * self.period
        commanded = self.kp * e + self.ki * integral + self.kd * de
        tau_motor = np.minimum(np.maximum(commanded, -self._limit), self._limit)
        self._integral = np.where(tau_motor == commanded, integral, self._integral)
        return self._delayed(self._motor_from_joint.T @ tau_motor)

    def _delayed(self, tau: Array) -> Array:
        if not self.delay:
            return tau
        self._pending.append(tau)
        return self._pending.popleft()


class GravityCompensation(Controller):
    """tau = g(q): weight, springs, cables and constant forces.

    Alone it is the free mode: the arm can be moved by hand and stays where it is left. Added to position control it
    cancels the weight at the measured position, or with feed_forward=True at the reference position, which is free of
    measurement noise.

    Args:
        mechanism: the controller's model, which may differ from the simulated one. Its mounting, instrument and
            endoscope are compensated.
        period: [s]. Default: every step.
    """

    def __init__(self, mechanism: Mechanism, period: float | None = None, *, feed_forward: bool = False) -> None:
        self._mechanism = checked_mechanism(mechanism)
        self.feed_forward = feed_forward
        self.period = checked_period(period)

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        return self._mechanism.gravity(setpoint.q if self.feed_forward else state.q)


class ComputedTorque(Controller):
    """tau = M (ddq_ref + kd (dq_ref - dq) + kp (q_ref - q)) + c + g [+ f].

    With a perfect model every joint error obeys e'' + kd e' + kp e = 0: kp = w^2, kd = 2 w is critically damped.

    Args:
        mechanism: the controller's model, which may differ from the simulated one.
        kp: [1/s^2]. kd: [1/s]. One number for all joints, or (n,).
        friction: add the model's friction f at the reference velocity. (At the measured velocity its sign would
            follow the noise and cause chattering.)
        period: [s]. Default: every step.
    """

    def __init__(
        self, mechanism: Mechanism, kp: ArrayLike, kd: ArrayLike, friction: bool = False, period: float | None = None
    ) -> None:
        self._mechanism = checked_mechanism(mechanism)
        self.kp, self.kd = checks.gains("kp", kp, mechanism.n), checks.gains("kd", kd, mechanism.n)
        self.friction = friction
        self.period = checked_period(period)

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        a = setpoint.ddq + self.kd * (setpoint.dq - state.dq) + self.kp * (setpoint.q - state.q)
        tau = self._mechanism.inverse_dynamics(state.q, state.dq, a)
        return tau + self._mechanism.friction(setpoint.q, setpoint.dq) if self.friction else tau


class ConstantEffort(Controller):
    """A constant effort (n,) [N m, N]."""

    def __init__(self, tau: ArrayLike) -> None:
        self.tau = vector(tau, "tau")

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        return self.tau


class EffortFunction(Controller):
    """Effort tau(t) (n,) [N m, N], held for `period` [s] (None: evaluated at every step)."""

    def __init__(self, tau: Callable[[float], ArrayLike], period: float | None = None) -> None:
        check_type("tau", tau, Callable, "a function of time [s] that returns efforts (n,)")
        self._tau = tau
        self.period = checked_period(period)

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        return np.asarray(self._tau(state.t), dtype=float)


class Saturated(Controller):
    """The effort of a controller, clipped joint by joint to -limits ... limits: one number or (n,) [N m, N].

    There is no anti-windup: an integral term of the wrapped controller keeps growing.
    """

    def __init__(self, controller: Controller, limits: ArrayLike) -> None:
        self.controller, self.limits = controller, checks.gains("limits", limits)
        self.period = controller.period

    def reset(self) -> None:
        self.controller.reset()

    def __call__(self, state: State, setpoint: Any) -> Array:
        return np.clip(self.controller(state, setpoint), -self.limits, self.limits)


class SoftStart(Controller):
    """The effort of a controller, faded in smoothly from 0 over `duration` [s] after its first call.

    Keep gravity compensation outside, or the arm drops at first: `SoftStart(JointPD(...), 0.5) + GravityCompensation`.
    """

    def __init__(self, controller: Controller, duration: float) -> None:
        self.controller, self.duration = controller, checks.positive("duration", duration)
        self.period = controller.period
        self._start: float | None = None

    def reset(self) -> None:
        self._start = None
        self.controller.reset()

    def __call__(self, state: State, setpoint: Any) -> Array:
        if self._start is None:
            self._start = state.t
        u = min((state.t - self._start) / self.duration, 1.0)
        return SCALINGS["quintic"](u)[0] * self.controller(state, setpoint)
