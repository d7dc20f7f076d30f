"""Arms as URDF: a tree with mimic joints in place of the loops."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import mujoco
import numpy as np

from trocar.appearance.sketch import MATERIALS
from trocar.arms.parameters import Inertia
from trocar.simulation.export.links import (
    LIGHT,
    ROOT,
    TIP,
    Link,
    fixed_links,
    flat,
    leaders_first,
    link_name,
    links,
    upper_triangle,
)
from trocar.simulation.export.meshes import Mesh
from trocar.simulation.export.mjcf import GEOMS
from trocar.simulation.export.xml import add, document
from trocar.simulation.scene import Scene
from trocar.spatial import Array, pose, roll_pitch_yaw


def urdf(scene: Scene, name: str, title: str, meshes: list[Mesh]) -> str:
    """Text of NAME.urdf; mesh files are named relative to it. `title` describes the arms and parameters."""
    root = Element("robot", name=name)
    for material in sorted({mesh.material for mesh in meshes}):
        add(add(root, "material", name=material), "color", rgba=[*MATERIALS[material][0], 1.0])
    for fixed in fixed_links(scene, meshes):
        _visuals(add(root, "link", name=fixed.name), fixed.meshes)
        if fixed.name != ROOT:
            _fixed_joint(root, ROOT, fixed.name, fixed.T_root)
    for link in leaders_first(links(scene, meshes)):
        element = add(root, "link", name=link.name)
        _inertial(element, link.inertia or LIGHT)
        _visuals(element, link.meshes)
        for geom in link.solids:
            _collision(element, geom)
        _joint(root, link)
    for arm, stepped in scene.stepped.items():
        prefix, facts = stepped.prefix, scene.arms[arm].arm
        tip = add(root, "link", name=flat(prefix + TIP)).get("name")
        _fixed_joint(root, link_name(prefix + facts.tip_body), str(tip), facts.T_body_tip)
    return document(
        root,
        [
            f"{title} See README.md.",
            "A tree cannot have loops: links moved by loops have mimic joints. URDF cannot express rotor inertias, the"
            " friction of coupled drives, springs and cables.",
        ],
    )


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


def _visuals(parent: Element, meshes: tuple[Mesh, ...]) -> None:
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
    elif kind == "sphere":
        add(shape, "sphere", radius=size[0])
    else:
        add(shape, "cylinder", radius=size[0], length=2.0 * (size[1] + size[0]))


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
