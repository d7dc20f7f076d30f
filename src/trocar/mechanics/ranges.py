"""Ranges of the terms in the closed forms, over intervals of the joints."""

from __future__ import annotations

import numpy as np

from trocar.arms.structure import GimballedArm

HALF_PI = np.pi / 2
Range = tuple[float, float]


def cosine_range(lower: float, upper: float) -> Range:
    """Smallest and largest cosine over an interval [rad]."""
    ends = np.cos([lower, upper])
    turns = np.floor(upper / np.pi) - np.ceil(lower / np.pi) + 1  # multiples of pi inside
    peaks = np.cos(np.pi * (np.ceil(lower / np.pi) + np.arange(max(0, int(turns)))))
    values = np.concatenate([ends, np.round(peaks)])
    return float(values.min()), float(values.max())


def distance_range(lengths: GimballedArm, q2: Range, q3: Range) -> Range:
    """Smallest and largest u [m] over a box of q2, q3: the signed distance of the gimbal from the yaw axis."""
    psi = (q3[0] + lengths.gamma, q3[1] + lengths.gamma)
    extremes: list[float] = []
    # extrema lie on an edge of the box, or where both derivatives vanish: cos q2 = 0
    stationary = HALF_PI + np.pi * np.arange(np.ceil(q2[0] / np.pi - 0.5), np.floor(q2[1] / np.pi - 0.5) + 1)
    for value in (*q2, *stationary):
        cosines = cosine_range(value + psi[0], value + psi[1])
        extremes += [lengths.upper_arm * float(np.sin(value)) + lengths.r * c for c in cosines]
    for value in psi:
        sine, cosine = lengths.upper_arm - lengths.r * np.sin(value), lengths.r * np.cos(value)
        phase = float(np.arctan2(sine, cosine))
        extremes += [float(np.hypot(sine, cosine)) * c for c in cosine_range(q2[0] - phase, q2[1] - phase)]
    return min(extremes), max(extremes)
