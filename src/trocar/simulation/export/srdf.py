"""An arm as SRDF, which completes the URDF for motion planners: groups, home, passive joints, allowed collisions."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from trocar.simulation.export.collision_matrix import SAMPLES, collision_matrix
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
    body_of = {link.name: link.body for link in tree}
    joined = [(link.body, body_of[link.parent]) for link in tree if link.parent in body_of]
    for (first, second), reason in collision_matrix(arm, joined).items():
        add(root, "disable_collisions", link1=link_name(first), link2=link_name(second), reason=reason)
    return document(
        root,
        [
            f"Never, Always: over {SAMPLES} random states within the joint limits. Default: at home. User: at some"
            " states the simple shapes of the URDF overlap; within the joint limits the links of the real arm pass"
            " each other.",
        ],
    )
