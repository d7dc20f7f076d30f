"""Arms as a tree of links whose joints each follow at most one independent joint, as URDF and SDF require."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from trocar.appearance.kinematic_model import DUMMY_INERTIA, DUMMY_MASS
from trocar.arms.arm import Arm, Body, Kind, poses_at_zero
from trocar.arms.parameters import Inertia
from trocar.errors import TrocarError
from trocar.simulation.export.meshes import BASE, Mesh
from trocar.simulation.scene import Scene
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.spatial import Array, inverse

# Parsers need some inertia also for links whose inertia is part of another (the wrist's is in the link "insertion").
LIGHT = Inertia(mass=DUMMY_MASS, com=np.zeros(3), I=DUMMY_INERTIA * np.eye(3))
MASSLESS = Inertia(mass=0.0, com=np.zeros(3), I=np.zeros((3, 3)))  # PyBullet takes a link without an inertia for 1 kg
ROOT, TIP = "base_link", "tip_link"


@dataclass(frozen=True)
class Link:
    """A link with its joint.

    Attributes:
        arm: name of its arm in the scene. body: its name in the arm.
        name, parent: names of the link and its parent.
        T_parent: its joint frame in the parent; the joint acts about or along z.
        joint: name of that joint; the independent joint's name if it is driven.
        follows: (independent joint's name in this tree, factor), or None if it is independent itself.
        lower, upper: [rad, m]. effort, velocity: limits [N m, N; rad/s, m/s]. damping, friction: of the joint itself.
        inertia: in the link frame; None if it is part of another link's. meshes: visual shapes. solids: collision
            shapes.
    """

    arm: str
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
    inertia: Inertia | None
    meshes: tuple[Mesh, ...]
    solids: tuple[mujoco.MjsGeom, ...]


def fixed_links(scene: Scene, meshes: list[Mesh]) -> list[tuple[str, Array, list[Mesh]]]:
    """Name, pose (4, 4) in the root and shapes of every fixed link: the root first, then bases and set-up joints."""
    poses = {BASE: np.eye(4), **scene.fixed_poses()}
    names = {body: ROOT if body == BASE else link_name(body) for body in poses}
    return [(names[body], T, [mesh for mesh in meshes if mesh.link == body]) for body, T in poses.items()]


def links(scene: Scene, meshes: list[Mesh]) -> list[Link]:
    """Every moving link of every arm, parents first."""
    return [link for name in scene.arms for link in _arm_links(scene, name, meshes)]


def _arm_links(scene: Scene, name: str, meshes: list[Mesh]) -> list[Link]:
    simulated, prefix = scene.arms[name], scene.stepped[name].prefix
    arm, T = simulated.arm, poses_at_zero(simulated.arm.bodies)
    base = link_name(prefix + BASE) if prefix else ROOT
    tree: list[Link] = []
    for body in _parents_first(arm):
        parent, coupling = _carrier(arm, body)
        (joint, factor), *_ = coupling.items()
        facts = arm.joints[arm.joint_names.index(joint)]
        driven = arm.driven[joint] == body.name
        reference = 1.0 if driven else factor / _carrier(arm, arm.body(arm.driven[joint]))[1][joint]
        ends = sorted((factor * facts.lower, factor * facts.upper))
        part = scene.spec.joint(prefix + body.name)
        T_parent = T[body.name] if parent is None else inverse(T[parent]) @ T[body.name]
        tree.append(
            Link(
                arm=name,
                body=body.name,
                name=link_name(prefix + body.name),
                parent=base if parent is None else link_name(prefix + parent),
                T_parent=body.placement if parent == body.parent else T_parent,
                kind=body.kind,
                joint=flat(prefix + (joint if driven else body.name)),
                follows=None if driven else (flat(prefix + joint), reference),
                lower=ends[0],
                upper=ends[1],
                effort=facts.effort,
                velocity=facts.velocity,
                damping=float(np.ravel(part.damping)[0]),
                friction=float(part.frictionloss),
                inertia=own_inertias(simulated).get(body.name),
                meshes=tuple(mesh for mesh in meshes if mesh.link == prefix + body.name),
                solids=tuple(geom for geom in scene.spec.body(prefix + body.name).geoms if geom.contype),
            )
        )
    return tree


def own_inertias(simulated: SimulatedArm) -> dict[str, Inertia]:
    """Inertia of the bodies that are simulated with one, by body."""
    without = None if simulated.options.counterweight else simulated.arm.counterweight
    return {body: inertia for body, inertia in simulated.parameters.inertias.items() if body != without}


def leaders_first(tree: list[Link]) -> list[Link]:
    """The same tree, arranged so that every joint comes after the one it follows.

    Pinocchio builds joints depth-first, siblings in the alphabetical order of their names, and a mimic joint must come
    after its leader. A leader on a link that follows it (the jaw, carried by a finger) becomes the joint of a
    separate link without inertia, which both fingers follow. A follower that would still come too early is named
    after its leader: "pitch_back" comes after "pitch", "back" would not.
    """
    arranged = list(tree)
    for leader in [link for link in tree if link.follows is None]:
        ancestors, by_name = [leader], {link.name: link for link in tree}
        while ancestors[-1].parent in by_name:
            ancestors.append(by_name[ancestors[-1].parent])
        carried_by = [link for link in ancestors if link.follows and link.follows[0] == leader.joint]
        if carried_by:
            first = carried_by[-1]
            bare = replace(leader, name=f"{leader.joint}_link", inertia=None, meshes=(), solids=())
            own = replace(bare, parent=first.parent, T_parent=first.T_parent)
            joint = leader.name.removesuffix("_link")
            follower = replace(leader, joint=joint, follows=(leader.joint, 1.0), damping=0.0, friction=0.0)
            arranged[arranged.index(leader)] = follower
            arranged.insert(arranged.index(first), own)
    for _ in arranged:
        early = _before_their_leaders(arranged)
        if not early:
            break
        arranged = [replace(a, joint=f"{early[a.name]}_{a.body}") if a.name in early else a for a in arranged]
    return arranged


def _before_their_leaders(tree: list[Link]) -> dict[str, str]:
    """Leaders, by follower, that a depth-first walk (siblings by joint name) visits after the follower."""
    children: dict[str, list[Link]] = {}
    for link in tree:
        children.setdefault(link.parent, []).append(link)
    waiting = [link for link in tree if link.parent not in {other.name for other in tree}]
    waiting.sort(key=lambda link: link.joint, reverse=True)
    met: set[str] = set()
    early = {}
    while waiting:
        link = waiting.pop()
        met.add(link.joint)
        if link.follows is not None and link.follows[0] not in met:
            early[link.name] = link.follows[0]
        waiting += sorted(children.get(link.name, ()), key=lambda child: child.joint, reverse=True)
    return early


def flat(name: str) -> str:
    """A name of the model ("PSM1/yaw") without slashes, which ROS reads as namespaces: "PSM1_yaw"."""
    return name.replace("/", "_")


def link_name(body: str) -> str:
    """Name of the link of a body: in these formats a joint and a link may not share a name."""
    return f"{flat(body)}_link"


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
    """The parent link of a body in the exported tree, and its motion by a single joint.

    A body that moves with two joints, such as the crank of a master (shoulder + elbow), is attached to a neighbour on
    the same axis that already moves with one of them. A driven slide that makes half of its joint's travel on another
    slide (the Si insertion) is attached to the carrier of both, so that its joint is the arm's.
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
    raise TrocarError(
        f"link '{body.name}' of {arm.name} moves with several joints, which a tree of mimic joints cannot express"
    )


def _parents_first(arm: Arm) -> list[Body]:
    """The bodies, ordered so that each comes after its carrier."""
    waiting, order = list(arm.bodies), []
    done: set[str | None] = {None}
    while waiting:
        body = next(b for b in waiting if _carrier(arm, b)[0] in done)
        waiting.remove(body)
        done.add(body.name)
        order.append(body)
    return order
