"""Something to touch: a plate below the tips of instruments, with a block and a needle on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trocar.errors import TrocarError
from trocar.simulation import Box, Solid, needle
from trocar.spatial import Array, pose

GAP = 0.02  # between the jaws and the plate [m]
PLATE = np.array([0.16, 0.16, 0.008])  # [m]
BLOCK, BLOCK_MASS = 0.01, 0.002  # edge [m], [kg]
WIRE = 1e-3  # of the needle [m]
APART = 0.03  # block and needle, from the middle [m]
TISSUE, CLAY = (0.78, 0.42, 0.38), (0.25, 0.45, 0.65)


def things_below(tips: Sequence[Array], reach: float, carries: str | None = "instrument") -> tuple[Solid, ...]:
    """Objects below tips (3,), z up; `reach` is from a tip to the end of its jaws [m]."""
    if carries != "instrument" or not tips:
        raise TrocarError("--touch needs an instrument: a PSM, or a scene with one")
    x, y, _ = np.mean(tips, axis=0)
    top = min(float(tip[2]) for tip in tips) - reach - GAP
    return (
        Solid("plate", Box(np.zeros(3), PLATE), pose(p=[x, y, top - PLATE[2] / 2]), colour=TISSUE),
        Solid(
            "block",
            Box(np.zeros(3), np.full(3, BLOCK)),
            pose(p=[x + APART, y, top + BLOCK / 2]),
            mass=BLOCK_MASS,
            colour=CLAY,
        ),
        needle("needle", pose(p=[x - APART, y, top + WIRE / 2]), diameter=WIRE),
    )
