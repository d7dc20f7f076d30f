"""Practice objects: a plate below the tips of the instruments, with a block and a needle on it."""

from __future__ import annotations

import numpy as np

from trocar.errors import TrocarError
from trocar.simulation.objects.solid import Box, Solid, needle
from trocar.simulation.scene import Scene
from trocar.spatial import Array, pose

GAP = 0.02  # between the jaws and the plate [m]
PLATE = np.array([0.16, 0.16, 0.008])  # [m]
BLOCK, BLOCK_MASS = 0.01, 0.002  # edge [m], [kg]
WIRE = 1e-3  # diameter of the needle [m]
APART = 0.03  # distance of block and needle from the centre [m]
TISSUE, CLAY = (0.78, 0.42, 0.38), (0.25, 0.45, 0.65)


def practice_objects(scene: Scene) -> tuple[Solid, ...]:
    """Objects below all instruments of a scene in its current state; world frame, z up."""
    instruments = {name: arm.arm.jaw_length for name, arm in scene.arms.items() if arm.arm.jaw_length > 0}
    if not instruments:
        raise TrocarError("practice objects require an instrument: use a PSM or a scene with one")
    tips = np.array([scene.T_world_tip(name)[:3, 3] for name in instruments])
    return objects_below(tips, max(instruments.values()))


def objects_below(tips: Array, jaw_length: float) -> tuple[Solid, ...]:
    """Objects below tips (k, 3) of instruments, with jaws of a length [m]; world frame, z up."""
    x, y = tips[:, :2].mean(axis=0)
    top = float(tips[:, 2].min()) - jaw_length - GAP
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
