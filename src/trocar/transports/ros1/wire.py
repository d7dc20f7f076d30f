"""Classes for rospy whose messages are bytes: `codec` encodes and decodes them, not genpy."""

from __future__ import annotations

import functools
import struct
from types import SimpleNamespace
from typing import Any

import genpy

from trocar.transports.codec import codec
from trocar.transports.ros_messages import message_class as fields_of

CODEC = codec(1)


class WireMessage(genpy.Message):
    """A message of one type, as bytes; rospy counts the messages of a topic in the first field of their header."""

    _has_header = False
    __slots__ = ("data", "header")
    _slot_types = ()

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
    text, checksum = CODEC.definition_and_checksum(ros_type)
    fields = fields_of(ros_type)._table
    members = {
        "_type": ros_type,
        "_md5sum": checksum,
        "_full_text": text,
        "_has_header": bool(fields) and fields[0].name == "header",
        "__slots__": (),
    }
    return type(ros_type.replace("/", "_"), (WireMessage,), members)


@functools.cache
def service_class(ros_type: str) -> Any:
    """Class of a service for rospy."""
    parts = {f"_{part.lower()}_class": wire_class(f"{ros_type}_{part}") for part in ("Request", "Response")}
    members = {"_type": ros_type, "_md5sum": CODEC.service_checksum(ros_type), **parts}
    return type(ros_type.replace("/", "_"), (), members)
