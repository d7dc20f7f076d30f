"""Announcement of a node to ROS 2 on the topic ros_discovery_info, which `ros2 node list` reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from trocar.errors import check_known
from trocar.transports.codec import bag_name
from trocar.transports.ros2.participant import Participant
from trocar.transports.ros2.qos import discovery_qos
from trocar.transports.ros2.samples import sample_class

TOPIC, TYPE = "ros_discovery_info", "rmw_dds_common/ParticipantEntitiesInfo"
# An identity has 24 bytes up to Humble, 16 from Iron on (rmw_dds_common 2.0.0): a graph cannot mix the two.
STORES = {"jazzy": Stores.ROS2_JAZZY, "humble": Stores.ROS2_HUMBLE}
LENGTHS = {"jazzy": 16, "humble": 24}


def announce(participant: Participant, node: str, writers: Iterable[Any], readers: Iterable[Any], distro: str) -> Any:
    """Announce a node with its endpoints, as long as the returned writer exists."""
    check_known("distribution of ROS 2", STORES, distro)
    store: Any = get_typestore(STORES[distro])
    entities = [[entity.guid.bytes for entity in group] for group in (readers, writers)]
    writer = participant.writer(TOPIC, TYPE, discovery_qos(), store)
    cdr = node_info(store, LENGTHS[distro], participant.entity.guid.bytes, node, *entities)
    writer.write(sample_class(TYPE, store)(cdr))
    return writer


def node_info(
    store: Any, length: int, participant: bytes, node: str, readers: Iterable[bytes], writers: Iterable[bytes]
) -> bytes:
    """Bytes of a participant with one node, from the GUIDs of its endpoints; identities are filled up to a length."""

    def kind(name: str) -> Any:
        return store.types[bag_name(f"rmw_dds_common/{name}")]

    def gid(guid: bytes) -> Any:
        return kind("Gid")(data=np.frombuffer(guid.ljust(length, b"\0"), np.uint8))

    entities = kind("NodeEntitiesInfo")(
        node_namespace="/", node_name=node, reader_gid_seq=[*map(gid, readers)], writer_gid_seq=[*map(gid, writers)]
    )
    info = kind("ParticipantEntitiesInfo")(gid=gid(participant), node_entities_info_seq=[entities])
    return bytes(store.serialize_cdr(info, bag_name(TYPE)))
