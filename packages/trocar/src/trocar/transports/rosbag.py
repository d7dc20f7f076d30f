"""A stand-in for rosbag: reads the messages of ROS 1 and ROS 2 bags with the package rosbags."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trocar.closing import Closable
from trocar.errors import TrocarError
from trocar.recording.bag_file import opened_bag
from trocar.transports.ros_messages import MESSAGES, RosMessage
from trocar.transports.ros_time import Time

__all__ = ["Bag", "BagMessage"]


class BagMessage(NamedTuple):
    """A message with its topic and the time at which it was recorded."""

    topic: str
    message: Any
    timestamp: Time


class Bag(Closable):
    """A bag to read from: a .bag file, or the folder or data file of a ROS 2 bag."""

    def __init__(self, f: Any, mode: str = "r", **_options: Any) -> None:
        if mode != "r":
            raise TrocarError("trocar run reads bags and writes none; record with rospy.Subscriber instead")
        path = Path(str(getattr(f, "name", f)))
        self.filename = str(path)
        self._reader = opened_bag(path)

    def read_messages(
        self, topics: str | Collection[str] | None = None, start_time: Any = None, end_time: Any = None
    ) -> Iterator[BagMessage]:
        """Messages in the order of recording; messages of unsupported types are skipped."""
        names = {topics} if isinstance(topics, str) else topics
        known = [connection for connection in self._reader.connections if _ros_1_name(connection.msgtype) in MESSAGES]
        connections = [connection for connection in known if names is None or connection.topic in names]
        start = None if start_time is None else start_time.to_nsec()
        stop = None if end_time is None else end_time.to_nsec() + 1  # rosbags stops before it
        for connection, time, raw in self._reader.messages(connections, start, stop) if connections else ():
            message = self._reader.deserialize(raw, connection.msgtype)
            yield BagMessage(connection.topic, _message(message, _ros_1_name(connection.msgtype)), Time.of(time))

    def get_message_count(self) -> int:
        return int(self._reader.message_count)

    def close(self) -> None:
        self._reader.close()


def _ros_1_name(kind: str) -> str:
    return kind.replace("/msg/", "/")


def _message(raw: Any, kind: str) -> Any:
    """A rosbags message converted to a stand-in, field by field."""
    message = MESSAGES[kind]()
    for name in message.__slots__:
        if hasattr(raw, name):
            setattr(message, name, _value(getattr(raw, name), getattr(message, name)))
    return message


def _value(raw: Any, default: Any) -> Any:
    if isinstance(default, Time):
        return Time(0, raw.sec * 1_000_000_000 + raw.nanosec)
    if isinstance(default, RosMessage):
        return _message(raw, default._type)
    return raw.tolist() if hasattr(raw, "tolist") else raw
