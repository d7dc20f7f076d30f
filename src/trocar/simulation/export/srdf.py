"""Arms as SRDF, which completes the URDF for motion planners: groups, home, passive joints, allowed collisions."""

from __future__ import annotations

from itertools import combinations
from xml.etree.ElementTree import Element

from trocar.simulation.export.links import ROOT, TIP, flat, independent_values, leaders_first, link_name, links
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
    neighbours = {frozenset((link.name, link.parent)) for link in tree}
    solid = [link for link in tree if link.solids]
    for first, second in combinations(solid, 2):
        if first.arm == second.arm:
            adjacent = frozenset((first.name, second.name)) in neighbours
            reason = "Adjacent" if adjacent else "Never"
            add(root, "disable_collisions", link1=first.name, link2=second.name, reason=reason)
    return document(root, ["The links of one arm are made to pass each other: no pair of them is tested."])


def _groups(root: Element, scene: Scene, name: str, q: Array) -> None:
    """The groups "arm" and "jaw" of an arm with their state "home"."""
    arm, prefix = scene.arms[name].arm, scene.stepped[name].slice.prefix
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
