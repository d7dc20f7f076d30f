"""Two PSMs facing each other, one with a needle in its jaws: the start of a handover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError
from trocar.mechanics import load_mechanism
from trocar.simulation.objects.solid import needle
from trocar.simulation.scene import Scene
from trocar.simulation.scene_arm import SceneArm
from trocar.simulation.skills.hands import wrist_margin
from trocar.simulation.skills.needle_frames import grip_frame
from trocar.simulation.skills.suture_setting import OPENING
from trocar.spatial import Array, inverse, pose, rotation

APART = 0.08  # distance of each remote centre from the middle [m]
WAITING = np.array([0.0, 0.0, 0.10, 0.0, 0.0, 0.0, 0.7])  # joints of the arm that waits


def facing_bases() -> dict[str, Array]:
    """Poses (4, 4) of the bases of PSM1 and PSM2, which face each other, in the world."""
    return {"PSM1": pose(p=[0.0, -APART, 0.0]), "PSM2": pose(rotation("z", np.pi), [0.0, APART, 0.0])}


def pointing_down(name: str, T_world_base: Array, place: Array) -> tuple[Array, Array]:
    """Joints of a PSM whose tip is at a place (3,) [m] and points down, far from the limits of the wrist, and its pose.

    name: of the arm, for the error if it does not reach the place.
    """
    psm = load_mechanism("PSM")
    down = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    options: list[tuple[float, Array, Array]] = []
    for roll in np.linspace(-np.pi, np.pi, 12, endpoint=False):
        T = pose(down @ rotation("z", roll), place)
        options += [
            (wrist_margin(psm.arm.lower, psm.arm.upper, np.array(q)), np.array(q), T)
            for q in psm.inverse_kinematics_all(inverse(T_world_base) @ T)
        ]
    if not options:
        raise TrocarError(f"{name} does not reach {place.tolist()} m")
    _, q, T = max(options, key=lambda option: option[0])
    return q, T


def handover_scene(
    *,
    grip_angle: float = np.radians(45.0),
    approach: float = -np.pi / 2,
    side: int = 1,
    tip: ArrayLike = (0.0, -0.02, -0.115),
    friction: float = 0.5,
    arms: Mapping[str, Mapping[str, Any]] | None = None,
    timestep: float = 1e-3,
) -> Scene:
    """A scene of PSM1, with an SH "needle" between its jaws, and PSM2, 160 mm from it.

    Args:
        grip_angle, approach, side: of the grip; see `grip_frame`. tip: of PSM1 (3,) in the world [m], pointing down.
        arms: further fields of `SceneArm`, by arm.
    """
    bases = facing_bases()
    q, T = pointing_down("PSM1", bases["PSM1"], checks.three_numbers("tip", tip, "in the world [m]"))
    q[-1] = OPENING
    grip = grip_frame(needle("needle", np.eye(4), size="SH"), grip_angle, approach, side)
    starts, fields = {"PSM1": q, "PSM2": WAITING}, {} if arms is None else arms
    placed = {
        name: SceneArm(arm="PSM", base=base, q=starts[name], **fields.get(name, {})) for name, base in bases.items()
    }
    curved = needle("needle", T @ inverse(grip), size="SH", friction=friction)
    return Scene(placed, objects=[curved], timestep=timestep, overlaps=True)
