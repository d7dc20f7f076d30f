"""Bytes of bus messages and services in ROS 1 and ROS 2 (CDR), encoded and decoded by rosbags.

`Encoder` and `Decoder` handle the stream of one topic. Its names, frames and lengths rarely change; its stamp and its
numbers always do. So both keep the bytes of the last message and replace or read only what changes.
"""

from __future__ import annotations

import functools
import hashlib
import struct
import threading
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.robot.interface import Topic
from trocar.robot.messages import EMPTY, JointState, Message
from trocar.spatial import Array, quaternion
from trocar.transports.ros_conversion import Family, from_ros, to_ros
from trocar.transports.ros_messages import MESSAGES, SERVICES, definition, message_class
from trocar.transports.ros_time import NANOSECONDS

MAX_BYTES = 1 << 20  # largest message to decode
JOINTS = "sensor_msgs/JointState"
LENGTH = 4  # bytes of the length of a sequence
# Identity of a call in ROS 2 (rmw_cyclonedds), before the fields of a request and of its response.
IDENTITY = "uint64 client\nint64 number\n"
UNUSED = "uint8 structure_needs_at_least_one_member\n"  # field of messages without fields in ROS 2
_creating = threading.Lock()


def check_rosbags(purpose: str = "ROS", extra: str = "bags") -> None:
    """Raise an error with the command to install rosbags if it is missing."""
    if find_spec("rosbags") is None:
        raise TrocarError(f"{purpose} requires the Python package rosbags: pip install 'trocar[{extra}]'")


class Codec(Family):
    """Encoder and decoder of one version of ROS, with rosbags' message classes; see `codec`.

    Attributes:
        version: 1 or 2. store: the types of rosbags. header: bytes before the first field.
    """

    def __init__(self, version: int) -> None:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore

        self.version, self.header = version, 0 if version == 1 else 4
        self.store: Any = get_typestore(Stores.ROS1_NOETIC if version == 1 else Stores.ROS2_JAZZY)
        texts = {name: definition(message) for name, message in MESSAGES.items()}
        for name in [f"{service}_{part}" for service in SERVICES for part in ("Request", "Response")]:
            text = definition(message_class(name))
            texts[name] = text if version == 1 else IDENTITY + (text or UNUSED)
        for name, text in texts.items():
            if bag_name(name) not in self.store.fielddefs:
                self.store.register(get_types_from_msg(text, bag_name(name)))

    def encode(self, message: Message, ros_type: str) -> bytes:
        """Bytes of a bus message."""
        return self.bytes_of(to_ros(message, ros_type, self), ros_type)

    def decode(self, data: bytes, topic: Topic) -> Any:
        """The bus message in the bytes of a message of a topic. Raises a TrocarError if they are not of its type."""
        return from_ros(self.message_in(data, topic.ros), topic.ros, topic.message)

    def bytes_of(self, message: Any, ros_type: str) -> bytes:
        """Bytes of a message of rosbags."""
        serialize = self.store.serialize_ros1 if self.version == 1 else self.store.serialize_cdr
        return bytes(serialize(message, bag_name(ros_type)))

    def message_in(self, data: bytes, ros_type: str) -> Any:
        """The message of rosbags in some bytes. Raises a TrocarError if they are not of this type."""
        from rosbags.serde import SerdeError

        if len(data) > MAX_BYTES:
            raise TrocarError(f"a message of {ros_type} has {len(data)} bytes, at most {MAX_BYTES} are read")
        deserialize = self.store.deserialize_ros1 if self.version == 1 else self.store.deserialize_cdr
        try:
            return deserialize(data, bag_name(ros_type))
        except (SerdeError, struct.error, ValueError, IndexError, OverflowError) as error:
            raise TrocarError(f"a message of {ros_type} cannot be decoded: {error}") from error

    @functools.cache  # noqa: B019  # a codec lives as long as the process
    def prepare(self, ros_type: str) -> None:
        """Generate the code of a type, which would delay its first message by milliseconds."""
        self.message_in(self.bytes_of(self.make(ros_type), ros_type), ros_type)

    def make(self, ros_type: str, **values: Any) -> Any:
        """A message of rosbags with some fields set, by their names in ROS 1; the others have their defaults."""
        if self.version == 2:
            values = {name.lower(): value for name, value in values.items()}
        return self._constructor(bag_name(ros_type))(values)

    def time(self, nanoseconds: int) -> Any:
        seconds, rest = divmod(nanoseconds, 10**9)
        return self.store.types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=rest)

    def numbers(self, kind: str, values: Any) -> Any:
        return np.frombuffer(values, kind) if isinstance(values, bytes) else np.asarray(values, kind)

    @functools.cache  # noqa: B019
    def _constructor(self, name: str) -> Callable[[dict[str, Any]], Any]:
        kind, fields = self.store.types[name], self.store.fielddefs[name][1]
        defaults = [(field, self._default(description)) for field, description in fields]
        return lambda values: kind(*[values[field] if field in values else make() for field, make in defaults])

    def _default(self, description: Any) -> Callable[[], Any]:
        """Function that returns the default of a field, by its description in rosbags."""
        from rosbags.interfaces import Nodetype

        node, content = description
        if node == Nodetype.NAME:
            return lambda: self._constructor(content)({})
        if node == Nodetype.BASE:
            plain = {"string": "", "bool": False}.get(content[0], 0.0 if content[0].startswith("float") else 0)
            return lambda: plain
        (inner, element), length = content
        if inner == Nodetype.BASE and element[0] != "string":
            return lambda: np.zeros(length if node == Nodetype.ARRAY else 0, element[0])
        return list

    @functools.cache  # noqa: B019
    def type_hash(self, ros_type: str) -> str:
        """Hash of a type in ROS 2, RIHS01_ and 64 digits: compared from Iron on, ignored by Humble."""
        return str(self.store.hash_rihs01(bag_name(ros_type)))

    @functools.cache  # noqa: B019
    def definition_and_checksum(self, ros_type: str) -> tuple[str, str]:
        """Full definition of a type in ROS 1, and its MD5 checksum."""
        text, checksum = self.store.generate_msgdef(bag_name(ros_type), ros_version=1)
        return str(text), str(checksum)

    def service_checksum(self, service: str) -> str:
        """MD5 checksum of a service in ROS 1: of the fields of both parts, messages by their checksums."""
        text = ""
        for part in ("Request", "Response"):
            fields = message_class(f"{service}_{part}")._fields
            known = {kind: self.definition_and_checksum(kind)[1] for kind in fields.values() if "/" in kind}
            text += "\n".join(f"{known.get(kind, kind)} {name}" for name, kind in fields.items())
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def codec(version: int) -> Codec:
    """The codec of ROS 1 or ROS 2, created once per process."""
    with _creating:  # a cache alone lets two threads create one each
        return _codec(version)


