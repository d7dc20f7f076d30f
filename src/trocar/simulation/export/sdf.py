"""Arms as SDF for Gazebo: a tree of links with mimic joints, position controllers and the stereo endoscope.

Gazebo's engines do not close kinematic loops (gz-physics issue 25). A mimic joint of SDF 1.11 replaces each loop or
cable: the engine bullet-featherstone enforces it, dartsim ignores it (gz-physics issue 432).
Drake reads its own element, `drake:mimic`.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

import numpy as np

from trocar.appearance.sketch import MATERIALS
from trocar.arms.arm import poses_at_zero
from trocar.arms.parameters import Inertia
from trocar.simulation.export.gazebo import add_cameras, add_controllers, frame_text, upright
from trocar.simulation.export.links import ROOT, Link, fixed_links, flat, link_name, links, upper_triangle
from trocar.simulation.export.meshes import Mesh
from trocar.simulation.export.rotor_discs import with_discs
from trocar.simulation.export.urdf import placed
from trocar.simulation.export.xml import add, add_texts, document
from trocar.simulation.scene import Scene
from trocar.spatial import Array, pose

VERSION = "1.11"
DRAKE = "http://drake.mit.edu"  # namespace of Drake's own elements, which others ignore


def sdf(scene: Scene, name: str, title: str, start: Mapping[str, Array], meshes: list[Mesh]) -> str:
    """Text of model.sdf. Poses are those at q = 0, where every joint is zero.

    Args:
        title: describes the arms and parameters. start: joints (n,) of every arm, the targets of its controllers.
    """
    root = Element("sdf", version=VERSION)
    root.set("xmlns:drake", DRAKE)
    model = add(root, "model", name=name)
    T_world_root = upright(scene)
    if T_world_root is not None:
        add(model, "pose", frame_text(T_world_root))
    for fixed in fixed_links(scene, meshes):
        element = add(model, "link", name=fixed.name)
        if fixed.name != ROOT:
            add(element, "pose", frame_text(fixed.T_root))
        _visuals(element, fixed.meshes)
        world = fixed.name == ROOT
        joint = add(model, "joint", name="base_to_world" if world else f"{fixed.name}_fixed", type="fixed")
        add_texts(joint, parent="world" if world else ROOT, child=fixed.name)
    tree = links(scene, meshes)
    inertias = {arm: with_discs(simulated) for arm, simulated in scene.arms.items()}
    cameras: dict[str, Element] = {}
    for link in tree:
        T = _base(scene, link.arm) @ poses_at_zero(scene.arms[link.arm].arm.bodies)[link.body]
        cameras[f"{link.arm}/{link.body}"] = _link(model, link, T, inertias[link.arm][link.body])
    for link in tree:
        _joint(model, link)
    for arm, simulated in scene.arms.items():
        facts, prefix = simulated.arm, scene.stepped[arm].prefix
        frame = add(model, "frame", name=flat(prefix + "tip"), attached_to=link_name(prefix + facts.tip_body))
        add(frame, "pose", frame_text(facts.T_body_tip))
        if facts.carries == "endoscope":
            add_cameras(cameras[f"{arm}/{facts.tip_body}"], flat(prefix + "endoscope"), facts.T_body_tip)
    add_controllers(model, scene, start, inertias)
    return document(
        root,
        [
            f"{title} See README.md.",
            "Mimic joints replace loops and cables: use the engine bullet-featherstone, see world.sdf.",
        ],
    )


def config(name: str, title: str) -> str:
    """Text of model.config, by which Gazebo finds a model."""
    root = Element("model")
    add_texts(root, name=name, version="1.0")
    add(root, "sdf", "model.sdf", version=VERSION)
    add_texts(add(root, "author"), name="The trocar authors")
    add(root, "description", f"dVRK: {title}")
    return document(root)


def _base(scene: Scene, arm: str) -> Array:
    """Base (4, 4) of an arm in the root link."""
    return scene.T_world_base(arm) if scene.stepped[arm].prefix else np.eye(4)


def _link(model: Element, link: Link, T: Array, inertia: Inertia) -> Element:
    element = add(model, "link", name=link.name)
    add(element, "pose", frame_text(T))
    inertial = add(element, "inertial")
    add_texts(inertial, pose=frame_text(pose(p=inertia.com)), mass=inertia.mass)
    add_texts(add(inertial, "inertia"), **upper_triangle(inertia.I))
    _visuals(element, link.meshes)
    for i, geom in enumerate(link.solids):
        collision = add(element, "collision", name=f"collision_{i}")
        T_geom, size, kind = placed(geom)
        add(collision, "pose", frame_text(T_geom))
        shape = add(add(collision, "geometry"), kind)
        if kind == "box":
            add_texts(shape, size=2.0 * size)
        elif kind == "sphere":
            add_texts(shape, radius=size[0])
        else:
            add_texts(shape, radius=size[0], length=2.0 * size[1])
    return element


def _visuals(parent: Element, meshes: tuple[Mesh, ...]) -> None:
    for mesh in meshes:
        colour, specular, _ = MATERIALS[mesh.material]
        element = add(parent, "visual", name=mesh.material)
        add(add(add(element, "geometry"), "mesh"), "uri", f"assets/{mesh.file}")
        rgba, shine = [*colour, 1.0], [specular, specular, specular, 1.0]
        add_texts(add(element, "material"), ambient=rgba, diffuse=rgba, specular=shine)


def _joint(model: Element, link: Link) -> None:
    element = add(model, "joint", name=link.joint, type=link.kind)
    add_texts(element, parent=link.parent, child=link.name)
    axis = add(element, "axis")
    add(axis, "xyz", "0 0 1")
    if link.follows is not None:
        leader, factor = link.follows
        add_texts(add(axis, "mimic", joint=leader), multiplier=factor, offset=0.0, reference=0.0)
        add(element, "drake:mimic", joint=leader, multiplier=factor, offset="0")
    limit = add(axis, "limit")
    # a simulator starts joints at 0, and a start beyond a stop causes an impact
    add_texts(limit, lower=min(link.lower, 0.0), upper=max(link.upper, 0.0))
    if link.follows is None:
        add_texts(limit, effort=link.effort, velocity=link.velocity)
    if link.damping or link.friction:
        add_texts(add(axis, "dynamics"), damping=link.damping, friction=link.friction)
