"""Shapes of the links: simple, recognisable, our own.

They change no mass and no inertia. Visual shapes are in geom group 2, collision shapes in group 3.
"""

from __future__ import annotations

import mujoco
import numpy as np

from trocar.arms import Arm
from trocar.arms.arm import Body, poses_at_zero
from trocar.simulation import maker_meshes
from trocar.simulation.ecm_shapes import add_ecm
from trocar.simulation.instrument_shapes import SHAFT_RADIUS, add_instrument, instrument_bodies
from trocar.simulation.mtm_shapes import add_mtm
from trocar.simulation.psm_shapes import add_psm
from trocar.simulation.shapes import COLLISION, Sketch, add_materials
from trocar.simulation.si_shapes import add_si
from trocar.spatial import Array

SHORTEST = 1e-3  # links shorter than this do not collide [m]


def add_geometry(spec: mujoco.MjSpec, arm: Arm) -> None:
    """Add visual and collision shapes to the bodies of an arm; the maker's meshes where TROCAR_DVRK_MODEL has some."""
    _add_shapes(spec, arm)
    folder = maker_meshes.checkout()
    if folder is not None:
        maker_meshes.replace_shapes(spec, arm, folder)


def _add_shapes(spec: mujoco.MjSpec, arm: Arm) -> None:
    """Our own shapes, visual and collision."""
    add_materials(spec)
    if arm.name == "PSM":
        add_psm(spec, arm)
        return
    instrument = instrument_bodies(arm)
    for body in arm.bodies:
        if body.name not in instrument:
            _add_bars(spec, arm, body)
    if arm.family == "MTM":
        add_mtm(spec, arm)
    elif arm.name == "ECM":
        add_ecm(spec, arm)
    else:
        add_si(spec, arm)
    if instrument:
        T = poses_at_zero(arm.bodies)
        add_instrument(spec, arm, float(np.linalg.norm(T["insertion"][:3, 3] - T["roll"][:3, 3])))


def _add_bars(spec: mujoco.MjSpec, arm: Arm, body: Body) -> None:
    """What collides of a link: bars from its joint to its children's joints and loop points."""
    sketch = Sketch(spec, spec.body(body.name), np.eye(4))
    for point in _joints_of(arm, body):
        length = float(np.linalg.norm(point))
        if length > SHORTEST:
            sketch.rod([0, 0, 0], point, _radius(arm, body, length), COLLISION, round_ends=True)


def _joints_of(arm: Arm, body: Body) -> list[Array]:
    """Positions (3,) in the body's frame of its children's joints and of its loop closures [m]."""
    points = [child.placement[:3, 3] for child in arm.bodies if child.parent == body.name]
    points += [np.array(loop.point_a) for loop in arm.loops if loop.body_a == body.name]
    points += [np.array(loop.point_b) for loop in arm.loops if loop.body_b == body.name]
    return points


def _radius(arm: Arm, body: Body, length: float) -> float:
    """Radius of a bar [m]: slender, and as thin as a scope where it passes through the remote centre."""
    if arm.has_rcm and body.name == "insertion":
        return 1.5 * SHAFT_RADIUS
    return float(np.clip(0.08 * length, 0.004, 0.016))