@functools.cache
def _codec(version: int) -> Codec:
    check_rosbags(f"ROS {version}", f"ros{version}")
    return Codec(version)


def bag_name(ros_type: str) -> str:
    """Name of a type in rosbags: sensor_msgs/msg/JointState. It has no folder for the parts of services."""
    return ros_type.replace("/", "/msg/")


def _pose(message: Any) -> tuple[Array, ...]:
    w, x, y, z = quaternion(message.T[:3, :3])
    return (np.array([*message.T[:3, 3], x, y, z, w]),)


# Numbers of a message in the order of their bytes: one array per contiguous range. They are the end of the message.
_NUMBERS: dict[str, Callable[[Any], tuple[Array, ...]]] = {
    JOINTS: lambda message: (message.position, message.velocity, message.effort),
    "geometry_msgs/PoseStamped": _pose,
    "geometry_msgs/TwistStamped": lambda message: (message.vector,),
    "geometry_msgs/WrenchStamped": lambda message: (message.vector,),
    "std_msgs/Float64MultiArray": lambda message: (message.values,),
}


class Encoder:
    """Encoder of the messages of one topic."""

    def __init__(self, ros_type: str, codec: Codec) -> None:
        codec.prepare(ros_type)
        self._type, self._codec, self._numbers = ros_type, codec, _NUMBERS.get(ros_type)
        self._stamp, self._stamp_at = _stamp(ros_type, codec)
        self._key: Any = None
        self._bytes = bytearray()
        self._places: list[tuple[int, int]] = []

    def __call__(self, message: Message, stamp: int) -> bytes:
        """Bytes of a message with another stamp [ns]."""
        if self._numbers is None:
            return self._codec.encode(replace(message, stamp=stamp), self._type)
        numbers = self._numbers(message)
        key = (message.frame_id, getattr(message, "name", ()), [values.shape for values in numbers])
        if key != self._key:
            self._bytes, self._key = bytearray(self._codec.encode(message, self._type)), key
            if isinstance(message, JointState):
                self._places = _joint_numbers(message, self._codec)
            else:  # one array at the end
                self._places = [(len(self._bytes) - 8 * numbers[0].size, len(self._bytes))]
        if self._stamp_at:
            self._stamp.pack_into(self._bytes, self._stamp_at, *divmod(stamp, 10**9))
        for (begin, end), values in zip(self._places, numbers, strict=True):
            self._bytes[begin:end] = np.asarray(values, "<f8").tobytes()
        return bytes(self._bytes)


