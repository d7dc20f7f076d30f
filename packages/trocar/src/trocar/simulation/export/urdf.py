"""Arms as URDF, a tree with mimic joints in place of the loops, and as SRDF, which completes it for motion planners."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations
from xml.etree.ElementTree import Element

import mujoco
import numpy as np

from trocar.appearance.sketch import MATERIALS
from trocar.arms import Arm
from trocar.arms.parameters import Inertia
from trocar.simulation.export.links import (
    LIGHT,
    MASSLESS,
    ROOT,
    TIP,
    Link,
    fixed_links,
    flat,
    independent_values,
    leaders_first,
    link_name,
    links,
    upper_triangle,
)
from trocar.simulation.export.meshes import BASE, Mesh
from trocar.simulation.export.mjcf import GEOMS
from trocar.simulation.export.xml import add, document, number, texts
from trocar.simulation.planning.collision import collision_shapes
from trocar.simulation.scene import Scene
from trocar.spatial import Array, pose, quaternion, roll_pitch_yaw


def urdf(scene: Scene, name: str, title: str, meshes: list[Mesh]) -> str:
    """Text of NAME.urdf; mesh files are named relative to it. `title` describes the arms and parameters."""
    root = Element("robot", name=name)
    for material in sorted({mesh.material for mesh in meshes}):
        add(add(root, "material", name=material), "color", rgba=[*MATERIALS[material][0], 1.0])
    for fixed, T_root, shapes in fixed_links(scene, meshes):
        element = add(root, "link", name=fixed)
        if fixed != ROOT:  # KDL, of robot_state_publisher, warns of a root with an inertia
            _inertial(element, MASSLESS)
            _fixed_joint(root, ROOT, fixed, T_root)
        _visuals(element, shapes)
    for link in leaders_first(links(scene, meshes)):
        element = add(root, "link", name=link.name)
        _inertial(element, link.inertia or LIGHT)
        _visuals(element, link.meshes)
        for geom in link.solids:
            _collision(element, geom)
        _joint(root, link)
    for arm, stepped in scene.stepped.items():
        prefix, facts = stepped.prefix, scene.arms[arm].arm
        tip = add(root, "link", name=flat(prefix + TIP))
        _inertial(tip, MASSLESS)
        _fixed_joint(root, link_name(prefix + facts.tip_body), str(tip.get("name")), facts.T_body_tip)
    return document(root, [f"{title} See README.md.", texts()["comments"]["urdf"]])


def _fixed_joint(root: Element, parent: str, child: str, T: Array) -> None:
    joint = add(root, "joint", name=child.removesuffix("_link"), type="fixed")
    add(joint, "parent", link=parent)
    add(joint, "child", link=child)
    _origin(joint, T)


def _origin(parent: Element, T: Array) -> None:
    add(parent, "origin", xyz=T[:3, 3], rpy=roll_pitch_yaw(T[:3, :3]))


def _joint(root: Element, link: Link) -> None:
    element = add(root, "joint", name=link.joint, type=link.kind)
    add(element, "parent", link=link.parent)
    add(element, "child", link=link.name)
    _origin(element, link.T_parent)
    add(element, "axis", xyz="0 0 1")
    add(element, "limit", lower=link.lower, upper=link.upper, effort=link.effort, velocity=link.velocity)
    if link.damping or link.friction:
        add(element, "dynamics", damping=link.damping, friction=link.friction)
    if link.follows is not None:
        leader, factor = link.follows
        add(element, "mimic", joint=leader, multiplier=factor, offset="0")


def _inertial(parent: Element, inertia: Inertia) -> None:
    element = add(parent, "inertial")
    add(element, "origin", xyz=inertia.com, rpy="0 0 0")
    add(element, "mass", value=inertia.mass)
    add(element, "inertia", **upper_triangle(inertia.I))


def _visuals(parent: Element, meshes: Iterable[Mesh]) -> None:
    for mesh in meshes:
        element = add(parent, "visual", name=mesh.name)
        add(add(element, "geometry"), "mesh", filename=f"assets/{mesh.file}")
        add(element, "material", name=mesh.material)


def _collision(parent: Element, geom: mujoco.MjsGeom) -> None:
    """A box; or a capsule as a cylinder of its full length, because URDF has no capsule."""
    element = add(parent, "collision")
    T, size, kind = placed(geom)
    _origin(element, T)
    shape = add(element, "geometry")
    if kind == "box":
        add(shape, "box", size=2.0 * size)
    else:
        length = None if kind == "sphere" else 2.0 * (size[1] + size[0])
        add(shape, "cylinder" if length else "sphere", radius=size[0], length=length)


def placed(geom: mujoco.MjsGeom) -> tuple[Array, Array, str]:
    """Pose (4, 4) on its body, size in MuJoCo's convention (half lengths) [m], and kind of a solid.

    The kind is "box", "sphere" or "capsule".
    """
    fromto = np.asarray(geom.fromto, dtype=float)
    R = np.zeros(9)
    if np.isfinite(fromto).all():
        along = fromto[3:] - fromto[:3]
        half = float(np.linalg.norm(along)) / 2
        quat = np.zeros(4)
        mujoco.mju_quatZ2Vec(quat, along)
        mujoco.mju_quat2Mat(R, quat)
        return pose(R.reshape(3, 3), (fromto[:3] + fromto[3:]) / 2), np.array([geom.size[0], half]), "capsule"
    mujoco.mju_quat2Mat(R, np.asarray(geom.quat))
    return pose(R.reshape(3, 3), geom.pos), np.array(geom.size), GEOMS[geom.type]


def srdf(scene: Scene, name: str, start: dict[str, Array], meshes: list[Mesh]) -> str:
    """Text of NAME.srdf; `start` are the joints (n,) of every arm in the state "home"."""
    root = Element("robot", name=name)
    for arm, q in start.items():
        _groups(root, scene, arm, q)
    tree = leaders_first(links(scene, meshes))
    for link in tree:
        if link.follows is not None:
            add(root, "passive_joint", name=link.joint)
    for arm, q in start.items():
        _allowed_collisions(root, scene, arm, q, [link for link in tree if link.arm == arm])
    return document(root, [texts()["comments"]["srdf"].format(samples=SAMPLES)])


def _allowed_collisions(root: Element, scene: Scene, name: str, q: Array, tree: list[Link]) -> None:
    """Reasons to skip pairs of links of one arm in collision tests; q (n,) are its joints at home."""
    prefix = scene.stepped[name].prefix
    # a link added to the tree has the name of a joint and no shape
    called = {link.name: link.body if link.name == link_name(prefix + link.body) else link.name for link in tree}
    joined = [(called[link.name], called[link.parent]) for link in tree if link.parent in called]
    for pair, reason in collision_matrix(scene.arms[name].arm, q, joined).items():
        first, second = (link_name(prefix + body) for body in pair)
        add(root, "disable_collisions", link1=first, link2=second, reason=reason)


def _groups(root: Element, scene: Scene, name: str, q: Array) -> None:
    """The groups "arm" and "jaw" of an arm with their state "home"."""
    arm, prefix = scene.arms[name].arm, scene.stepped[name].prefix
    base = link_name(prefix + BASE) if prefix else ROOT
    group = add(root, "group", name=flat(prefix + "arm"))
    add(group, "chain", base_link=base, tip_link=flat(prefix + TIP))
    others = arm.joint_names[arm.tip_joints :]
    if others:
        jaw = add(root, "group", name=flat(prefix + "jaw"))
        for joint in others:
            add(jaw, "joint", name=flat(prefix + joint))
        carrier = link_name(prefix + arm.tip_body)
        groups = {"group": flat(prefix + "jaw"), "parent_group": flat(prefix + "arm")}
        add(root, "end_effector", name=flat(prefix + "jaw"), parent_link=carrier, **groups)
    home = independent_values(arm, q)
    for group_name, joints in (("arm", arm.joint_names[: arm.tip_joints]), ("jaw", others)):
        if joints:
            state = add(root, "group_state", name="home", group=flat(prefix + group_name))
            for joint in joints:
                add(state, "joint", name=flat(prefix + joint), value=number(home[joint]))


SAMPLES = 2000  # states within the joint limits
Pair = frozenset[str]


def collision_matrix(arm: Arm, home: Array, joined: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Reason not to test each pair of bodies that have collision shapes: Adjacent, Always, Default, Never or User.

    Args:
        home: joints (n,) [rad, m] for Default. joined: pairs with a joint between them, in the exported tree;
            names that are not bodies are links without a shape.
    """
    model = _solids(arm)
    solid = [body.name for body in arm.bodies if model.body(body.name).geomnum[0]]
    loops = [(loop.body_a, loop.body_b) for loop in arm.loops if loop.body_a and loop.body_b]
    adjacent = _adjacent([*joined, *loops], solid)
    states = np.random.default_rng(0).uniform(arm.lower, arm.upper, (SAMPLES, arm.n))
    data, count = mujoco.MjData(model), dict.fromkeys(map(frozenset, combinations(solid, 2)), 0)
    at_home = _touching(model, data, arm.E @ home)
    for q in states:
        for pair in _touching(model, data, arm.E @ q):
            count[pair] += 1

    def reason(pair: Pair) -> str:
        if pair in adjacent:
            return "Adjacent"
        if count[pair] in (0, SAMPLES):
            return "Always" if count[pair] else "Never"
        return "Default" if pair in at_home else "User"

    return {(first, second): reason(frozenset((first, second))) for first, second in combinations(solid, 2)}


