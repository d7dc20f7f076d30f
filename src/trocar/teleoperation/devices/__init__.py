"""Input devices that drive a PSM: gamepad, SpaceMouse, keyboard, mouse, phone, headset, script.

    from trocar.robot import Robot
    from trocar.teleoperation.devices import DeviceConsole, Gamepad, training_scene

    robot = Robot(training_scene(), start="ready", speed="real")
    console = DeviceConsole(robot, {"PSM1": Gamepad()})
    console.start()
    while True:
        console.poll()

Any class with the attributes and methods of `Device` is one.
"""

from trocar.teleoperation.devices.device import Device, DeviceLost, DeviceSample
from trocar.teleoperation.devices.device_console import DeviceConsole
from trocar.teleoperation.devices.gamepad import Gamepad
from trocar.teleoperation.devices.hand import Grip, Hand
from trocar.teleoperation.devices.hand_topics import pair_topics
from trocar.teleoperation.devices.keyboard import Keyboard
from trocar.teleoperation.devices.motion_log import MotionLog
from trocar.teleoperation.devices.mouse import Mouse
from trocar.teleoperation.devices.practice import TASKS, training_scene
from trocar.teleoperation.devices.scripted import Scripted
from trocar.teleoperation.devices.spacemouse import SpaceMouse
from trocar.teleoperation.devices.tracked_hand import TrackedHand

__all__ = [
    "TASKS",
    "Device",
    "DeviceConsole",
    "DeviceLost",
    "DeviceSample",
    "Gamepad",
    "Grip",
    "Hand",
    "Keyboard",
    "MotionLog",
    "Mouse",
    "Scripted",
    "SpaceMouse",
    "TrackedHand",
    "pair_topics",
    "training_scene",
]
