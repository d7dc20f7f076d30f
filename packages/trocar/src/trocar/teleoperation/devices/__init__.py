"""Input devices that drive a PSM: gamepad, SpaceMouse, keyboard, mouse, phone, headset, CRTK master, script.

    from trocar.robot import Robot
    from trocar.teleoperation.devices import DeviceConsole, Gamepad, training_scene

    robot = Robot(training_scene(), start="ready", speed="real")
    console = DeviceConsole(robot, {"PSM1": Gamepad()})
    console.start()
    while True:
        console.poll()

Any class with the attributes and methods of `InputDevice` is one. A new file in this folder that adds it to `DEVICES`
offers it in `trocar teleop`; so does an entry point `trocar.devices` of another package (`trocar.plugins`).
"""

from importlib import import_module
from pkgutil import iter_modules

from trocar.plugins import plugins
from trocar.teleoperation.devices.crtk_master import CrtkMaster
from trocar.teleoperation.devices.device import (
    DEVICES,
    DeviceKind,
    DeviceLost,
    DeviceSample,
    Hand,
    HandState,
    InputDevice,
)
from trocar.teleoperation.devices.device_console import DeviceConsole, MotionLog, pair_topics
from trocar.teleoperation.devices.gamepad import Gamepad
from trocar.teleoperation.devices.page_devices import Keyboard, Mouse
from trocar.teleoperation.devices.practice import TASKS, Scripted, training_scene
from trocar.teleoperation.devices.run_metrics import RunMetrics
from trocar.teleoperation.devices.spacemouse import SpaceMouse
from trocar.teleoperation.devices.tracked_hand import TrackedHand

for _module in iter_modules(__path__):  # each may add devices to DEVICES
    import_module(f"{__name__}.{_module.name}")
DEVICES.update(plugins("trocar.devices"))

__all__ = [
    "DEVICES",
    "TASKS",
    "CrtkMaster",
    "DeviceConsole",
    "DeviceKind",
    "DeviceLost",
    "DeviceSample",
    "Gamepad",
    "Hand",
    "HandState",
    "InputDevice",
    "Keyboard",
    "MotionLog",
    "Mouse",
    "RunMetrics",
    "Scripted",
    "SpaceMouse",
    "TrackedHand",
    "pair_topics",
    "training_scene",
]
