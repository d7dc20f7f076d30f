"""A twin that follows an arm in ROS: reads measured joint states, and sends nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from trocar.errors import TrocarError
from trocar.robot.interface import Direction
from trocar.robot.shadow import Shadow
from trocar.transports.remote_bus import RemoteBus

KIND = "sensor_msgs/JointState"
JAW, GRIPPER = "jaw/measured_js", "gripper/measured_js"


def arm_of(source: RemoteBus, namespace: str) -> str:
    """Kind of an arm by its topics and its name: PSM, ECM, MTML or MTMR."""
    if f"{namespace}/{JAW}" in source.topics:
        return "PSM"
    name = namespace.rpartition("/")[2].upper()
    if f"{namespace}/{GRIPPER}" in source.topics or name.startswith("MTM"):
        return "MTML" if name.endswith("L") else "MTMR"
    if name.startswith("ECM"):
        return "ECM"
    raise TrocarError(f"the topics of {namespace} do not identify its kind; name the arm: PSM, ECM, MTML or MTMR")


def check_arm(source: RemoteBus, namespace: str) -> None:
    """Raise an error unless an arm of this namespace publishes its joint states."""
    if not _published(source, f"{namespace}/measured_js"):
        names = [name.removesuffix("/measured_js") for name in source.topics if _published(source, name)]
        arms = sorted(name for name in names if name.rpartition("/")[2] not in ("jaw", "gripper"))
        raise TrocarError(f"no node publishes {namespace}/measured_js; arms found: {', '.join(arms) or 'none'}")


def follow(shadow: Shadow, source: RemoteBus, namespace: str) -> None:
    """Pass every joint state of an arm to a twin, from now on."""
    check_arm(source, namespace)
    if shadow.jaw and not _published(source, f"{namespace}/{JAW}"):
        raise TrocarError(f"no node publishes {namespace}/{JAW}, which a {shadow.arm.name} needs")
    source.subscribe(f"{namespace}/measured_js", partial(_pass_on, shadow.receive))
    if shadow.jaw:
        source.subscribe(f"{namespace}/{JAW}", partial(_pass_on, shadow.receive_jaw))


def _pass_on(receive: Callable[..., None], message: Any) -> None:
    receive(message.stamp, message.name, message.position, message.velocity, message.effort)


def _published(source: RemoteBus, name: str) -> bool:
    topic = source.topics.get(name)
    states = topic is not None and topic.ros == KIND and topic.direction is not Direction.command
    return states and name.endswith("/measured_js")
