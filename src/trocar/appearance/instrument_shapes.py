"""Shapes of a wristed instrument: shaft, wrist, two jaws or one blade. The same on every PSM.

Drawn in the frame of the wrist at q = 0 with base-like axes: the shaft comes from +z, the jaws point to -z; the
wrist pitch axis is x, the wrist yaw axis y. Wrist and jaw lengths are the instrument's, and its jaws look like those of
its kind; everything else is from a large needle driver, shaft diameter 8 mm, or 5 mm with a snake wrist. The surfaces
of the built-in instruments are in `arms/data/meshes/instruments.npz`; those of other lengths are stretched.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from trocar.appearance.shape_files import shape_file
from trocar.appearance.sketch import COLLISION, VISUAL, Drawing, Skeleton, Sketch
from trocar.arms import Arm
from trocar.spatial import Array, pose

FILE = "instruments"  # of the surfaces
SHAFT_RADIUS = 0.004  # [m]
SNAKE_SCALE = 5.0 / 8.0  # relative size of a 5 mm shaft
# Base axes at q = 0 in the frame of an ordinary wrist yaw body, and of every finger.
T_FINGER_DRAWING = pose(R=[[-1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, -1.0, 0.0]])
MIN_WRIST = 2e-3  # [m]
# Where the jaw faces begin, from the yaw axis: behind it the fingers are hubs that pass each other [m].
JAW_ROOT = 0.003
JAW_END = 0.0008  # radius of a finger's end, equal to its visible thickness [m]
# The fingers count as touching when closer than TOUCH but push each other only when they overlap; at jaw 0 there
# is a clearance above rounding [m], so the home position, closed without squeezing, is a touch without force. Jaws that
# are open by 0.02 rad are 0.2 mm apart.
TOUCH, CLEARANCE = 1e-5, 1e-7
# Squeezing: the first 0.5 mm of overlap is soft, which represents the elasticity of the cables.
SQUEEZE_SOLREF, SQUEEZE_SOLIMP = (0.005, 1.0), (0.0, 0.95, 5e-4, 0.5, 2.0)
JAW = {**VISUAL, "group": 5}  # the hidden shapes of the jaws' contact with each other
ALIKE = 1e-6  # relative difference of equal lengths
GRIP = {"condim": 4, "friction": [1.0, 0.005, 0.0001]}


# Kinds of jaws, each a part of an instrument's name; the first match applies, otherwise the first kind.
JAWS = (
    *("NEEDLE", "CURVED_SCISSORS", "SCISSORS", "MARYLAND", "FENESTRATED", "CADIERE"),
    *("PROGRASP", "GRASPER", "CLIP", "STAPLER", "FORCEPS"),
)
LEFT, RIGHT = "left", "right"
BLADE = "BLADE"  # a single blade in place of jaws


def jaw_of(instrument: str) -> str:
    """The kind of an instrument's jaws."""
    return next((kind for kind in JAWS if kind in instrument), JAWS[0])


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
    sketch.surface(shape_file(FILE).surfaces[f"clevis {scale:g}"], "bright")
    sketch.rod([scale * -0.00405, 0, 0], [scale * 0.00405, 0, 0], scale * 0.0009, "cover")
    sketch.rod(0.006 * z, [0, 0, top], radius, COLLISION, round_ends=True)


def _bead(sketch: Sketch, reach: float) -> None:
    """A vertebra of a snake wrist, `reach` to the next axis [m]."""
    radius = SNAKE_SCALE * SHAFT_RADIUS
    sketch.rod([0, 0, -0.15 * reach], [0, 0, -0.85 * reach], 0.9 * radius, "cover")
    sketch.rod([0, 0, 0], [0, 0, -reach], 0.6 * radius, COLLISION, round_ends=True)


def _wrist(sketch: Sketch, reach: float) -> None:
    """A tongue on the pitch pin that widens and forks around the yaw pin, `reach` further down [m]."""
    if reach < MIN_WRIST:  # the axes meet: a cross piece
        sketch.ball([0, 0, 0], 0.0036, "cover")
        sketch.rod([0, 0, 0.001], [0, 0, -0.001], 0.0030, COLLISION, round_ends=True)
        return
    _add_surfaces(sketch, "wrist", reach, 0.0)
    sketch.rod([0, 0, 0], [0, 0, -reach], 0.0030, COLLISION, round_ends=True)


def _finger(sketch: Sketch, side: float, length: float, jaw: str) -> None:
    """Hub on the yaw pin and a tapered blade on one side (-1, +1) of the plane x = 0, to `length` [m]."""
    _add_surfaces(sketch, f"{jaw} {LEFT if side < 0 else RIGHT}", length, JAW_ROOT)
    # Flat gripping face with a round end: with corners, the contact point would jump as the shaft tilts.
    flat = length - 2.0 * JAW_END
    sketch.box((0.0, side * 0.0016), 0.0013, (-JAW_ROOT, -flat), {**COLLISION, **GRIP})
    sketch.ball([side * JAW_END, 0.0, JAW_END - length], JAW_END, {**COLLISION, **GRIP})


def _blade(sketch: Sketch, length: float) -> None:
    """Hub on the yaw pin and a slim tip, to `length` [m]: a cautery hook or spatula."""
    _add_surfaces(sketch, BLADE, length, 0.0)
    sketch.rod([0, 0, -length / 2], [0, 0, -length], 0.0005, "steel")
    sketch.rod([0, 0, -0.001], [0, 0, 0.001 - length], 0.0010, {**COLLISION, **GRIP}, round_ends=True)


def _add_surfaces(sketch: Sketch, kind: str, length: float, root: float) -> None:
    """Surfaces of one kind that end at `length` [m]: the nearest in the file, stretched beyond `root` [m]."""
    file = shape_file(FILE)
    lengths = {float(name.rsplit(" ", 2)[1]) for name in file.surfaces if name.startswith(f"{kind} ")}
    drawn = min(lengths, key=lambda other: abs(other - length))
    factor = (length - root) / (drawn - root)

    def stretched(p: Array) -> Array:
        beyond = np.minimum(p[:, 2] + root, 0.0)
        return p + np.outer((factor - 1.0) * beyond, [0.0, 0.0, 1.0])

    for name, surface in file.surfaces.items():
        if name.startswith(f"{kind} {drawn:.7g} "):
            sketch.surface(surface.deformed(stretched) if abs(factor - 1.0) > ALIKE else surface, file.looks[name])
