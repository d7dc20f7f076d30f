"""A simulation that runs in real or stepped time and takes commands.

`Live` is stepped by its caller; `Session` runs it in a thread of its own, in real time. Both know a `Scene`, of one arm
or of many. Interfaces (a web page, ROS, teleoperation) give commands, read frames and messages, and connect inputs.
"""

from trocar.runtime.controllers import CONTROLLERS, Mode
from trocar.runtime.frame import ArmFrame, Frame
from trocar.runtime.live import Live
from trocar.runtime.messages import Message, Messages
from trocar.runtime.session import Session
from trocar.runtime.settings import TIMESTEP, Settings
from trocar.runtime.track import Track

__all__ = [
    "CONTROLLERS",
    "TIMESTEP",
    "ArmFrame",
    "Frame",
    "Live",
    "Message",
    "Messages",
    "Mode",
    "Session",
    "Settings",
    "Track",
]