def _solids(arm: Arm) -> mujoco.MjModel:
    """The links with the shapes of the URDF, where a capsule is a cylinder of its full length; all can collide."""
    spec = collision_shapes(arm)
    for geom in spec.geoms:
        T, size, kind = placed(geom)
        geom.fromto = np.full(6, np.nan)
        geom.pos, geom.quat = T[:3, 3], quaternion(T[:3, :3])
        if kind == "capsule":
            geom.type, geom.size = mujoco.mjtGeom.mjGEOM_CYLINDER, [size[0], size[1] + size[0], 0.0]
        geom.contype = geom.conaffinity = 1
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    return spec.compile()


def _touching(model: mujoco.MjModel, data: mujoco.MjData, qpos: Array) -> set[Pair]:
    """Pairs of bodies that overlap."""
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    contacts = data.contact
    return {
        frozenset(model.body(model.geom_bodyid[geom]).name for geom in geoms)
        for geoms, distance in zip(contacts.geom, contacts.dist, strict=True)
        if distance < 0
    }


def _adjacent(joined: Iterable[tuple[str, str]], solid: Collection[str]) -> set[Pair]:
    """Pairs with a joint between them, or only links without a shape."""
    edges = {frozenset(pair) for pair in joined}
    for empty in {name for pair in edges for name in pair} - set(solid):
        around = {name for pair in edges if empty in pair for name in pair} - {empty}
        edges = {pair for pair in edges if empty not in pair} | set(map(frozenset, combinations(around, 2)))
    return edges
