"""Topics of the hands of a `DeviceConsole`, under the names that the masters of a dVRK have."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.robot.interface import MTM, Interface
from trocar.teleoperation.devices.hand import Grip

FRAME = "HRSV"  # the display: X to the left, Y up, Z away
STATES = ("measured_cp", "setpoint_cp", "measured_cv", "gripper/measured_js")
SLAVE = ("measured_js", "setpoint_js", "jaw/measured_js", "jaw/setpoint_js", "measured_cp", "setpoint_cp")
USUAL = {"PSM1": "MTMR", "PSM2": "MTML"}  # the right hand drives PSM1


def master_name(robot: Robot, psm: str) -> str:
    """Name of the topics of the hand that drives a PSM: MTMR for PSM1, MTML for PSM2, else such as hand_PSM3."""
    usual = USUAL.get(psm)
    return usual if usual is not None and usual not in robot.devices else f"hand_{psm}"


def add_hand(robot: Robot, name: str, measured: Callable[[], Grip], received: Callable[[], Grip]) -> None:
    """Add the topics of one hand to the robot's bus.

    `measured_cp`, `measured_cv` and the gripper are those of the hand; `setpoint_cp` is the pose that has reached the
    robot, after the delay.
    """

    def pose(grip: Callable[[], Grip]) -> Callable[[], m.Message]:
        return lambda: m.Pose(stamp=robot.now, frame_id=FRAME, T=grip().pose)

    def velocity() -> m.Message:
        return m.Twist(stamp=robot.now, frame_id=FRAME, vector=measured().twist)

    def gripper() -> m.Message:
        return m.JointState(stamp=robot.now, name=("gripper",), position=np.array([measured().gripper]))

    sources = dict(zip(STATES, (pose(measured), pose(received), velocity, gripper), strict=True))
    robot.bus.add(name, Interface(tuple(MTM.topic(topic) for topic in STATES)), states=sources)


def pair_topics(robot: Robot, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Measured and set-point topics of pairs (master, PSM), and those of the endoscope that they are seen with."""
    names = [f"{master}/{topic}" for master, _ in pairs for topic in STATES]
    names += [f"{psm}/{topic}" for _, psm in pairs for topic in SLAVE]
    names += [f"ECM/{topic}" for topic in SLAVE if not topic.startswith("jaw/")]
    return [name for name in names if name in robot.bus.topics]
