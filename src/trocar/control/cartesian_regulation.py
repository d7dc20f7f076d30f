"""Holding the tip at one pose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.control.cartesian_feedback_linearisation import CartesianFeedbackLinearisation
from trocar.control.controller import State
from trocar.control.trajectories.paths import TipMotion
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.spatial import Array, checked_pose, pose


class CartesianRegulation(CartesianFeedbackLinearisation):
    """`CartesianFeedbackLinearisation` towards a fixed pose; the reference of the run is ignored.

    Args:
        T: pose (4, 4) of the tip in the base; with joints=3 a position (3,) [m] is enough.
        law, options: kp, kd, joints, friction, hold and period, as in `CartesianFeedbackLinearisation`.
    """

    def __init__(self, mechanism: Mechanism, T: ArrayLike, *law: Any, **options: Any) -> None:
        super().__init__(mechanism, *law, **options)
        T = np.asarray(T, dtype=float)
        if self.joints == 6 and T.shape != (4, 4):
            raise TrocarError(f"with joints=6 the goal must be a pose (4, 4), got shape {T.shape}")
        self.T = checked_pose(pose(p=T) if T.shape == (3,) else T)
        if self.T.shape != (4, 4):
            raise TrocarError(
                f"the goal must be one pose (4, 4) or, with joints=3, a position (3,), got shape {T.shape}"
            )
        self._goal = TipMotion(self.T, np.zeros(6), np.zeros(6))

    def __call__(self, state: State, setpoint: object) -> Array:
        return super().__call__(state, self._goal)
