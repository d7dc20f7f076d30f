"""Shapes of the links: simple, recognisable and original.

They change no mass and no inertia. Visual shapes are in geom group 2, collision shapes in group 3. They are read from a
file that was drawn for published lengths. On an arm with other lengths the shapes of a link are stretched, so that
they meet at its joints.

A wristed instrument is the same on every PSM: shaft, wrist, two jaws or one blade. It is drawn in the frame of the
wrist at q = 0 with base-like axes: the shaft comes from +z, the jaws point to -z; the wrist pitch axis is x, the wrist
yaw axis y. Wrist and jaw lengths are the instrument's, and its jaws look like those of its kind; everything else is
from a large needle driver, shaft diameter 8 mm, or 5 mm with a snake wrist. The surfaces of the built-in instruments
are in `arms/data/meshes/instruments.npz`; those of other lengths are stretched.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import Any

import mujoco
import numpy as np

from trocar.appearance import maker_meshes
from trocar.appearance.sketch import COLLISION, VISUAL, Deformation, Drawing, Sketch, shape_file, shape_files
from trocar.arms import Arm
from trocar.arms.arm import Body, poses_at_zero
from trocar.errors import TrocarError, check_known
from trocar.spatial import Array, inverse, pose

BARS = "bars"  # look of an arm without a file of shapes
MIN_LINK = 1e-3  # links shorter than this do not collide [m]
DRUM, TIP_RADIUS = 0.012, 0.003  # sizes of plain shapes [m]
SCOPE_RADIUS = 0.006  # of an endoscope [m]
ALIKE = 1e-9  # joints closer than this are in the same place [m]
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
GRIP = {"condim": 4, "friction": [1.0, 0.005, 0.0001]}
# Kinds of jaws, each a part of an instrument's name; the first match applies, otherwise the first kind.
JAWS = (
    *("NEEDLE", "CURVED_SCISSORS", "SCISSORS", "MARYLAND", "FENESTRATED", "CADIERE"),
    *("PROGRASP", "GRASPER", "CLIP", "STAPLER", "FORCEPS"),
)
LEFT, RIGHT = "left", "right"
BLADE = "BLADE"  # a single blade in place of jaws
_DRAWN: dict[Hashable, Drawing] = {}


def add_shapes(spec: mujoco.MjSpec, arm: Arm, visual: bool = True) -> None:
    """Add visual and collision shapes to the bodies of an arm; meshes from TROCAR_DVRK_MODEL replace visual ones."""
    drawing(arm).put_on(spec, visual=visual)
    folder = maker_meshes.checkout() if visual else None
    if folder is not None:
        maker_meshes.replace_shapes(spec, arm, folder)


def drawing(arm: Arm) -> Drawing:
    """Built-in shapes of an arm, visual and collision; drawn once for all models of equal arms."""
    key = (
        (arm.name, arm.look, arm.instrument, arm.tip_body, arm.jaw_length, arm.T_body_tip.tobytes(), arm.loops),
        tuple((body.name, body.parent, body.placement.tobytes()) for body in arm.bodies),
    )
    if key not in _DRAWN:
        _DRAWN.setdefault(key, _drawn(arm))  # stored only when complete; two threads get the same drawing
    return _DRAWN[key]


def _drawn(arm: Arm) -> Drawing:
    check_known(f"look of {arm.name}", (*shape_files(), BARS), arm.look)
    drawing, instrument, shaft_end = Drawing(), instrument_bodies(arm), 0.0
    if arm.look == BARS:
        links = _visible_bars(arm)
    else:
        file = shape_file(arm.look)
        links, shaft_end = file.drawing.deformed(_deformations(arm, file.joints)), file.shaft_end
    if not any(geom["group"] == COLLISION["group"] for _, geom in links.geoms):
        for body in arm.bodies:
            if body.name not in instrument:
                _add_bars(drawing, arm, body, COLLISION)
    drawing.meshes.update(links.meshes)
    drawing.geoms.extend(links.geoms)
    if instrument:
        T = poses_at_zero(arm.bodies)
        add_instrument(drawing, arm, float(np.linalg.norm(T["insertion"][:3, 3] - T["roll"][:3, 3])) - shaft_end)
    return drawing


def _deformations(arm: Arm, drawn: Mapping[str, Array]) -> dict[str, Deformation]:
    """Deformations of the links whose joints are not where they were `drawn`, by body."""
    here: dict[str, Array] = joints_by_body(arm)
    deformations: dict[str, Deformation] = {}
    if missing := [body for body in drawn if body not in here]:
        raise TrocarError(f"the shapes '{arm.look}' have a link '{missing[0]}', which {arm.name} does not have")
    for body, points in drawn.items():
        moved, view = not np.allclose(here[body], points, rtol=0.0, atol=ALIKE), arm.T_body_tip[:3, 2]
        if arm.carries == "endoscope" and body == arm.tip_body:
            if moved or not np.allclose(view, [0.0, 0.0, 1.0], rtol=0.0, atol=ALIKE):
                deformations[body] = _endoscope(points[0], here[body][0], view)
        elif moved:
            deformations[body] = _linear(np.eye(3) + (here[body] - points).T @ np.linalg.pinv(points.T, rcond=0.05))
    return deformations


def _linear(L: Array) -> Deformation:
    return lambda p: p @ L.T


def _endoscope(drawn: Array, carriage: Array, view: Array) -> Deformation:
    """Camera and shaft moved with the carriage (3,), relative to the tip; the end of the shaft is cut across the view.

    The drawn endoscope is straight along z, and its carriage is at `drawn` (3,) [m].
    """
    up = drawn / np.linalg.norm(drawn)
    slope = (view - (view @ up) * up) / (view @ up)
    lift = SCOPE_RADIUS * float(np.linalg.norm(slope))

    def deformed(p: Array) -> Array:
        height = p @ up
        cut = np.where(height < MIN_LINK, lift - p @ slope, 0.0)
        return p + np.where(height[:, None] > np.linalg.norm(drawn) / 2, carriage - drawn, np.outer(cut, up))

    return deformed


def _visible_bars(arm: Arm) -> Drawing:
    """Plain bars with a drum at every revolute joint, for arms without specific shapes."""
    drawing = Drawing()
    for body in arm.bodies:
        _add_bars(drawing, arm, body, "aluminium")
        if body.kind == "revolute":
            Sketch(drawing, body.name).rod([0, 0, -DRUM], [0, 0, DRUM], DRUM, "cover")
    tip = Sketch(drawing, arm.tip_body)
    if np.linalg.norm(arm.T_body_tip[:3, 3]) > MIN_LINK:
        tip.rod([0, 0, 0], arm.T_body_tip[:3, 3], TIP_RADIUS, "steel", round_ends=True)
    tip.ball(arm.T_body_tip[:3, 3], 2 * TIP_RADIUS, "bright")
    return drawing


def _add_bars(drawing: Drawing, arm: Arm, body: Body, look: str | dict[str, Any]) -> None:
    """Bars from the joint of a link to its children's joints and loop points."""
    thin = arm.has_rcm and body.name == "insertion"  # as an endoscope: it passes through the remote centre
    for point in _joints_of(arm, body):
        length = float(np.linalg.norm(point))
        radius = 1.5 * SHAFT_RADIUS if thin else float(np.clip(0.08 * length, 0.004, 0.016))
        if length > MIN_LINK:
            Sketch(drawing, body.name).rod([0, 0, 0], point, radius, look, round_ends=True)


