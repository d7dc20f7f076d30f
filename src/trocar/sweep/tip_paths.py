"""A path for tracking studies, and the tip path of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.spatial import Array

CENTRE = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.4])  # centre of the path of a PSM [rad, m]
SIZE = np.array([0.5, 0.4, 0.04, 0.8, 0.5, 0.5, 0.0])  # [rad, m]
FREQUENCY = np.array([0.5, 0.7, 0.6, 0.9, 0.8, 1.1, 1.0])  # [Hz]


def wave(t: Array, speed: Array) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration (T, 7, N) of sinusoids of all joints of a PSM at N speeds [rad, m; per s]."""
    t, size = np.asarray(t)[:, None, None], SIZE[:, None]
    w = 2.0 * np.pi * FREQUENCY[:, None] * speed
    return CENTRE[:, None] + size * np.sin(w * t), size * w * np.cos(w * t), -size * w**2 * np.sin(w * t)


def tip_positions(arms: Any, q: Array) -> Array:
    """Tip positions (T, 3, N) [m] of joint values (T, n, N) of `trocar.batch` arms, base axes."""
    T, n, N = q.shape
    tips = arms.tip_pose(q.transpose(1, 0, 2).reshape(n, T * N))[:3, 3]
    return np.asarray(tips.reshape(3, T, N).transpose(1, 0, 2))
