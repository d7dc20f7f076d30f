"""Quality of service as in the dVRK's ROS 2 bridge, for topics by direction, and for services."""

from __future__ import annotations

from cyclonedds.qos import Policy, Qos
from cyclonedds.util import duration

from trocar.robot.interface import Direction
from trocar.transports.codec import codec

DEPTH = 100  # messages that are kept for slow and for late readers, as in the dVRK's bridge
IMAGES = 2  # the same of images, which are large
SERVICE_DEPTH = 10  # of ROS 2 services
MAX_BLOCKING = 10.0  # of a writer for a slow reader [ms]


def topic_qos(ros_type: str, direction: Direction) -> Qos:
    """QoS of both ends of a topic: events are kept for late readers, states and commands are not."""
    depth = IMAGES if "Image" in ros_type else DEPTH
    return _qos(depth, direction is Direction.event, f"typehash={codec(2).type_hash(ros_type)};".encode())


def service_qos(user_data: str) -> Qos:
    """QoS of the four endpoints of a service; the user data link those that belong together."""
    return _qos(SERVICE_DEPTH, False, user_data.encode())


def discovery_qos(depth: int = 1) -> Qos:
    """QoS of ros_discovery_info."""
    return _qos(depth, True)


def _qos(depth: int, for_late: bool, user_data: bytes = b"") -> Qos:
    policies = [
        Policy.Reliability.Reliable(duration(milliseconds=MAX_BLOCKING)),
        Policy.History.KeepLast(depth),
        Policy.DataRepresentation(use_cdrv0_representation=True),
        Policy.Durability.TransientLocal if for_late else Policy.Durability.Volatile,
    ]
    if for_late:
        policies.append(
            Policy.DurabilityService(0, Policy.History.KeepLast(depth), -1, -1, -1)  # no limits but the depth
        )
    if user_data:
        policies.append(Policy.Userdata(user_data))
    return Qos(*policies)
