"""Feedback linearisation of the tip's motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar.control.controller import Controller, State, checked_gains, checked_period
from trocar.control.tip_task import HOLD, TipTask
from trocar.control.trajectories.paths import TipMotion
from trocar.mechanics import Mechanism
from trocar.spatial import Array


class CartesianFeedbackLinearisation(Controller):
    """tau = M ddq + c + g [+ f] with J ddq = a_ref + kd (v_ref - v) + kp (p_ref - p) - J_dot dq.

    As eqs. 6 and 7 of Ferro et al. 2022: with a perfect model the error of the tip obeys e'' + kd e' + kp e = 0.
    With joints=6 the orientation follows the same law in small angles; its error is twice the vector part of the error
    quaternion, in base axes. Joints that the task leaves out (with 3 the wrist, always the jaw) are held where they
    are at the first call, as critically damped oscillators of frequency `hold`, and the tip is freed of what they do.

    Args:
        mechanism: the model, which need not be the one simulated.
        kp: [1/s^2]. kd: [1/s]. One number, or (joints,) in base axes.
        joints: 3 for the position by the first three joints, 6 for the pose.
        friction: whether the model's friction and offset are added, at the joint rates asked for.
        hold: [rad/s]; well below 1 / period.
        period: [s]; None for every step.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        kp: ArrayLike = 800.0,
        kd: ArrayLike = 60.0,
        joints: int = 3,
        friction: bool = False,
        *,
        hold: float = HOLD,
        period: float | None = None,
    ) -> None:
        self._task = TipTask(mechanism, joints, hold)
        self.kp, self.kd = checked_gains(kp, "kp", joints), checked_gains(kd, "kd", joints)
        self.joints, self.friction, self.hold = joints, friction, hold
        self.period = checked_period(period)

    def reset(self) -> None:
        self._task.reset()

    def __call__(self, state: State, setpoint: TipMotion) -> Array:
        task, mechanism = self._task, self._task.mechanism
        tip = task.tip(state, setpoint)
        a = setpoint.acceleration[: task.rows] + self.kd * tip.de + self.kp * tip.e
        tau = mechanism.inverse_dynamics(state.q, state.dq, task.acceleration(state, tip.J, a))
        if not self.friction:
            return tau
        asked = np.zeros(mechanism.n)
        asked[: task.columns] = task.joint_rates(tip.J, setpoint.twist[: task.rows])
        return tau + mechanism.friction(state.q, asked)
