"""Classes for rospy whose messages are bytes: `codec` encodes and decodes them, not genpy."""

from __future__ import annotations

import functools
import struct
from types import SimpleNamespace
from typing import Any

from trocar.transports.codec import codec
from trocar.transports.ros_messages import message_class


class WireMessage:
    """A message as bytes; rospy counts the messages of a topic in the first field of their header."""

    _has_header = False

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self.header = SimpleNamespace(seq=0, frame_id="")

    def serialize(self, buff: Any) -> None:
        buff.write(struct.pack("<I", self.header.seq) + self.data[4:] if self._has_header else self.data)

    def deserialize(self, data: bytes) -> WireMessage:
        self.data = bytes(data)
        return self


@functools.cache
def wire_class(ros_type: str) -> Any:
    """Class of the messages of a type, or of a part of a service such as std_srvs/Trigger_Request."""
    import genpy

    text, checksum = codec(1).definition_and_checksum(ros_type)
    fields = message_class(ros_type).__slots__
    stamped = bool(fields) and fields[0] == "header"
    members = {"_type": ros_type, "_md5sum": checksum, "_full_text": text, "_has_header": stamped}
    return type(ros_type.replace("/", "_"), (WireMessage, genpy.Message), members)


@functools.cache
def service_class(ros_type: str) -> Any:
    """Class of a service for rospy."""
    parts = {f"_{part.lower()}_class": wire_class(f"{ros_type}_{part}") for part in ("Request", "Response")}
    members = {"_type": ros_type, "_md5sum": codec(1).service_checksum(ros_type), **parts}
    return type(ros_type.replace("/", "_"), (), members)
