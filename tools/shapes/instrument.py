"""Surfaces of the built-in instruments: clevis of the shaft, wrist, jaws, blade.

In the drawing frames of `trocar.appearance.arm_shapes`: the jaws point to -z, the wrist pitch axis is x, the
wrist yaw axis y.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from manifold3d import Manifold, OpType

from tools.shapes.carving import bar, block, hull, lathe, plate, prism, turned
from trocar.appearance.arm_shapes import BLADE, JAW_ROOT, LEFT, MIN_WRIST, RIGHT, SNAKE_SCALE, jaw_of
from trocar.arms.instruments import load_instrument, names
from trocar.spatial import Array

TOOTH = 0.0006  # tooth pitch of a gripping face [m]
Looks = dict[str, tuple[Manifold, str]]  # solid and material, by name


@dataclass(frozen=True)
class Jaw:
    """Visible differences of a jaw from that of a large needle driver: factors of its sizes, and looks.

    Attributes:
        bend: lateral offset of the tip [m]. insert: material of the gripping face. window: True for a slot.
    """

    width: float = 1.0
    thickness: float = 1.0
    root: float = 1.0
    bend: float = 0.0
    look: str = "aluminium"
    insert: str | None = "tungsten"
    window: bool = False


JAWS: dict[str, Jaw] = {
    "NEEDLE": Jaw(),
    "CURVED_SCISSORS": Jaw(width=0.6, thickness=0.55, bend=0.0016, look="bright", insert=None),
    "SCISSORS": Jaw(width=0.6, thickness=0.5, look="bright", insert=None),
    "MARYLAND": Jaw(width=0.75, thickness=0.75, bend=0.0014, insert="dark"),
    "FENESTRATED": Jaw(width=1.15, thickness=0.8, insert="dark", window=True),
    "CADIERE": Jaw(width=1.1, thickness=0.7, insert="dark", window=True),
    "PROGRASP": Jaw(width=1.1, thickness=0.95, insert="dark", window=True),
    "GRASPER": Jaw(width=1.2, thickness=0.8, insert="dark", window=True),
    "CLIP": Jaw(width=0.9, thickness=1.2, root=1.1, look="bright", insert="dark"),
    "STAPLER": Jaw(width=2.0, thickness=1.8, root=1.2, look="cast", insert="dark"),
    "FORCEPS": Jaw(width=0.7, thickness=0.65, insert="dark"),
}


def instrument_solids() -> Looks:
    """All solids of the built-in instruments: `KIND LENGTH PART`, the length in metres."""
    solids: Looks = {f"clevis {scale:g}": (_clevis(scale), "bright") for scale in (1.0, SNAKE_SCALE)}
    for arm in ("PSM", "PSM_Si"):
        for name in names(arm):
            tool = load_instrument(name, arm)
            reach, length = tool.a_wrist, tool.jaw_length
            if tool.wrist == "pitch-yaw" and reach >= MIN_WRIST:
                solids[f"wrist {reach:.7g} barrel"] = _wrist(reach), "cover"
            if not tool.jaws:
                solids |= {f"{BLADE} {length:.7g} {part}": solid for part, solid in _blade(length).items()}
                continue
            kind = jaw_of(name)
            for side, sign in ((LEFT, -1.0), (RIGHT, 1.0)):
                parts = _finger(sign, length, JAWS[kind])
                solids |= {f"{kind} {side} {length:.7g} {part}": solid for part, solid in parts.items()}
    return solids


def _clevis(scale: float) -> Manifold:
    """The end of the shaft, whose two ears hold the wrist pitch pin; thinner by `scale`."""
    clevis = lathe([(0.0036, 0.0040), (0.0088, 0.0040)], sides=40)
    for side in (-1.0, 1.0):
        ear = plate([([0, 0, 0], 0.0027), ([0, 0, 0.0060], 0.0027)], (side * 0.0022, side * 0.0050), sides=32)
        clevis += hull(ear) ^ lathe([(-0.01, 0.0040), (0.01, 0.0040)], sides=40)
    return clevis.scale([scale] * 3)


def _wrist(reach: float) -> Manifold:
    """A tongue on the pitch pin that widens and forks around the yaw pin, `reach` further down [m]."""
    # a barrel, flat on the sides of the fork, cut away where the ears of the shaft turn
    top, end = 0.0027, -reach - 0.0029
    turns = np.linspace(0.0, np.pi, 12)
    oval = [((top + end) / 2 - (top - end) / 2 * np.cos(a), 0.0043 * np.sin(a) ** 0.6) for a in turns]
    barrel = lathe(oval, sides=28) ^ block(0.0039, 0.0034, 0.1)
    for side in (-1.0, 1.0):
        barrel -= bar([side * 0.0021, 0, 0], [side * 0.01, 0, 0], 0.0030, 24)
        barrel -= block((side * 0.0021, side * 0.01), 0.01, (0.0, 0.01))
    barrel -= block(0.1, 0.0017, (-0.1, -reach + 0.0029))  # the fork
    barrel -= bar([-0.1, 0, 0], [0.1, 0, 0], 0.0010, 12)
    for side in (-1.0, 1.0):
        barrel -= bar([0, side * 0.0031, -reach], [0, side * 0.01, -reach], 0.0010, 12)
    return barrel


def _finger(side: float, length: float, jaw: Jaw) -> Looks:
    """Hub on the yaw pin and a tapered blade on one side (-1, +1) of the plane x = 0, to `length` [m]."""
    hub = plate([([0, 0, 0], 0.0023)], (side * 5e-5, side * 0.0016), "y", 0.0002, sides=24)
    # the blade is thickest just beyond its root and may bend sideways towards its tip
    sections = [
        _section(side, JAW_ROOT, 0.0017 * jaw.root, 0.0014 * jaw.root, 0.0),
        _section(side, 0.45 * length, 0.0021 * jaw.thickness, 0.0016 * jaw.width, 0.1 * jaw.bend),
        _section(side, 0.75 * length, 0.0015 * jaw.thickness, 0.0013 * jaw.width, 0.45 * jaw.bend),
        _section(side, length, 0.0008 * jaw.thickness, 0.0010 * jaw.width, jaw.bend),
    ]
    blade = Manifold.batch_boolean([hull(pair) for pair in pairwise(sections)], OpType.Add)
    root = hull(hub) + hull([hub[side * hub[:, 0] > 0], sections[0]])
    parts = {"root": (root, "aluminium")}
    if jaw.window:  # a fenestrated jaw
        slot = plate([([0, 0, -0.40 * length], 0.0006), ([0, 0, -0.72 * length], 0.0005)], 0.01)
        blade -= hull(slot)
    parts["blade"] = blade, jaw.look
    if jaw.insert is not None:  # the gripping face, which the two fingers share when closed, with teeth across it
        reach = (0.97 if jaw.bend == 0.0 else 0.45) * length
        half = 0.0009 * min(jaw.width, 1.0)
        steps = np.linspace(JAW_ROOT, reach, 2 * round((reach - JAW_ROOT) / TOOTH) + 1)
        ridge = [(side * (1e-5 if k % 2 else 1.6e-4), -z) for k, z in enumerate(steps)]
        insert = prism([*ridge, (side * 4e-4, -reach), (side * 4e-4, -JAW_ROOT)], half, "y")
        if jaw.window:
            insert -= hull(slot)
        parts["insert"] = insert, jaw.insert
    return parts


def _section(side: float, z: float, outer: float, half: float, bend: float) -> Array:
    """Six points (6, 3) of a blade's section at a distance z from the yaw axis, shifted across by `bend` [m]."""
    corners = ((2e-4, 1.0), (2e-4, -1.0), (0.6 * outer, 1.0), (0.6 * outer, -1.0), (outer, 0.5), (outer, -0.5))
    return np.array([[side * x, y * half + bend, -z] for x, y in corners])


def _blade(length: float) -> Looks:
    """Hub on the yaw pin and the cone of a slim tip, to `length` [m]: a cautery hook or spatula."""
    hub = hull(plate([([0, 0, 0], 0.0024)], 0.0016, "y", 0.0002))
    cone = hull(turned([(-length / 2, 0.0010), (-0.001, 0.0020)], axis="z"))
    return {"hub": (hub, "plastic"), "cone": (cone, "plastic")}
