"""Bus messages in the samples of one topic, as they come from DDS."""

from __future__ import annotations

import numpy as np

from trocar.robot.interface import Topic
from trocar.robot.messages import JointState, Message
from trocar.transports.ros2.cdr import HEADER, decode, encode
from trocar.transports.ros2.template import STAMP, joint_numbers
from trocar.transports.ros_conversion import from_ros
from trocar.transports.scene_messages import message_to_ros

JOINTS = "sensor_msgs/JointState"
AFTER_STAMP = HEADER + STAMP.size


class Decoder:
    """Decoder of the samples of one topic.

    Joint messages of a stream differ in stamp and numbers only. If all other bytes are those of the last one, its names
    are used again, which takes a third of the time.
    """

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._last, self._length = JointState(), -1
        self._numbers: list[tuple[int, int]] = []  # start and end of position, velocity and effort
        self._fixed: list[tuple[int, int, bytes]] = []  # start, end and content of all other bytes after the stamp

    def __call__(self, cdr: bytes) -> Message:
        """The bus message in a sample.

        Raises:
            TrocarError: the sample has no valid content.
        """
        if len(cdr) == self._length and all(cdr[begin:end] == bytes_ for begin, end, bytes_ in self._fixed):
            seconds, nanoseconds = STAMP.unpack_from(cdr, HEADER)
            position, velocity, effort = (np.frombuffer(cdr[begin:end], "<f8").copy() for begin, end in self._numbers)
            return JointState(
                stamp=seconds * 10**9 + nanoseconds,
                frame_id=self._last.frame_id,
                name=self._last.name,
                position=position,
                velocity=velocity,
                effort=effort,
            )
        message = from_ros(decode(cdr, self._topic.ros), self._topic.ros, self._topic.message)
        if isinstance(message, JointState):
            self._keep(cdr, message)
        return message

    def _keep(self, cdr: bytes, message: JointState) -> None:
        """Note the bytes of a message, unless they are encoded in an unusual way that is decoded as well."""
        if encode(message_to_ros(message, JOINTS), JOINTS) != cdr:
            return
        self._last, self._length, self._numbers = message, len(cdr), joint_numbers(message)
        begins = [0, AFTER_STAMP, *(end for _, end in self._numbers)]
        ends = [HEADER, *(begin for begin, _ in self._numbers), len(cdr)]
        self._fixed = [(begin, end, cdr[begin:end]) for begin, end in zip(begins, ends, strict=True)]
