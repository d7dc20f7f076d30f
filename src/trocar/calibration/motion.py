"""A motion that shows every axis: yaw, pitch and insertion swing at once, with periods that do not repeat together."""

from __future__ import annotations

import numpy as np

from trocar.arms import Arm
from trocar.spatial import Array

PERIODS = (7.3, 5.9, 9.7, 6.1, 4.3, 3.7, 5.3)  # [s]
REACH = 0.8  # of the way from the middle of a joint's range to its limits, at most 0.8 rad


def calibration_motion(arm: Arm, duration: float = 60.0, rate: float = 100.0) -> tuple[Array, Array]:
    """Times (N,) [s] and joint values (N, n) [rad, m] to move an arm through in front of the cameras."""
    t = np.arange(round(duration * rate)) / rate
    middle, half = (arm.lower + arm.upper) / 2, (arm.upper - arm.lower) / 2
    swing = np.minimum(REACH * half, 0.8)
    swing[arm.tip_joints :] = 0.0
    phase = np.arange(arm.n)
    return t, middle + swing * np.sin(2 * np.pi * t[:, None] / np.array(PERIODS[: arm.n]) + phase)