class Decoder:
    """Decoder of the messages of one topic.

    Joint messages of a stream differ in stamp and numbers only. If all other bytes are those of the last one, its names
    are used again.
    """

    def __init__(self, topic: Topic, codec: Codec) -> None:
        codec.prepare(topic.ros)
        self._topic, self._codec = topic, codec
        self._stamp, self._stamp_at = _stamp(topic.ros, codec)
        self._last, self._length = JointState(), -1
        self._numbers: list[tuple[int, int]] = []  # start and end of position, velocity and effort
        self._fixed: list[tuple[int, int, bytes]] = []  # start, end and content of all other bytes after the stamp

    def __call__(self, data: bytes) -> Message:
        """The bus message in some bytes. Raises a TrocarError if they have no valid content."""
        if len(data) == self._length and all(data[begin:end] == bytes_ for begin, end, bytes_ in self._fixed):
            seconds, nanoseconds = self._stamp.unpack_from(data, self._stamp_at)
            if nanoseconds < NANOSECONDS:  # otherwise decoded and refused below
                q, dq, tau = (np.frombuffer(data[begin:end], "<f8").copy() for begin, end in self._numbers)
                stamp, frame_id, name = seconds * NANOSECONDS + nanoseconds, self._last.frame_id, self._last.name
                return JointState(stamp=stamp, frame_id=frame_id, name=name, position=q, velocity=dq, effort=tau)
        message: Message = self._codec.decode(data, self._topic)
        if isinstance(message, JointState):
            self._store(data, message)
        return message

    def _store(self, data: bytes, message: JointState) -> None:
        """Store the bytes of a message, unless they are encoded in an unusual way that is decoded as well."""
        if self._codec.encode(message, JOINTS)[self._stamp_at :] != data[self._stamp_at :]:
            return
        self._last, self._length, self._numbers = message, len(data), _joint_numbers(message, self._codec)
        begins = [self._stamp_at + self._stamp.size, *(end for _, end in self._numbers)]
        ends = [*(begin for begin, _ in self._numbers), len(data)]
        ranges = [(0, self._codec.header), *zip(begins, ends, strict=True)]
        self._fixed = [(begin, end, data[begin:end]) for begin, end in ranges]


def _stamp(ros_type: str, codec: Codec) -> tuple[struct.Struct, int]:
    """Format and offset of the stamp in the bytes of a type; offset 0: it has none. ROS 1 has a counter before it."""
    fields = message_class(ros_type)._table
    stamped = bool(fields) and fields[0].name == "header"
    return struct.Struct("<II" if codec.version == 1 else "<iI"), 4 if stamped else 0


def _joint_numbers(message: JointState, codec: Codec) -> list[tuple[int, int]]:
    """Start and end of the positions, velocities and efforts in the bytes of a joint message."""
    bare = replace(message, position=EMPTY, velocity=EMPTY, effort=EMPTY)
    at = len(codec.encode(bare, JOINTS)) - 3 * LENGTH  # without numbers, it ends with three lengths
    places = []
    for values in (message.position, message.velocity, message.effort):
        at += LENGTH
        if len(values) and codec.version == 2:  # aligned, counted from the first field
            at += -(at - codec.header) % 8
        places.append((at, at + 8 * len(values)))
        at += 8 * len(values)
    return places
