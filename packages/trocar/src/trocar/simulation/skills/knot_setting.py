"""A thread with loose throws around a post, its ends in the jaws of two PSMs: the start of pulling a knot tight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.simulation.objects.filament import Filament
from trocar.simulation.objects.solid import Cylinder, Solid
from trocar.simulation.scene import Scene
from trocar.simulation.scene_arm import SceneArm
from trocar.simulation.skills.handover_setting import facing_bases, pointing_down
from trocar.spatial import Array

POST = 1.5e-3  # radius of the post [m]
PLACE = np.array([0.0, 0.0, -0.12])  # of the post in the world [m]
TAIL = 0.02  # length of thread between the last throw and an end [m]
RISE = 0.3  # of the tails, over their length


def loose_knot(throws: Sequence[int], *, wide: float = 2e-3, high: float = 1.2e-3, gap: float = 3e-3) -> Array:
    """Line (n, 3) of a thread that goes around the y axis from below, with loose throws above it, and out along x [m].

    Args:
        throws: turns of every throw, from the lowest one, positive if right-handed: (1, -1) is a square knot.
        wide, high: half width and half height of a throw [m]. gap: distance to the next one, and of the first [m].
    """
    if not throws or not all(isinstance(turns, int) and 1 <= abs(turns) <= 3 for turns in throws):
        raise TrocarError(f"throws are whole numbers of turns, 1 to 3, negative if left-handed, got {throws!r}")
    below = np.linspace(np.pi, 1.5 * np.pi, 15)
    arc = wide * np.stack([np.cos(below), 0.0 * below, np.sin(below)], axis=1)
    # two strands, from the middle of the bight upwards, named after the side on which they start
    strands = [[arc[::-1]], [arc[::-1] * [-1.0, 1.0, 1.0]]]
    height, x = gap + high, np.linspace(-wide, wide, 80)
    for turns in throws:
        phase = np.linspace(0.0, (2 * abs(turns) + 1) * np.pi, len(x))
        y, z = np.sign(turns) * high * np.sin(phase), high * np.cos(phase)
        rising, falling = np.stack([x, y, height - z], axis=1), np.stack([x, -y, height + z], axis=1)
        left, right = strands if strands[0][-1][-1, 0] < 0.0 else strands[::-1]
        left.append(rising)
        right.append(falling[::-1])
        height += 2.0 * high + gap
    for strand in strands:
        end = strand[-1][-1]
        out = np.array([np.sign(end[0]), 0.0, RISE])
        strand.append((end + TAIL * out / np.linalg.norm(out))[None])
    one, other = (np.concatenate(strand) for strand in strands)
    return np.concatenate([one[::-1], other[1:]])


def knot_scene(
    throws: Sequence[int] = (1, -1),
    *,
    arms: Mapping[str, Mapping[str, Any]] | None = None,
    timestep: float = 1e-3,
    **thread: Any,
) -> Scene:
    """PSM1 and PSM2 hold the ends of "thread", which has loose throws around the fixed "post".

    Args:
        throws: as in `loose_knot`. arms: further fields of `SceneArm`, by arm. thread: further fields of `Filament`.
    """
    turned = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # out along y, where the arms are
    points = loose_knot(throws) @ turned + PLACE
    ends = ("PSM1", "PSM2") if points[0, 1] < 0.0 else ("PSM2", "PSM1")
    bases, fields, placed = facing_bases(), {} if arms is None else arms, {}
    for name, place in zip(ends, (points[0], points[-1]), strict=True):
        q, _ = pointing_down(name, bases[name], place)
        q[-1] = 0.0
        placed[name] = SceneArm(arm="PSM", base=bases[name], q=q, **fields.get(name, {}))
    half = np.array([0.02, 0.0, 0.0])
    post = Solid("post", Cylinder(PLACE - half, PLACE + half, POST))
    return Scene(
        {name: placed[name] for name in bases},
        objects=[post, Filament("thread", points, ends, **thread)],
        timestep=timestep,
        overlaps=True,
    )
