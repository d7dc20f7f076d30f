"""An arm as a tree of links whose joints each follow one independent joint at most: what URDF and SDF can say."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from trocar.arms.arm import Arm, Body, Kind, poses_at_zero
from trocar.arms.parameters import Inertia
from trocar.errors import TrocarError
from trocar.simulation.export.meshes import Mesh
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array, inverse

# Links whose inertia is inside another's (the wrist's is in the link "insertion") still need some: 1 mg, 1 g mm^2.
LIGHT = Inertia(mass=1e-6, com=np.zeros(3), I=1e-9 * np.eye(3))
ROOT, TIP = "base_link", "tip_link"


@dataclass(frozen=True)
class Link:
    """A link with the joint that carries it.

    Attributes:
        body: its name in trocar. name, parent: of the links.
        T_parent: its joint frame in the parent; the joint acts about or along z.
        joint: name of that joint, an independent joint's where it is driven.
        follows: (independent joint's name in this tree, factor), or None where it is independent itself.
        lower, upper: [rad, m]. effort, velocity: limits [N m, N; rad/s, m/s]. damping, friction: of the joint itself.
        inertia: in the link frame. meshes: what is seen. solids: what collides.
    """

    body: str
    name: str
    parent: str
    T_parent: Array
    kind: Kind
    joint: str
    follows: tuple[str, float] | None
    lower: float
    upper: float
    effort: float
    velocity: float
    damping: float
    friction: float
    inertia: Inertia
    meshes: tuple[Mesh, ...]
    solids: tuple[mujoco.MjsGeom, ...]


def links(sim: Simulator, meshes: list[Mesh]) -> list[Link]:
    """Every moving link, parents first."""
    arm, T = sim.arm, poses_at_zero(sim.arm.bodies)
    found: list[Link] = []
    for body in _parents_first(arm):
        parent, coupling = _carrier(arm, body)
        (joint, factor), *_ = coupling.items()
        facts = arm.joints[arm.joint_names.index(joint)]
        driven = arm.driven[joint] == body.name
        reference = 1.0 if driven else factor / _carrier(arm, arm.body(arm.driven[joint]))[1][joint]
        ends = sorted((factor * facts.lower, factor * facts.upper))
        part = sim.spec.joint(body.name)
        T_parent = T[body.name] if parent is None else inverse(T[parent]) @ T[body.name]
        found.append(
            Link(
                body=body.name,
                name=link_name(body.name),
                parent=link_name(parent),
                T_parent=body.placement if parent == body.parent else T_parent,
                kind=body.kind,
                joint=joint if driven else body.name,
                follows=None if driven else (joint, reference),
                lower=ends[0],
                upper=ends[1],
                effort=facts.effort,
                velocity=facts.velocity,
                damping=float(np.ravel(part.damping)[0]),
                friction=float(part.frictionloss),
                inertia=sim.parameters.inertias.get(body.name, LIGHT),
                meshes=tuple(mesh for mesh in meshes if mesh.link == body.name),
                solids=tuple(geom for geom in sim.spec.body(body.name).geoms if geom.contype),
            )
        )
    return found


def link_name(body: str | None) -> str:
    """Name of the link of a body, or of the base: in these formats a joint may not be named as a link is."""
    return ROOT if body is None else f"{body}_link"


def upper_triangle(I: Array) -> dict[str, float]:
    """Elements of an inertia tensor (3, 3), as URDF and SDF name them [kg m^2]."""
    return {f"i{'xyz'[i]}{'xyz'[j]}": float(I[i, j]) for i in range(3) for j in range(i, 3)}


def independent_values(arm: Arm, q: Array) -> dict[str, float]:
    """Value of every independent joint of the tree for the joints q (n,) [rad, m]."""
    return {
        name: float(_carrier(arm, arm.body(arm.driven[name]))[1][name] * value)
        for name, value in zip(arm.joint_names, q, strict=True)
    }


def _carrier(arm: Arm, body: Body) -> tuple[str | None, dict[str, float]]:
    """The link to hang a body on, and how it then moves: by one joint.

    A body that moves with two joints, such as the crank of a master (shoulder + elbow), is hung on a neighbour on the
    same axis that already moves with one of them. A driven slide that makes half of its joint's way on another slide
    (the Si insertion) is hung on what carries both, so that its joint is the arm's.
    """
    if len(body.coupling) == 1:
        (joint, factor), *_ = body.coupling.items()
        below = None if body.parent is None else arm.body(body.parent)
        slides = below is not None and body.kind == below.kind == "prismatic" and joint in below.coupling
        if slides and below is not None and abs(body.placement[2, 2] - 1.0) < 1e-9:
            return below.parent, {joint: factor + below.coupling[joint]}
        return body.parent, dict(body.coupling)
    for other in arm.bodies:
        aligned = np.allclose(other.placement[:3, 2], body.placement[:3, 2], atol=1e-9)
        if other.parent != body.parent or other.name == body.name or not aligned:
            continue
        offset = body.placement[:3, 3] - other.placement[:3, 3]
        on_axis = np.linalg.norm(np.cross(offset, body.placement[:3, 2])) < 1e-9
        rest = {name: body.coupling.get(name, 0.0) - other.coupling.get(name, 0.0) for name in arm.joint_names}
        rest = {name: value for name, value in rest.items() if abs(value) > 1e-12}
        if on_axis and len(rest) == 1:
            return other.name, rest
    raise TrocarError(f"link '{body.name}' of {arm.name} moves with several joints: no tree of mimic joints can say so")


def _parents_first(arm: Arm) -> list[Body]:
    """The bodies in an order in which the carrier of each comes before it."""
    waiting, order = list(arm.bodies), []
    done: set[str | None] = {None}
    while waiting:
        body = next(b for b in waiting if _carrier(arm, b)[0] in done)
        waiting.remove(body)
        done.add(body.name)
        order.append(body)
    return order
