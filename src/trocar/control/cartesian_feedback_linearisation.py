"""Feedback linearisation of the tip's motion."""

from __future__ import annotations

from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import State
from trocar.control.tip_task import HOLD, TipController
from trocar.control.trajectories.paths import TipMotion
from trocar.mechanics import Mechanism
from trocar.spatial import Array


class CartesianFeedbackLinearisation(TipController):
    """tau = M ddq + c + g [+ f] with J ddq = a_ref + kd (v_ref - v) + kp (p_ref - p) - J_dot dq.

    Eqs. 6 and 7 of Ferro et al. 2022. With a perfect model the error of the tip obeys e'' + kd e' + kp e = 0.
    With joints=6 the orientation follows the same law in small angles; its error is twice the vector part of the error
    quaternion, in base axes. Joints outside the task (the wrist with joints=3, always the jaw) are held at their
    positions of the first call, as critically damped oscillators of frequency `hold`; their effect on the tip is
    cancelled.

    Args:
        mechanism: the controller's model, which may differ from the simulated one.
        kp: [1/s^2]. kd: [1/s]. One number, or (joints,) in base axes.
        joints: 3 for the position by the first three joints, 6 for the pose.
        friction: add the model's friction and offset, at the commanded joint rates.
        hold: [rad/s]; must be well below 1 / period.
        period: [s]. Default: every step.
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
        super().__init__(mechanism, joints, hold, period)
        self.kp, self.kd = checks.gains("kp", kp, joints), checks.gains("kd", kd, joints)
        self.joints, self.friction = joints, friction

    def __call__(self, state: State, setpoint: TipMotion) -> Array:
        tip, rows = self._task.tip(state, setpoint), self._task.rows
        a = setpoint.acceleration[:rows] + self.kd * tip.de + self.kp * tip.e
        return self._effort(state, tip.J, a, friction_at=setpoint.twist[:rows] if self.friction else None)
