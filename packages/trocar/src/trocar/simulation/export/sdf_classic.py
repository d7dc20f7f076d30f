"""Arms as SDF 1.7 for Gazebo Classic, with closed kinematic loops.

Every loop of the mechanism is a ball joint between its two links, beside the joints of the tree. A link is then the
child of two joints, which the engines ODE (the default) and Simbody of Gazebo Classic support. In a planar loop a ball
joint has one redundant constraint, a revolute joint three.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from trocar.arms.arm import Arm
from trocar.simulation.export.links import flat, link_name
from trocar.simulation.export.meshes import Mesh
from trocar.simulation.export.sdf import deviation, frame_text, joint_loads, pid_gains, sdf_tree, with_discs
from trocar.simulation.export.xml import add, add_texts, document, number, texts
from trocar.simulation.scene import Scene
from trocar.spatial import Array, pose

VERSION = "1.7"  # the newest that Gazebo Classic reads: it selects this file by model.config


def sdf_classic(scene: Scene, name: str, title: str, start: Mapping[str, Array], meshes: list[Mesh]) -> str:
    """Text of model-1_7.sdf: the links, joints and poses of model.sdf, with loops in place of mimic joints."""
    tree = sdf_tree(scene, name, start, meshes)
    root = Element("sdf", version=VERSION)
    root.extend(tree)
    model = root[0]
    for plugin in model.findall("plugin"):  # systems of the new Gazebo
        model.remove(plugin)
    for uri in model.iter("uri"):
        uri.text = f"model://{name.lower()}/{uri.text}"
    for shape in model.iter("geometry"):
        _without_capsule(shape)
    joints = {joint.findtext("child"): joint for joint in model.findall("joint")}
    for joint in joints.values():
        for parent, mimic in ((joint.find("axis"), "mimic"), (joint, "drake:mimic")):
            if parent is not None and (element := parent.find(mimic)) is not None:
                parent.remove(element)
    for arm, simulated in scene.arms.items():
        prefix = scene.stepped[arm].prefix
        _add_loops(model, simulated.arm, prefix)
        for follower, leader in simulated.arm.transmissions.items():
            _add_transmission(model, joints[link_name(prefix + follower)], simulated.arm, prefix, follower, leader)
    comments = [f"{title} See README.md.", deviation(scene, start), texts()["comments"]["sdf_classic"]]
    return document(root, comments)


def hold_script(scene: Scene, name: str, start: Mapping[str, Array]) -> str:
    """Text of classic_hold.sh: a PID of Gazebo Classic for every joint of the dVRK, with `start` as its target."""
    lines = [texts()["classic_hold"].format(name=name)]
    for arm, simulated in scene.arms.items():
        prefix, M = scene.stepped[arm].prefix, joint_loads(simulated, start[arm], with_discs(simulated))[0]
        for joint, inertia, target in zip(simulated.arm.joint_names, M, start[arm], strict=True):
            gains = " ".join(f"--pos-{key} {gain:.4g}" for key, gain in zip("pid", pid_gains(inertia), strict=True))
            lines.append(f"gz joint -m {name} -j {flat(prefix + joint)} --pos-t {target:.6g} {gains}")
    return "\n".join([*lines, "gz world -p 0", ""])


def _add_loops(model: Element, arm: Arm, prefix: str) -> None:
    for loop in arm.loops:
        joint = add(model, "joint", name=f"{flat(prefix + loop.name)}_loop", type="ball")
        add_texts(joint, pose=frame_text(pose(p=loop.point_b)))  # in the child's frame
        add_texts(joint, parent=link_name(prefix + loop.body_a), child=link_name(prefix + loop.body_b))
        add_texts(add(add(joint, "physics"), "simbody"), must_be_loop_joint="true")


def _add_transmission(model: Element, joint: Element, arm: Arm, prefix: str, follower: str, leader: str) -> None:
    """A gearbox if both links turn about one axis; otherwise the follower is fixed, as no joint couples slides."""
    body, driven = arm.body(follower), arm.body(leader)
    if body.kind == "prismatic" or driven.parent != follower:
        joint.set("type", "fixed")
        for axis in joint.findall("axis"):
            joint.remove(axis)
        return
    ((name, angle),) = body.coupling.items()  # of the follower on its carrier, per joint position
    gearbox = add(model, "joint", name=f"{flat(prefix + follower)}_gearbox", type="gearbox")
    add_texts(gearbox, parent=link_name(prefix + follower), child=link_name(prefix + leader))
    # angle of the child on the reference body = -ratio * angle of the parent
    add_texts(gearbox, gearbox_ratio=number(-(angle + driven.coupling[name]) / angle))
    add_texts(gearbox, gearbox_reference_body=link_name(prefix + str(body.parent)))
    for tag in ("axis", "axis2"):
        add_texts(add(gearbox, tag), xyz="0 0 1")


def _without_capsule(geometry: Element) -> None:
    """A cylinder of the full length in place of a capsule, which SDF has from 1.8 on."""
    capsule = geometry.find("capsule")
    if capsule is not None:
        radius, length = (float(capsule.findtext(tag, "0")) for tag in ("radius", "length"))
        geometry.remove(capsule)
        add_texts(add(geometry, "cylinder"), radius=radius, length=length + 2.0 * radius)
