"""Feedback linearisation in joint space."""

from __future__ import annotations

from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Controller, Setpoint, State, checked_mechanism, checked_period
from trocar.mechanics import Mechanism
from trocar.spatial import Array


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
        self,
        mechanism: Mechanism,
        kp: ArrayLike,
        kd: ArrayLike,
        friction: bool = False,
        period: float | None = None,
    ) -> None:
        self._mechanism = checked_mechanism(mechanism)
        self.kp, self.kd = checks.gains("kp", kp, mechanism.n), checks.gains("kd", kd, mechanism.n)
        self.friction = friction
        self.period = checked_period(period)

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        a = setpoint.ddq + self.kd * (setpoint.dq - state.dq) + self.kp * (setpoint.q - state.q)
        tau = self._mechanism.inverse_dynamics(state.q, state.dq, a)
        return tau + self._mechanism.friction(setpoint.q, setpoint.dq) if self.friction else tau
