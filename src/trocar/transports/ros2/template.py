"""Packed templates: bytes of a repeated message, in which only the changing values are replaced.

Names, frames and lengths of a state topic rarely change; its stamp and its numbers always do.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from trocar.robot.messages import EMPTY, JointState, Message
from trocar.spatial import Array, quaternion
from trocar.transports.ros2.cdr import HEADER, encode
from trocar.transports.ros2.types import fields
from trocar.transports.scene_messages import message_to_ros

STAMP = struct.Struct("<iI")
LENGTH = 4  # bytes of the length of a sequence


def _joints(message: Any) -> tuple[Array, ...]:
    return message.position, message.velocity, message.effort


def _six(message: Any) -> tuple[Array, ...]:
    return (message.vector,)


def _matrix(message: Any) -> tuple[Array, ...]:
    return (message.values,)


def _pose(message: Any) -> tuple[Array, ...]:
    w, x, y, z = quaternion(message.T[:3, :3])
    return (np.array([*message.T[:3, 3], x, y, z, w]),)


# Numbers of a message in the order of their bytes: one array per contiguous range.
_NUMBERS: dict[str, Callable[[Any], tuple[Array, ...]]] = {
    "sensor_msgs/JointState": _joints,
    "geometry_msgs/PoseStamped": _pose,
    "geometry_msgs/TwistStamped": _six,
    "geometry_msgs/WrenchStamped": _six,
    "std_msgs/Float64MultiArray": _matrix,
}


class Template:
    """Encoder of the messages of one topic."""

    def __init__(self, ros_type: str) -> None:
        self._type, self._numbers = ros_type, _NUMBERS.get(ros_type)
        self._stamped = fields(ros_type)[0].name == "header"
        self._key: Any = None
        self._bytes = bytearray()
        self._places: list[tuple[int, int]] = []

    def pack(self, message: Message, stamp: int) -> bytes:
        """Bytes of a message with another stamp [ns]."""
        if self._numbers is None:
            return encode(message_to_ros(replace(message, stamp=stamp), self._type), self._type)
        numbers = self._numbers(message)
        key = (message.frame_id, getattr(message, "name", ()), [values.shape for values in numbers])
        if key != self._key:
            self._make(message, numbers)
            self._key = key
        if self._stamped:
            STAMP.pack_into(self._bytes, HEADER, *divmod(stamp, 10**9))
        for (begin, end), values in zip(self._places, numbers, strict=True):
            self._bytes[begin:end] = np.asarray(values, "<f8").tobytes()
        return bytes(self._bytes)

    def _make(self, message: Message, numbers: tuple[Array, ...]) -> None:
        """Encode a message, and note where its numbers are: they are its end."""
        self._bytes = bytearray(encode(message_to_ros(message, self._type), self._type))
        if isinstance(message, JointState):
            self._places = joint_numbers(message)
        else:
            (values,) = numbers
            self._places = [(len(self._bytes) - 8 * values.size, len(self._bytes))]


def joint_numbers(message: JointState) -> list[tuple[int, int]]:
    """Start and end of the positions, velocities and efforts in the bytes of a joint message."""
    ros = "sensor_msgs/JointState"
    bare = replace(message, position=EMPTY, velocity=EMPTY, effort=EMPTY)
    at = len(encode(message_to_ros(bare, ros), ros)) - 3 * LENGTH  # without numbers, it ends with three lengths
    places = []
    for values in _joints(message):
        at += LENGTH
        if len(values):
            at += -(at - HEADER) % 8
        places.append((at, at + 8 * len(values)))
        at += 8 * len(values)
    return places
