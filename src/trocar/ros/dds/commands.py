"""Commands received over DDS."""

from __future__ import annotations

from trocar.crtk.interface import Topic
from trocar.crtk.messages import Message
from trocar.crtk.standins.ros_conversion import from_ros
from trocar.ros.dds.cdr import decode

# Commands that replace each other: only the last queued one counts.
ABSOLUTE = ("servo_jp", "servo_jf", "servo_cp", "servo_cf", "servo_cs", "servo_ci")


def decoded(cdr: bytes, topic: Topic) -> Message:
    """The bus message in a sample of a command.

    Raises:
        TrocarError: the sample has no valid content.
    """
    return from_ros(decode(cdr, topic.ros), topic.ros, topic.message)