def joints_by_body(arm: Arm) -> dict[str, Array]:
    """Joints (k, 3) [m] at which the shapes of a body meet others, in its frame, by body; "" is the base.

    The remote centre counts as a joint of the link that holds the cannula, the carriage as that of an endoscope. An
    instrument is drawn separately.
    """
    instrument = instrument_bodies(arm)
    joints = {body.name: _joints_of(arm, body) for body in arm.bodies if body.name not in instrument}
    joints[""] = [body.placement[:3, 3] for body in arm.bodies if body.parent is None]
    if arm.carries:
        del joints[arm.body("roll").parent or ""][0]
    if arm.has_rcm:
        slides = next(body for body in map(arm.body, arm.carriers(arm.tip_body)) if body.kind == "prismatic")
        joints[slides.parent or ""] += [inverse(poses_at_zero(arm.bodies)[slides.parent or ""])[:3, 3]]
    if arm.carries == "endoscope":
        joints[arm.tip_body] = [inverse(arm.body(arm.tip_body).placement)[:3, 3]]
    return {body: np.reshape(points, (-1, 3)) for body, points in joints.items()}


def _joints_of(arm: Arm, body: Body) -> list[Array]:
    """Positions (3,) in the body's frame of its children's joints and of its loop closures [m]."""
    points = [child.placement[:3, 3] for child in arm.bodies if child.parent == body.name]
    points += [np.array(loop.point_a) for loop in arm.loops if loop.body_a == body.name]
    points += [np.array(loop.point_b) for loop in arm.loops if loop.body_b == body.name]
    return points


def jaw_of(instrument: str) -> str:
    """The kind of an instrument's jaws."""
    return next((kind for kind in JAWS if kind in instrument), JAWS[0])


def instrument_bodies(arm: Arm) -> tuple[str, ...]:
    """Names of the bodies of a wristed instrument, from the shaft on; none on other arms."""
    names = [body.name for body in arm.bodies]
    return tuple(names[names.index("roll") :]) if arm.carries == "instrument" else ()


def add_instrument(drawing: Drawing, arm: Arm, shaft_top: float) -> None:
    """Add the shapes of roll, wrist and jaws; the shaft ends `shaft_top` above the (first) wrist pitch axis [m]."""
    names, T = instrument_bodies(arm), poses_at_zero(arm.bodies)
    at, snake = {name: T[name][:3, 3] for name in names}, "wrist_pitch_1" in names

    def on(name: str) -> Sketch:
        """Drawing frame at the origin of a body, with base axes at q = 0."""
        return Sketch(drawing, name, inverse(T[name]) @ pose(p=at[name]))

    _shaft(on("roll"), shaft_top, SNAKE_SCALE if snake else 1.0)
    if snake:
        chain = [name for name in names if name.startswith("wrist")]
        for name, follower in pairwise([*chain, names[-1]]):
            _bead(on(name), at[name][2] - at[follower][2])
    else:
        _wrist(on("wrist_pitch"), float(at["wrist_pitch"][2] - at["wrist_yaw"][2]))
        on("wrist_yaw").rod([0, -0.0036, 0], [0, 0.0036, 0], 0.0008, "tungsten")
    if "idle_disc" in names:
        _blade(Sketch(drawing, arm.tip_body, arm.body("idle_disc").placement @ T_FINGER_DRAWING), arm.jaw_length)
        return
    left, right = (Sketch(drawing, name, T_FINGER_DRAWING) for name in ("finger_left", "finger_right"))
    for finger, side in ((left, -1.0), (right, 1.0)):  # the left finger opens towards -x, its own x axis at q = 0
        _finger(finger, side, arm.jaw_length, jaw_of(arm.instrument))
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
            sketch.surface(surface.deformed(stretched) if abs(factor - 1.0) > 1e-6 else surface, file.looks[name])
