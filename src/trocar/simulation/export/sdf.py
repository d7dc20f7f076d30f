"""An arm as SDF: every link, and the loops closed by joints of their own."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from trocar.appearance.sketch import MATERIALS
from trocar.arms.arm import poses_at_zero
from trocar.simulation.export.links import ROOT, Link, link_name, links
from trocar.simulation.export.meshes import BASE, Mesh
from trocar.simulation.export.urdf import placed
from trocar.simulation.export.xml import add, document, number, numbers, roll_pitch_yaw
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
    add(fixed, "parent", "world")
    add(fixed, "child", ROOT)
    for link in tree:
        _link(model, link, T[link.body])
    for link in tree:
        _joint(model, link)
    for loop in arm.loops:
        # the pin turns about the z axis of the links it joins
        joint = add(model, "joint", name=f"{loop.name}_pin", type="revolute")
        add(joint, "parent", link_name(loop.body_a))
        add(joint, "child", link_name(loop.body_b))
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
    add(root, "name", sim.arm.name)
    add(root, "version", "1.0")
    add(root, "sdf", "model.sdf", version=VERSION)
    author = add(root, "author")
    add(author, "name", "The trocar authors")
    add(root, "description", f"dVRK {sim.arm.name} with {sim.parameters.name}: {sim.parameters.source}")
    return document(root)


def _pose(T: Array) -> str:
    return numbers([*T[:3, 3], *roll_pitch_yaw(T[:3, :3])])


def _link(model: Element, link: Link, T: Array) -> None:
    element, I = add(model, "link", name=link.name), link.inertia.I
    add(element, "pose", _pose(T))
    inertial = add(element, "inertial")
    add(inertial, "pose", _pose(pose(p=link.inertia.com)))
    add(inertial, "mass", number(link.inertia.mass))
    tensor = add(inertial, "inertia")
    for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        add(tensor, f"i{'xyz'[i]}{'xyz'[j]}", number(I[i, j]))
    _visuals(element, link.meshes)
    for i, geom in enumerate(link.solids):
        collision = add(element, "collision", name=f"collision_{i}")
        T_geom, size, kind = placed(geom)
        add(collision, "pose", _pose(T_geom))
        shape = add(add(collision, "geometry"), kind)
        if kind == "box":
            add(shape, "size", numbers(2.0 * size))
        else:
            add(shape, "radius", number(size[0]))
            add(shape, "length", number(2.0 * size[1]))


def _visuals(parent: Element, meshes: tuple[Mesh, ...]) -> None:
    for mesh in meshes:
        colour, specular, _ = MATERIALS[mesh.material]
        element = add(parent, "visual", name=mesh.name)
        add(add(add(element, "geometry"), "mesh"), "uri", f"assets/{mesh.file}")
        material = add(element, "material")
        add(material, "ambient", numbers([*colour, 1.0]))
        add(material, "diffuse", numbers([*colour, 1.0]))
        add(material, "specular", numbers([specular, specular, specular, 1.0]))


def _joint(model: Element, link: Link) -> None:
    element = add(model, "joint", name=link.joint, type=link.kind)
    add(element, "parent", link.parent)
    add(element, "child", link.name)
    _axis(element, link.lower, link.upper, link)
    if link.follows is not None:
        leader, factor = link.follows
        add(element, "trocar:mimic", joint=leader, multiplier=factor)


def _axis(joint: Element, lower: float, upper: float, link: Link | None) -> None:
    axis = add(joint, "axis")
    add(axis, "xyz", "0 0 1")
    limit = add(axis, "limit")
    add(limit, "lower", number(lower))
    add(limit, "upper", number(upper))
    if link is None:
        return
    if link.follows is None:
        add(limit, "effort", number(link.effort))
        add(limit, "velocity", number(link.velocity))
    if link.damping or link.friction:
        dynamics = add(axis, "dynamics")
        add(dynamics, "damping", number(link.damping))
        add(dynamics, "friction", number(link.friction))
