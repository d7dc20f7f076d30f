"""Announcement of a node to ROS 2 on the topic ros_discovery_info, which `ros2 node list` reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trocar.errors import check_known
from trocar.transports.ros2.cdr import encode
from trocar.transports.ros2.participant import Participant
from trocar.transports.ros2.qos import discovery_qos
from trocar.transports.ros2.samples import sample_class
from trocar.transports.ros2.types import (
    PARTICIPANT_INFO,
    PARTICIPANT_INFO_HUMBLE,
    Gid,
    NodeEntitiesInfo,
    ParticipantEntitiesInfo,
)

TOPIC = "ros_discovery_info"
# The length of an identity changed in Iron: a graph cannot mix nodes from before and after.
TYPES = {"jazzy": PARTICIPANT_INFO, "humble": PARTICIPANT_INFO_HUMBLE}
LENGTHS = {"jazzy": 16, "humble": 24}


def announce(participant: Participant, node: str, writers: Iterable[Any], readers: Iterable[Any], distro: str) -> Any:
    """Announce a node with its endpoints, as long as the returned writer exists."""
    check_known("distribution of ROS 2", TYPES, distro)

    def gid(entity: Any) -> Gid:
        return Gid(entity.guid.bytes.ljust(LENGTHS[distro], b"\0"))

    info = ParticipantEntitiesInfo(
        gid(participant.entity),
        [NodeEntitiesInfo("/", node, [gid(reader) for reader in readers], [gid(writer) for writer in writers])],
    )
    writer = participant.writer(TOPIC, TYPES[distro], discovery_qos())
    writer.write(sample_class(TYPES[distro])(encode(info, TYPES[distro])))
    return writer
