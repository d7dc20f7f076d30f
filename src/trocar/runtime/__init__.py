"""A simulation that runs in real or stepped time and accepts commands.

The caller steps a `Live`; a `Session` runs it in a separate thread in real time. Both simulate a `Scene` of one or more
arms. Interfaces (a web page, ROS, teleoperation) send commands, read frames and messages, and connect inputs.
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
