"""Shapes of the links: simple, recognisable and original.

They change no mass and no inertia. Visual shapes are in geom group 2, collision shapes in group 3. They are read from a
file that was drawn for published lengths. On an arm with other lengths the shapes of a link are stretched, so that
they meet at its joints.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import mujoco
import numpy as np

from trocar.appearance import maker_meshes, shape_files
from trocar.appearance.instrument_shapes import SHAFT_RADIUS, add_instrument, instrument_bodies
from trocar.appearance.sketch import COLLISION, Deformation, Drawing, Sketch
from trocar.arms import Arm
from trocar.arms.arm import Body, poses_at_zero
from trocar.errors import TrocarError, check_known
from trocar.spatial import Array, inverse

BARS = "bars"  # look of an arm without a file of shapes
MIN_LINK = 1e-3  # links shorter than this do not collide [m]
DRUM, TIP_RADIUS = 0.012, 0.003  # sizes of plain shapes [m]
SCOPE_RADIUS = 0.006  # of an endoscope [m]
ALIKE = 1e-9  # joints closer than this are in the same place [m]


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
        drawn = Drawing()
        _draw(drawn, arm)
        _DRAWN.setdefault(key, drawn)  # stored only when complete; two threads get the same drawing
    return _DRAWN[key]


def _draw(drawing: Drawing, arm: Arm) -> None:
    check_known(f"look of {arm.name}", (*shape_files.names(), BARS), arm.look)
    instrument, shaft_end = instrument_bodies(arm), 0.0
    links = Drawing()
    if arm.look == BARS:
        _add_visible_bars(links, arm)
    else:
        file = shape_files.shape_file(arm.look)
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


def _add_visible_bars(drawing: Drawing, arm: Arm) -> None:
    """Plain bars with a drum at every revolute joint, for arms without specific shapes."""
    for body in arm.bodies:
        _add_bars(drawing, arm, body, "aluminium")
        sketch = Sketch(drawing, body.name)
        if body.kind == "revolute":
            sketch.rod([0, 0, -DRUM], [0, 0, DRUM], DRUM, "cover")
    tip = Sketch(drawing, arm.tip_body)
    if np.linalg.norm(arm.T_body_tip[:3, 3]) > MIN_LINK:
        tip.rod([0, 0, 0], arm.T_body_tip[:3, 3], TIP_RADIUS, "steel", round_ends=True)
    tip.ball(arm.T_body_tip[:3, 3], 2 * TIP_RADIUS, "bright")


def _add_bars(drawing: Drawing, arm: Arm, body: Body, look: str | dict[str, Any]) -> None:
    """Bars from the joint of a link to its children's joints and loop points."""
    sketch = Sketch(drawing, body.name)
    for point in _joints_of(arm, body):
        length = float(np.linalg.norm(point))
        if length > MIN_LINK:
            sketch.rod([0, 0, 0], point, _radius(arm, body, length), look, round_ends=True)


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


def _radius(arm: Arm, body: Body, length: float) -> float:
    """Radius of a bar [m]: slender, and as thin as an endoscope if it passes through the remote centre."""
    if arm.has_rcm and body.name == "insertion":
        return 1.5 * SHAFT_RADIUS
    return float(np.clip(0.08 * length, 0.004, 0.016))
