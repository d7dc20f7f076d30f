"""Arms as SRDF, which completes the URDF for motion planners: groups, home, passive joints, allowed collisions."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from trocar.simulation.export.collision_matrix import SAMPLES, collision_matrix
from trocar.simulation.export.links import ROOT, TIP, Link, flat, independent_values, leaders_first, link_name, links
from trocar.simulation.export.meshes import BASE, Mesh
from trocar.simulation.export.xml import add, document, number
from trocar.simulation.scene import Scene
from trocar.spatial import Array


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
    return document(
        root,
        [
            f"Never, Always: over {SAMPLES} random states within the joint limits. Default: at home. User: at some"
            " states the simple shapes of the URDF overlap; within the joint limits the links of the real arm pass"
            " each other.",
        ],
    )


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
