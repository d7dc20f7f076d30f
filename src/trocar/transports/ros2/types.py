"""Message types of ROS 2: their fields, their names in DDS and their hashes.

The fields are those of `trocar.transports.ros_messages` with the four differences of ROS 2: a header has no
sequence number, a time is two integers, a message without fields has one unused byte, and names of fields are in lower
case (`k` of a camera is the attribute `K`).

A type is named as in the table of the interface, `sensor_msgs/JointState`. The two parts of a service are
`crtk_msgs/QueryForwardKinematics_Request` and `_Response`.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from trocar.errors import check_known
from trocar.transports.ros_messages import MESSAGES, SERVICES

UNUSED = "structure_needs_at_least_one_member"
PRIMITIVES = {
    "bool": "?",
    "uint8": "B",
    "int8": "b",
    "uint16": "H",
    "int16": "h",
    "uint32": "I",
    "int32": "i",
    "uint64": "Q",
    "int64": "q",
    "float32": "f",
    "float64": "d",
}


class Field(NamedTuple):
    """A field of a message.

    Attributes:
        name: of the attribute. kind: primitive, "string", "time" or the name of a message.
        length: None for one value, 0 for a sequence of any length, n for an array of n.
    """

    name: str
    kind: str
    length: int | None = None

    @property
    def ros(self) -> str:
        """Its name in ROS 2."""
        return self.name.lower()


@dataclass
class Gid:
    """Identity of a participant or endpoint: its GUID, followed by zeros in Humble."""

    data: bytes = bytes(16)


@dataclass
class NodeEntitiesInfo:
    node_namespace: str = "/"
    node_name: str = ""
    reader_gid_seq: list[Gid] = field(default_factory=list)
    writer_gid_seq: list[Gid] = field(default_factory=list)


@dataclass
class ParticipantEntitiesInfo:
    """The nodes of a participant, as listed by `ros2 node list`."""

    gid: Gid = field(default_factory=Gid)
    node_entities_info_seq: list[NodeEntitiesInfo] = field(default_factory=list)


PARTICIPANT_INFO = "rmw_dds_common/ParticipantEntitiesInfo"
PARTICIPANT_INFO_HUMBLE = "rmw_dds_common/ParticipantEntitiesInfo@humble"
_NODE = (Field("node_namespace", "string"), Field("node_name", "string"))


def _graph_types(suffix: str, length: int) -> dict[str, tuple[Any, tuple[Field, ...]]]:
    """Types of ros_discovery_info; identities have 24 bytes up to Humble, 16 from Iron on (rmw_dds_common 2.0.0)."""
    gid, node = f"rmw_dds_common/Gid{suffix}", f"rmw_dds_common/NodeEntitiesInfo{suffix}"
    return {
        gid: (Gid, (Field("data", "uint8", length),)),
        node: (NodeEntitiesInfo, (*_NODE, Field("reader_gid_seq", gid, 0), Field("writer_gid_seq", gid, 0))),
        PARTICIPANT_INFO + suffix: (
            ParticipantEntitiesInfo,
            (Field("gid", gid), Field("node_entities_info_seq", node, 0)),
        ),
    }


_CLASSES: dict[str, Any] = dict(MESSAGES)
for _name, _service in SERVICES.items():
    _CLASSES |= {f"{_name}_Request": _service.Request, f"{_name}_Response": _service.Response}
_GRAPH = _graph_types("", 16) | _graph_types("@humble", 24)


def message_class(name: str) -> Any:
    """Python class of a type, with its fields as attributes with defaults."""
    if name in _GRAPH:
        return _GRAPH[name][0]
    check_known("message type", _CLASSES, name)
    return _CLASSES[name]


@functools.cache
def fields(name: str) -> tuple[Field, ...]:
    """Fields of a type in ROS 2."""
    if name in _GRAPH:
        return _GRAPH[name][1]
    package = name.partition("/")[0]
    found = message_class(name).get_fields_and_field_types()
    if name == "std_msgs/Header":
        found.pop("seq")
    if not found:
        return (Field(UNUSED, "uint8"),)
    return tuple(_field(key, kind, package) for key, kind in found.items())


def _field(name: str, kind: str, package: str) -> Field:
    listed = re.fullmatch(r"(.+)\[(\d*)\]", kind)
    element = listed[1] if listed else kind
    if element not in PRIMITIVES and element not in ("string", "time") and "/" not in element:
        element = f"{package}/{element}"
    return Field(name, element, int(listed[2] or 0) if listed else None)


# -- names -------------------------------------------------------------------------------------------------------------


def full_name(name: str) -> str:
    """Name of a type in ROS 2: sensor_msgs/msg/JointState."""
    package, _, own = name.partition("@")[0].partition("/")
    return f"{package}/{'srv' if own.endswith(('_Request', '_Response')) else 'msg'}/{own}"


def dds_name(name: str) -> str:
    """Name of a type in DDS: sensor_msgs::msg::dds_::JointState_."""
    package, folder, own = full_name(name).split("/")
    return f"{package}::{folder}::dds_::{own}_"


def ros_name(dds: str) -> str:
    """The type for a name in DDS; "" if it is not a ROS type."""
    found = re.fullmatch(r"(\w+)::(?:msg|srv)::dds_::(\w+)_", dds)
    return f"{found[1]}/{found[2]}" if found else ""


def topic_name(topic: str) -> str:
    """Name of a topic in DDS: rt/PSM1/measured_js."""
    return f"rt/{topic}"


def request_name(service: str) -> str:
    return f"rq/{service}Request"


def reply_name(service: str) -> str:
    return f"rr/{service}Reply"


# -- hashes ------------------------------------------------------------------------------------------------------------


def definition(name: str) -> str:
    """Text of the .msg file of a type in ROS 2."""
    lines = []
    for part in fields(name):
        shown = "builtin_interfaces/Time" if part.kind == "time" else part.kind
        lines.append(f"{shown}{'' if part.length is None else f'[{part.length or str()}]'} {part.ros}\n")
    return "".join(lines)


@functools.cache
def type_store() -> Any:
    """rosbags' types of ROS 2 Jazzy, plus the interface's types that ROS lacks."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    for name in _CLASSES:
        if name.startswith(("crtk_msgs/", "cisst_msgs/")) or name.endswith(("_Request", "_Response")):
            store.register(get_types_from_msg(definition(name), bag_name(name)))
    return store


def bag_name(name: str) -> str:
    """Name of a type in rosbags, which has no folder for the parts of services."""
    return full_name(name).replace("/srv/", "/msg/")


@functools.cache
def type_hash(name: str) -> str:
    """Hash of a message type, RIHS01_ and 64 digits: ROS 2 compares it from Iron on, and Humble ignores it."""
    found: str = type_store().hash_rihs01(bag_name(name))
    return found
