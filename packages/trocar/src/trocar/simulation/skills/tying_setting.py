"""A thread under a post, its long end in the jaws of PSM1 and its short end free: the start of tying a throw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.mechanics import load_mechanism
from trocar.simulation.objects.filament import Filament
from trocar.simulation.objects.solid import Box, Cylinder, Solid
from trocar.simulation.scene import Scene
from trocar.simulation.scene_arm import SceneArm
from trocar.simulation.skills.hands import wrist_margin
from trocar.simulation.skills.knot_setting import PLACE, POST
from trocar.spatial import Array, inverse, pose, rotation

PAD = 6.5e-3  # middle of the pads from the hinge, where the tip frame is [m]
SIDES = {"PSM1": -1.0, "PSM2": 1.0}  # where the arms are, along y
REACH, ELEVATION = 0.15, np.radians(40.0)  # of the remote centres from the post [m, rad]
SLOPE = 0.22  # of the ends where they leave the post
GUIDE = 4e-3  # distance of the guides from the post's axis [m]
EXIT_HEIGHT = -0.75e-3  # of the thread in the guides above the post's axis [m]


def opposite_bases() -> dict[str, Array]:
    """Poses (4, 4) of the bases of PSM1 and PSM2, whose shafts come from both sides at 40 degrees, in the world."""
    bases = {}
    for name, side in SIDES.items():
        turned = rotation("z", np.pi / 2 * (1.0 + side)) @ rotation("x", np.pi / 2 - ELEVATION)
        away = np.array([0.0, side * np.cos(ELEVATION), np.sin(ELEVATION)])
        bases[name] = pose(turned, PLACE + REACH * away)
    return bases


def across(arm: str, middle: Array, down: float) -> Array:
    """Tip pose (4, 4) of an arm whose jaws point to the other side, and close along x.

    down: angle of the jaws below the horizontal [rad].
    middle: of the pads (3,), from the post's axis [m].
    """
    z = np.array([0.0, -SIDES[arm] * np.cos(down), -np.sin(down)])
    x = np.cross([1.0, 0.0, 0.0], z)
    return pose(np.stack([x, [1.0, 0.0, 0.0], z], axis=1), PLACE + middle - PAD * z)


def tie_scene(
    *,
    long: float = 0.085,
    short: float = 0.026,
    spare: float = 6e-3,
    hand: int = 1,
    arms: Mapping[str, Mapping[str, Any]] | None = None,
    timestep: float = 1e-3,
    **thread: Any,
) -> Scene:
    """PSM1 has the long end of "thread" between its jaws, and PSM2 is free. The thread goes under the fixed "post".

    The short end lies on the side of PSM1. Guides beside the post keep the thread under it, as two edges of a wound do.

    Args:
        long, short: lengths of both ends, from the guides on [m]. spare: length beyond the jaws [m].
        hand: as in `tie_throw`.
        arms: further fields of `SceneArm`, by arm. thread: further fields of `Filament`.
    """
    bases, fields = opposite_bases(), {} if arms is None else arms
    start = 0.8 * long * np.array([0.55 * hand, 0.1, 0.83])  # of the pads of PSM1: the long end is nearly straight
    poses = {"PSM1": across("PSM1", start, 0.2), "PSM2": across("PSM2", np.array([0.0, 0.034, 0.035]), -0.35)}
    placed = {
        name: SceneArm(arm="PSM", base=bases[name], q=_joints(name, bases[name], T), **fields.get(name, {}))
        for name, T in poses.items()
    }
    points = PLACE + _line(long, short, spare, hand, start)
    return Scene(
        placed,
        objects=[_post(), Filament("thread", points, **thread)],
        timestep=timestep,
        overlaps=True,
    )


def _joints(name: str, base: Array, T: Array) -> Array:
    psm = load_mechanism("PSM")
    reach = [np.array(q) for q in psm.inverse_kinematics_all(inverse(base) @ T)]
    if not reach:
        raise TrocarError(f"{name} does not reach {T[:3, 3].tolist()} m; use a shorter long end")
    q = max(reach, key=lambda q: wrist_margin(psm.arm.lower, psm.arm.upper, q))
    q[-1] = 0.0
    return q


def _line(long: float, short: float, spare: float, hand: int, start: Array) -> Array:
    """Points (n, 3) of the thread, from its short end to the spare one beyond the pads."""
    low = POST + 0.15e-3
    guides = np.array([[0.0, y, EXIT_HEIGHT] for y in (-GUIDE, GUIDE)])
    free = guides[0] + short * np.array([0.0, -np.cos(SLOPE), np.sin(SLOPE)])
    u = np.linspace(0.0, 1.0, 60)[:, None]

    def bow(size: float) -> Array:
        """A Bezier curve that leaves the guide along the thread and comes to the pads from below."""
        out = guides[1] + size * np.array([0.0, 1.0, SLOPE])
        below = start + size * np.array([0.3 * hand, 0.0, -1.0])
        return np.asarray(
            (1 - u) ** 3 * guides[1] + 3 * (1 - u) ** 2 * u * out + 3 * (1 - u) * u**2 * below + u**3 * start
        )

    bows = [bow(size) for size in np.linspace(1e-3, long, 400)]
    lengths = [float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum()) for line in bows]
    nearest = bows[int(np.abs(np.array(lengths) - long).argmin())]
    return np.concatenate([[free, guides[0], [0.0, 0.0, -low]], nearest, [start + [0.0, 0.0, spare]]])


def _post() -> Solid:
    """A post along x, and a guide on each side of it: a floor between two walls."""
    half = np.array([0.02, 0.0, 0.0])
    boxes = [
        Box(PLACE + 1e-3 * np.array([x, 4.0 * side, z]), 1e-3 * np.array(size))
        for side in (-1.0, 1.0)
        for x, z, size in ((0.0, -2.9, (6.0, 1.0, 4.0)), (0.75, 0.1, (1.0, 1.0, 3.0)), (-0.75, 0.1, (1.0, 1.0, 3.0)))
    ]
    return Solid("post", [Cylinder(PLACE - half, PLACE + half, POST), *boxes])
