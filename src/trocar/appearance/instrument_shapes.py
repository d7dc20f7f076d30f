"""Shapes of a wristed instrument: shaft, wrist, two jaws or one blade. The same on every PSM.

Drawn in the frame of the wrist at q = 0 with base-like axes: the shaft comes from +z, the jaws point to -z; the
wrist pitch axis is x, the wrist yaw axis y. Wrist and jaw lengths are the instrument's, and its jaws look like those of
its kind; everything else is from a large needle driver, shaft diameter 8 mm, or 5 mm with a snake wrist.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from manifold3d import Manifold, OpType

from trocar.appearance.carving import bar, block, hull, lathe, plate, prism, turned
from trocar.appearance.sketch import COLLISION, VISUAL, Drawing, Skeleton, Sketch
from trocar.arms import Arm
from trocar.spatial import Array, pose

SHAFT_RADIUS = 0.004  # [m]
SNAKE_SCALE = 5.0 / 8.0  # relative size of a 5 mm shaft
# Base axes at q = 0 in the frame of an ordinary wrist yaw body, and of every finger.
T_FINGER_DRAWING = pose(R=[[-1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, -1.0, 0.0]])
SHORTEST_WRIST = 2e-3  # [m]
# Where the jaw faces begin, from the yaw axis: behind it the fingers are hubs that pass each other [m].
JAW_ROOT = 0.003
TOOTH = 0.0006  # tooth pitch of a gripping face [m]
JAW_END = 0.0008  # radius of a finger's end, equal to its visible thickness [m]
# The fingers count as touching when closer than TOUCH but push each other only when they overlap; at jaw 0 there
# is a clearance above rounding [m], so the home position, closed without squeezing, is a touch without force. Jaws that
# are open by 0.02 rad are 0.2 mm apart.
TOUCH, CLEARANCE = 1e-5, 1e-7
# Squeezing: the first 0.5 mm of overlap is soft, which represents the elasticity of the cables.
SQUEEZE_SOLREF, SQUEEZE_SOLIMP = (0.005, 1.0), (0.0, 0.95, 5e-4, 0.5, 2.0)
JAW = {**VISUAL, "group": 5}  # the hidden shapes of the jaws' contact with each other
GRIP = {"condim": 4, "friction": [1.0, 0.005, 0.0001]}


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


# by part of the instrument's name; the first match applies
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


def jaw_of(instrument: str) -> Jaw:
    """The jaw of an instrument by its name. Default: that of a needle driver."""
    return next((jaw for part, jaw in JAWS.items() if part in instrument), Jaw())


def instrument_bodies(arm: Arm) -> tuple[str, ...]:
    """Names of the bodies of a wristed instrument, from the shaft on; none on other arms."""
    names = [body.name for body in arm.bodies]
    return tuple(names[names.index("roll") :]) if arm.carries == "instrument" else ()


def add_instrument(drawing: Drawing, arm: Arm, shaft_top: float) -> None:
    """Add the shapes of roll, wrist and jaws; the shaft ends `shaft_top` above the (first) wrist pitch axis [m]."""
    skeleton, names = Skeleton(drawing, arm), instrument_bodies(arm)
    at, snake = skeleton.at, "wrist_pitch_1" in names

    def on(name: str) -> Sketch:
        """Drawing frame at the origin of a body, with base axes at q = 0."""
        return skeleton.on(name, pose(p=at[name]))

    _shaft(on("roll"), shaft_top, SNAKE_SCALE if snake else 1.0)
    if snake:
        chain = [name for name in names if name.startswith("wrist")]
        for name, follower in pairwise([*chain, names[-1]]):
            _bead(on(name), at[name][2] - at[follower][2])
    else:
        _wrist(on("wrist_pitch"), float(at["wrist_pitch"][2] - at["wrist_yaw"][2]))
        on("wrist_yaw").rod([0, -0.0036, 0], [0, 0.0036, 0], 0.0008, "tungsten")
    if "idle_disc" in names:
        blade = Sketch(drawing, arm.tip_body, arm.body("idle_disc").placement @ T_FINGER_DRAWING)
        _blade(blade, arm.jaw_length)
        return
    left, right = (Sketch(drawing, name, T_FINGER_DRAWING) for name in ("finger_left", "finger_right"))
    # the left finger opens towards -x, where its own x axis points at q = 0
    _finger(left, -1.0, arm.jaw_length, jaw_of(arm.instrument))
    _finger(right, 1.0, arm.jaw_length, jaw_of(arm.instrument))
    _add_jaw_contact(drawing, left, right, arm.jaw_length)


def _add_jaw_contact(drawing: Drawing, left: Sketch, right: Sketch, length: float) -> None:
    """Make the fingers push each other apart at any depth of overlap.

    Two thin blades that overlap deeply would be pushed out on the wrong side. So their contact is between a ball
    in the left jaw and a block behind the face of the right one, so large that its face is always nearest.
    """
    radius, deep = 0.001, 0.02  # [m]
    ball = [-radius - CLEARANCE, 0.0, -0.95 * length]
    left.ball(ball, radius, JAW, name="jaw_ball")
    right.box((0.0, deep), (-deep, deep), (deep, -length - deep), JAW, name="jaw_block")
    # condim 1: the fingers share one axis, so there is no sliding for friction to resist
    pair = {"name": "jaw", "geomname1": "jaw_ball", "geomname2": "jaw_block", "condim": 1, "gap": TOUCH}
    drawing.pairs.append({**pair, "solref": SQUEEZE_SOLREF, "solimp": SQUEEZE_SOLIMP})


def _shaft(sketch: Sketch, top: float, scale: float) -> None:
    """Tube, then a clevis whose two ears hold the wrist pitch pin; thinner by `scale`."""
    z, radius = np.array([0.0, 0.0, scale]), scale * SHAFT_RADIUS
    sketch.rod(0.0094 * z, [0, 0, top], radius, "steel")
    sketch.rod(0.0086 * z, 0.0095 * z, scale * 0.0036, "dark")
    clevis = lathe([(0.0036, 0.0040), (0.0088, 0.0040)], sides=40)
    for side in (-1.0, 1.0):
        ear = plate([([0, 0, 0], 0.0027), ([0, 0, 0.0060], 0.0027)], (side * 0.0022, side * 0.0050), sides=32)
        clevis += hull(ear) ^ lathe([(-0.01, 0.0040), (0.01, 0.0040)], sides=40)
    sketch.solid(clevis.scale([scale] * 3), "bright")
    sketch.rod([scale * -0.00405, 0, 0], [scale * 0.00405, 0, 0], scale * 0.0009, "cover")
    sketch.rod(0.006 * z, [0, 0, top], radius, COLLISION, round_ends=True)


def _bead(sketch: Sketch, reach: float) -> None:
    """A vertebra of a snake wrist, `reach` to the next axis [m]."""
    radius = SNAKE_SCALE * SHAFT_RADIUS
    sketch.rod([0, 0, -0.15 * reach], [0, 0, -0.85 * reach], 0.9 * radius, "cover")
    sketch.rod([0, 0, 0], [0, 0, -reach], 0.6 * radius, COLLISION, round_ends=True)


def _wrist(sketch: Sketch, reach: float) -> None:
    """A tongue on the pitch pin that widens and forks around the yaw pin, `reach` further down [m]."""
    if reach < SHORTEST_WRIST:  # the axes meet: a cross piece
        sketch.ball([0, 0, 0], 0.0036, "cover")
        sketch.rod([0, 0, 0.001], [0, 0, -0.001], 0.0030, COLLISION, round_ends=True)
        return
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
    sketch.solid(barrel, "cover")
    sketch.rod([0, 0, 0], [0, 0, -reach], 0.0030, COLLISION, round_ends=True)


def _finger(sketch: Sketch, side: float, length: float, jaw: Jaw) -> None:
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
    sketch.solid(root, "aluminium")
    if jaw.window:  # a fenestrated jaw
        slot = plate([([0, 0, -0.40 * length], 0.0006), ([0, 0, -0.72 * length], 0.0005)], 0.01)
        blade -= hull(slot)
    sketch.solid(blade, jaw.look)
    if jaw.insert is not None:  # the gripping face, which the two fingers share when closed, with teeth across it
        reach = (0.97 if jaw.bend == 0.0 else 0.45) * length
        half = 0.0009 * min(jaw.width, 1.0)
        steps = np.linspace(JAW_ROOT, reach, 2 * round((reach - JAW_ROOT) / TOOTH) + 1)
        ridge = [(side * (1e-5 if k % 2 else 1.6e-4), -z) for k, z in enumerate(steps)]
        insert = prism([*ridge, (side * 4e-4, -reach), (side * 4e-4, -JAW_ROOT)], half, "y")
        if jaw.window:
            insert -= hull(slot)
        sketch.solid(insert, jaw.insert)
    # Flat gripping face with a round end: with corners, the contact point would jump as the shaft tilts.
    flat = length - 2.0 * JAW_END
    sketch.box((0.0, side * 0.0016), 0.0013, (-JAW_ROOT, -flat), {**COLLISION, **GRIP})
    sketch.ball([side * JAW_END, 0.0, JAW_END - length], JAW_END, {**COLLISION, **GRIP})


def _section(side: float, z: float, outer: float, half: float, bend: float) -> Array:
    """Six points (6, 3) of a blade's section at a distance z from the yaw axis, shifted across by `bend` [m]."""
    corners = ((2e-4, 1.0), (2e-4, -1.0), (0.6 * outer, 1.0), (0.6 * outer, -1.0), (outer, 0.5), (outer, -0.5))
    return np.array([[side * x, y * half + bend, -z] for x, y in corners])


def _blade(sketch: Sketch, length: float) -> None:
    """Hub on the yaw pin and a slim tip, to `length` [m]: a cautery hook or spatula."""
    sketch.hull(plate([([0, 0, 0], 0.0024)], 0.0016, "y", 0.0002), "plastic")
    sketch.hull(turned([(-length / 2, 0.0010), (-0.001, 0.0020)], axis="z"), "plastic")
    sketch.rod([0, 0, -length / 2], [0, 0, -length], 0.0005, "steel")
    sketch.rod([0, 0, -0.001], [0, 0, 0.001 - length], 0.0010, {**COLLISION, **GRIP}, round_ends=True)
