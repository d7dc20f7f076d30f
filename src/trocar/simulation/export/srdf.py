"""An arm as SRDF, which completes the URDF for motion planners: groups, home, passive joints, allowed collisions."""

from __future__ import annotations

from itertools import combinations
from xml.etree.ElementTree import Element

import numpy as np

from trocar.simulation.export.links import ROOT, TIP, independent_values, link_name, links
from trocar.simulation.export.meshes import Mesh
from trocar.simulation.export.xml import add, document, number
from trocar.simulation.simulator import Simulator


def srdf(sim: Simulator, meshes: list[Mesh]) -> str:
    """Text of arm.srdf."""
    arm = sim.arm
    root = Element("robot", name=arm.name)
    group = add(root, "group", name="arm")
    add(group, "chain", base_link=ROOT, tip_link=TIP)
    others = arm.joint_names[arm.tip_joints :]
    if others:
        jaw = add(root, "group", name="jaw")
        for name in others:
            add(jaw, "joint", name=name)
        add(root, "end_effector", name="jaw", parent_link=link_name(arm.tip_body), group="jaw", parent_group="arm")
    home = independent_values(arm, np.array(arm.home))
    for name, joints in (("arm", arm.joint_names[: arm.tip_joints]), ("jaw", others)):
        if joints:
            state = add(root, "group_state", name="home", group=name)
            for joint in joints:
                add(state, "joint", name=joint, value=number(home[joint]))
    tree = links(sim, meshes)
    for link in tree:
        if link.follows is not None:
            add(root, "passive_joint", name=link.joint)
    neighbours = {frozenset((link.name, link.parent)) for link in tree}
    solid = [link.name for link in tree if link.solids]
    for first, second in combinations(solid, 2):
        adjacent = frozenset((first, second)) in neighbours
        add(root, "disable_collisions", link1=first, link2=second, reason="Adjacent" if adjacent else "Never")
    return document(root, ["The links of one arm are made to pass each other: no pair of them is tested."])
