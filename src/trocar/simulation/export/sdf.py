"""An arm as SDF: every link, and the loops closed by joints of their own."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from trocar.appearance.sketch import MATERIALS
from trocar.arms.arm import poses_at_zero
from trocar.simulation.export.links import ROOT, Link, link_name, links, upper_triangle
from trocar.simulation.export.meshes import BASE, Mesh
from trocar.simulation.export.urdf import placed
from trocar.simulation.export.xml import add, add_texts, document, numbers, roll_pitch_yaw
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array, pose

VERSION = "1.9"
NAMESPACE = "urn:trocar"


def sdf(sim: Simulator, meshes: list[Mesh]) -> str:
    """Text of model.sdf. Poses are those at q = 0, where every joint is zero."""
    arm, T = sim.arm, poses_at_zero(sim.arm.bodies)
    root = Element("sdf", version=VERSION)
    root.set("xmlns:trocar", NAMESPACE)
    model = add(root, "model", name=arm.name)
    tree = links(sim, meshes)
    base = add(model, "link", name=ROOT)
    _visuals(base, tuple(mesh for mesh in meshes if mesh.link == BASE))
    fixed = add(model, "joint", name="base_to_world", type="fixed")
    add_texts(fixed, parent="world", child=ROOT)
    for link in tree:
        _link(model, link, T[link.body])
    for link in tree:
        _joint(model, link)
    for loop in arm.loops:
        # the pin turns about the z axis of the links it joins
        joint = add(model, "joint", name=f"{loop.name}_pin", type="revolute")
        add_texts(joint, parent=link_name(loop.body_a), child=link_name(loop.body_b))
        at = add(joint, "pose", _pose(pose(p=loop.point_b)))
        at.set("relative_to", link_name(loop.body_b))
        _axis(joint, -1e16, 1e16, None)
    frame = add(model, "frame", name="tip", attached_to=link_name(arm.tip_body))
    add(frame, "pose", _pose(arm.T_body_tip))
    return document(
        root,
        [
            f"{arm.name} with {sim.parameters.name}: {sim.parameters.source}. See README.md.",
            "Loops are closed by joints. What a cable makes another link follow is a trocar:mimic element, which"
            " SDF 1.9 has no word for and simulators ignore.",
        ],
    )


def config(sim: Simulator) -> str:
    """Text of model.config, by which Gazebo finds a model."""
    root = Element("model")
    add_texts(root, name=sim.arm.name, version="1.0")
    add(root, "sdf", "model.sdf", version=VERSION)
    add_texts(add(root, "author"), name="The trocar authors")
    add(root, "description", f"dVRK {sim.arm.name} with {sim.parameters.name}: {sim.parameters.source}")
    return document(root)


def _pose(T: Array) -> str:
    return numbers([*T[:3, 3], *roll_pitch_yaw(T[:3, :3])])


def _link(model: Element, link: Link, T: Array) -> None:
    element = add(model, "link", name=link.name)
    add(element, "pose", _pose(T))
    inertial = add(element, "inertial")
    add_texts(inertial, pose=_pose(pose(p=link.inertia.com)), mass=link.inertia.mass)
    add_texts(add(inertial, "inertia"), **upper_triangle(link.inertia.I))
    _visuals(element, link.meshes)
    for i, geom in enumerate(link.solids):
        collision = add(element, "collision", name=f"collision_{i}")
        T_geom, size, kind = placed(geom)
        add(collision, "pose", _pose(T_geom))
        shape = add(add(collision, "geometry"), kind)
        if kind == "box":
            add_texts(shape, size=2.0 * size)
        else:
            add_texts(shape, radius=size[0], length=2.0 * size[1])


def _visuals(parent: Element, meshes: tuple[Mesh, ...]) -> None:
    for mesh in meshes:
        colour, specular, _ = MATERIALS[mesh.material]
        element = add(parent, "visual", name=mesh.name)
        add(add(add(element, "geometry"), "mesh"), "uri", f"assets/{mesh.file}")
        rgba, shine = [*colour, 1.0], [specular, specular, specular, 1.0]
        add_texts(add(element, "material"), ambient=rgba, diffuse=rgba, specular=shine)


def _joint(model: Element, link: Link) -> None:
    element = add(model, "joint", name=link.joint, type=link.kind)
    add_texts(element, parent=link.parent, child=link.name)
    _axis(element, link.lower, link.upper, link)
    if link.follows is not None:
        leader, factor = link.follows
        add(element, "trocar:mimic", joint=leader, multiplier=factor)


def _axis(joint: Element, lower: float, upper: float, link: Link | None) -> None:
    axis = add(joint, "axis")
    add(axis, "xyz", "0 0 1")
    limit = add(axis, "limit")
    add_texts(limit, lower=lower, upper=upper)
    if link is not None and link.follows is None:
        add_texts(limit, effort=link.effort, velocity=link.velocity)
    if link is not None and (link.damping or link.friction):
        add_texts(add(axis, "dynamics"), damping=link.damping, friction=link.friction)
