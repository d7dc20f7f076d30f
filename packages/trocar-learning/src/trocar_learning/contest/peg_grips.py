"""Grips of a peg: jaws from above around one of its walls, off its middle, clear of the post."""

from __future__ import annotations

import numpy as np

from trocar.spatial import Array, pose
from trocar_learning.contest.peg_board import HOLE_RADIUS, PEG_HEIGHT, PEG_WALL

OPEN = 0.62  # commanded opening before a grip: 0.7 mm on both sides of a wall [rad]
SQUEEZE = 0.22  # commanded opening at a grip below the one at which the jaws touch both faces of a wall [rad]
DEEP = 5e-3  # of the jaws' ends below the upper end of a gripped peg [m]
ASIDE = 4e-3  # of the grip from the middle of a wall, clear of the post [m]


def grips(jaw_length: float) -> list[Array]:
    """T_peg_tip (4, 4) of jaws of a length [m]: on both sides of the middle of every wall, turned both ways."""
    z = np.array([0.0, 0.0, -1.0])
    reach = HOLE_RADIUS + PEG_WALL / 2
    frames = []
    for angle in (0.0, 2 * np.pi / 3, -2 * np.pi / 3):
        radial = np.array([np.cos(angle), np.sin(angle), 0.0])
        tangent = np.array([-radial[1], radial[0], 0.0])
        for aside in (-ASIDE, ASIDE):
            for y in (radial, -radial):
                R = np.stack([np.cross(y, z), y, z], axis=1)
                end = pose(R, reach * radial + aside * tangent + [0.0, 0.0, PEG_HEIGHT])
                frames.append(end @ pose(p=[0.0, 0.0, -(jaw_length - DEEP)]))
    return frames


def touching(jaw_length: float) -> float:
    """Opening at which jaws of a length [m] touch both faces of a wall [rad]."""
    return 2.0 * float(np.arcsin(PEG_WALL / 2 / (jaw_length - DEEP)))
