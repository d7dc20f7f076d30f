"""The dVRK's joint controller: one PID per actuator at 1500 Hz."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.control.controller import Controller, Setpoint, State
from trocar.errors import check_type
from trocar.spatial import Array


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
        wanted = self.kp * e + self.ki * integral + self.kd * de
        tau_motor = np.minimum(np.maximum(wanted, -self._limit), self._limit)
        self._integral = np.where(tau_motor == wanted, integral, self._integral)
        return self._delayed(self._motor_from_joint.T @ tau_motor)

    def _delayed(self, tau: Array) -> Array:
        if not self.delay:
            return tau
        self._pending.append(tau)
        return self._pending.popleft()
