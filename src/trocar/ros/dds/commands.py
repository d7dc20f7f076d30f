"""Commands received over DDS: their messages, and the motion commands among them."""

from __future__ import annotations

import re

from trocar.crtk.interface import Topic
from trocar.crtk.messages import Message
from trocar.crtk.standins.ros_conversion import from_ros
from trocar.ros.dds.cdr import decode

MOTIONS = re.compile(r"/(servo|move|interpolate)_\w+$|/(hold|free)$")
# Commands that replace each other: only the last queued one counts.
ABSOLUTE = ("servo_jp", "servo_jf", "servo_cp", "servo_cf", "servo_cs", "servo_ci")
# Force and torque commands, which stay in force until the next command.
EFFORTS = ("servo_jf", "servo_cf", "servo_cs", "servo_ci")


def decoded(cdr: bytes, topic: Topic) -> Message:
    """The bus message in a sample of a command.

    Raises:
        TrocarError: the sample has no valid content.
    """
    return from_ros(decode(cdr, topic.ros), topic.ros, topic.message)


def device_of(topic: str) -> str:
    """Device of a command of a motion: the jaw belongs to its arm."""
    return topic.partition("/")[0]
