"""Shapes of the links: simple, recognisable and original.

They change no mass and no inertia. Visual shapes are in geom group 2, collision shapes in group 3.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import mujoco
import numpy as np

from trocar.appearance import maker_meshes
from trocar.appearance.ecm_shapes import add_ecm
from trocar.appearance.instrument_shapes import SHAFT_RADIUS, add_instrument, instrument_bodies
from trocar.appearance.mtm_shapes import add_mtm
from trocar.appearance.psm_shapes import add_psm
from trocar.appearance.si_shapes import add_si
from trocar.appearance.sketch import COLLISION, Drawing, Sketch
from trocar.arms import Arm
from trocar.arms.arm import Body, poses_at_zero
from trocar.errors import check_known
from trocar.spatial import Array

SHORTEST = 1e-3  # links shorter than this do not collide [m]
DRUM, TIP_RADIUS = 0.012, 0.003  # sizes of plain shapes [m]


_DRAWN: dict[Hashable, Drawing] = {}


def add_shapes(spec: mujoco.MjSpec, arm: Arm, visual: bool = True) -> None:
    """Add visual and collision shapes to the bodies of an arm; meshes from TROCAR_DVRK_MODEL replace visual ones."""
    drawing(arm).put_on(spec, visual)
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
    check_known(f"look of {arm.name}", LOOKS, arm.look)
    if arm.look == "psm":  # draws its own collision shapes and instrument
        add_psm(drawing, arm)
        return
    instrument = instrument_bodies(arm)
    for body in arm.bodies:
        if body.name not in instrument:
            _add_bars(drawing, arm, body, COLLISION)
    LOOKS[arm.look](drawing, arm)
    if instrument:
        T = poses_at_zero(arm.bodies)
        add_instrument(drawing, arm, float(np.linalg.norm(T["insertion"][:3, 3] - T["roll"][:3, 3])))


def _add_visible_bars(drawing: Drawing, arm: Arm) -> None:
    """Plain bars with a drum at every revolute joint, for arms without specific shapes."""
    for body in arm.bodies:
        _add_bars(drawing, arm, body, "aluminium")
        sketch = Sketch(drawing, body.name)
        if body.kind == "revolute":
            sketch.rod([0, 0, -DRUM], [0, 0, DRUM], DRUM, "cover")
    tip = Sketch(drawing, arm.tip_body)
    if np.linalg.norm(arm.T_body_tip[:3, 3]) > SHORTEST:
        tip.rod([0, 0, 0], arm.T_body_tip[:3, 3], TIP_RADIUS, "steel", round_ends=True)
    tip.ball(arm.T_body_tip[:3, 3], 2 * TIP_RADIUS, "bright")


LOOKS: dict[str, Callable[[Drawing, Arm], None]] = {
    "psm": add_psm,
    "ecm": add_ecm,
    "mtm": add_mtm,
    "si": add_si,
    "bars": _add_visible_bars,
}


def _add_bars(drawing: Drawing, arm: Arm, body: Body, look: str | dict[str, Any]) -> None:
    """Bars from the joint of a link to its children's joints and loop points."""
    sketch = Sketch(drawing, body.name)
    for point in _joints_of(arm, body):
        length = float(np.linalg.norm(point))
        if length > SHORTEST:
            sketch.rod([0, 0, 0], point, _radius(arm, body, length), look, round_ends=True)


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
