"""Master tool manipulators, left and right: a parallelogram arm and a four-axis gimbal."""

from __future__ import annotations

import math

import numpy as np

from trocar.arms.arm import Arm, Body, Joint, closure, revolute, shift
from trocar.arms.tables import HALF_PI, File, Geometry, built, geometry, read, shared_facts
from trocar.spatial import mdh, pose


def mtm(arm: str, which: File | Geometry | None = None) -> Arm:
    """`arm` is "MTML" or "MTMR": the same kinematics with different joint limits; masses differ, see `mirroring`."""
    table = read("mtm")
    shape = geometry(arm, table, which, "wang2019")
    a, lengths = table["serial"], {**table["serial"], **shape.lengths}
    bodies = _wang2019(lengths)
    motor_from_joint = np.eye(7)
    motor_from_joint[2, 1] = 1.0
    motor_from_joint[3, 2] = table["motors"]["platform_coupling"]
    joints = (built(Joint, entry, lower=entry[arm][0], upper=entry[arm][1]) for entry in table["joints"])
    return Arm(
        joints=tuple(joints),
        tip_joints=7,
        serial=_serial(a["a_upper_arm"], a["a_forearm"], a["d_platform"]),
        bodies=bodies,
        tip_body="wrist_roll",
        T_body_tip=mdh(theta=HALF_PI),
        loops=(closure("parallelogram", bodies, "rod", (lengths["a_upper_arm"], 0.0, 0.0), "forearm"),),
        driven={"shoulder_pitch": "upper_arm", "elbow_pitch": "forearm"},
        T_hrsv_base=pose(R=np.array(table["base"]["R_hrsv"]), p=np.array(table["base"][arm])),
        gripper=(table["gripper"]["lower"], table["gripper"]["upper"]),
        look=arm.lower(),
        dvrk_class="mtm",
        dvrk_name=arm,
        **shared_facts(arm, table, shape, np.linalg.inv(motor_from_joint)),
    )


def _serial(a_2: float, a_3: float, d_4: float) -> tuple[Body, ...]:
    """The dVRK's standard-DH table. In standard DH a joint turns about the z axis of the frame before, so the step
    (a, alpha) of each row is part of the placement of the next body."""
    return (
        revolute("outer_yaw", None, mdh(theta=-HALF_PI), {"outer_yaw": 1.0}),
        revolute("shoulder_pitch", "outer_yaw", mdh(alpha=HALF_PI, theta=-HALF_PI), {"shoulder_pitch": 1.0}),
        revolute("elbow_pitch", "shoulder_pitch", mdh(a=a_2, theta=HALF_PI), {"elbow_pitch": 1.0}),
        revolute("wrist_platform", "elbow_pitch", mdh(a=a_3, alpha=-HALF_PI, d=d_4), {"wrist_platform": 1.0}),
        revolute("wrist_pitch", "wrist_platform", mdh(alpha=HALF_PI), {"wrist_pitch": 1.0}),
        revolute("wrist_yaw", "wrist_pitch", mdh(alpha=-HALF_PI, theta=-HALF_PI), {"wrist_yaw": 1.0}),
        revolute("wrist_roll", "wrist_yaw", mdh(alpha=HALF_PI, theta=HALF_PI), {"wrist_roll": 1.0}),
    )


def _wang2019(l: dict[str, float]) -> tuple[Body, ...]:
    """Frames of Wang et al. (modified DH); their frame 0 is turned by pi/2 and l_b2p above the dVRK's base."""
    T_0, T_3_6 = shift(z=l["l_b2p"]) @ mdh(theta=HALF_PI), mdh(a=l["a_forearm"], alpha=-HALF_PI, d=l["d_platform"])
    shoulder, elbow = {"shoulder_pitch": 1.0}, {"elbow_pitch": 1.0}
    both = {"shoulder_pitch": 1.0, "elbow_pitch": 1.0}
    return (
        revolute("outer_yaw", None, T_0 @ mdh(d=-l["l_b2p"]), {"outer_yaw": 1.0}, "1"),
        revolute("crank", "outer_yaw", mdh(alpha=-HALF_PI, theta=math.pi), both, "4"),
        revolute("rod", "crank", mdh(a=l["l_b2f"], theta=-HALF_PI), {"elbow_pitch": -1.0}, "5"),
        revolute("upper_arm", "outer_yaw", mdh(alpha=-HALF_PI, theta=HALF_PI), shoulder, "2"),
        revolute("forearm", "upper_arm", mdh(a=l["a_upper_arm"], theta=HALF_PI), elbow, "3"),
        revolute("wrist_platform", "forearm", T_3_6, {"wrist_platform": 1.0}, "6"),
        revolute("wrist_pitch", "wrist_platform", mdh(alpha=HALF_PI), {"wrist_pitch": 1.0}, "7"),
        revolute("wrist_yaw", "wrist_pitch", mdh(alpha=-HALF_PI, theta=HALF_PI), {"wrist_yaw": 1.0}, "8"),
        revolute("wrist_roll", "wrist_yaw", mdh(alpha=-HALF_PI, theta=math.pi), {"wrist_roll": 1.0}, "9"),
    )
