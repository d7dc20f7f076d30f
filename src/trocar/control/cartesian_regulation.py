"""Holding the tip at one pose."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar.control.cartesian_feedback_linearisation import CartesianFeedbackLinearisation
from trocar.control.controller import Controller, State
from trocar.control.tip_task import HOLD
from trocar.control.trajectories.paths import TipMotion
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.spatial import Array, checked_pose, pose


class CartesianRegulation(Controller):
    """`CartesianFeedbackLinearisation` towards a fixed pose; whatever the reference of the run is, it is not looked at.

    Args:
        T: pose (4, 4) of the tip in the base; with joints=3 a position (3,) [m] will do.
        kp, kd, joints, friction, hold, period: as there.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        T: ArrayLike,
        kp: ArrayLike = 800.0,
        kd: ArrayLike = 60.0,
        joints: int = 3,
        friction: bool = False,
        *,
        hold: float = HOLD,
        period: float | None = None,
    ) -> None:
        self._law = CartesianFeedbackLinearisation(mechanism, kp, kd, joints, friction, hold=hold, period=period)
        T = np.asarray(T, dtype=float)
        if joints == 6 and T.shape != (4, 4):
            raise TrocarError(f"with joints=6 the goal is a pose (4, 4), got shape {T.shape}")
        self.T = checked_pose(pose(p=T) if T.shape == (3,) else T)
        if self.T.shape != (4, 4):
            raise TrocarError(f"the goal is one pose (4, 4) or, with joints=3, a position (3,), got shape {T.shape}")
        self.kp, self.kd, self.joints, self.friction, self.hold = kp, kd, joints, friction, hold
        self.period = self._law.period
        self._goal = TipMotion(self.T, np.zeros(6), np.zeros(6))

    def reset(self) -> None:
        self._law.reset()

    def __call__(self, state: State, setpoint: object) -> Array:
        return self._law(state, self._goal)
