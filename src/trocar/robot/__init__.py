"""The live robot: simulated arms under the dVRK's controllers, with its interface (CRTK), in process and without ROS.

    from trocar.robot import Robot

    with Robot("dvrk") as robot:         # Classic cart, PSM1-3, ECM, MTML, MTMR, SUJ, system, console
        psm = robot.psm("PSM1")
        psm.enable(timeout=10)
        psm.home(timeout=10)
        psm.move_jp(q).wait()
        q, t = psm.measured_jp()

`Robot` simulates the arms under the dVRK's 1500 Hz controllers and puts every device on one `Bus`: `PSM1/measured_js`,
`PSM1/move_jp`, ... The table of all topics and services is `trocar.robot.interface`, the message types are in
`trocar.robot.messages`. The client classes (`Arm`, `PSM`, `ECM`, `MTM`, `SUJ`, `System`, `Console`, `TeleopPSM`,
`TeleopECM`) have the methods of the Python packages `crtk` 1.4 and `dvrk` 2.4 and use only the bus and the robot's
clock. Poses are (4, 4) arrays; getters return (value, time of measurement [s]).

Time passes in one of three ways (`Robot(speed=...)`):

- "fast" (default): the waiting caller advances the simulation, as fast as the machine allows. No time passes between
  the waits of a script, and a script gives the same result in every run.
- "real", or a number such as 0.5 (ratio of simulated to real time): a thread advances the simulation.
- "stepped": only `robot.run(seconds)` and `robot.step(cycles)` advance it; a wait returns immediately.

`robot.simulation()` pauses, steps, resets and changes the running simulation, selects control laws (`LAWS`), records.

A window on the robot (a page, ROS, a script, an input device) uses `robot.bus` (publish, subscribe, read, call), the
clients, `robot.readings(arm)` (values without messages), `robot.now` [ns], `robot.time` [s], `robot.sleep(seconds)`,
`robot.wait_for(condition, timeout)`, `robot.every(period, action)` and `robot.devices` (kind of every device by name).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trocar.robot.bus import Bus, Subscription
    from trocar.robot.clients.device import MoveHandle
    from trocar.robot.clients.devices import ArmClient as Arm
    from trocar.robot.clients.devices import ConsoleClient as Console
    from trocar.robot.clients.devices import ECMClient as ECM
    from trocar.robot.clients.devices import MTMClient as MTM
    from trocar.robot.clients.devices import PSMClient as PSM
    from trocar.robot.clients.devices import SUJClient as SUJ
    from trocar.robot.clients.devices import SystemClient as System
    from trocar.robot.clients.devices import TeleopECMClient as TeleopECM
    from trocar.robot.clients.devices import TeleopPSMClient as TeleopPSM
    from trocar.robot.controller.actuators import Sensors
    from trocar.robot.interface import INTERFACES
    from trocar.robot.laws import LAWS
    from trocar.robot.messages import ArmFrame, Frame
    from trocar.robot.robot import Robot
    from trocar.robot.settings import ArmSettings
    from trocar.robot.track import Track

__all__ = [
    "ECM", "INTERFACES", "LAWS", "MTM", "PSM", "SUJ", "Arm", "ArmFrame", "ArmSettings", "Bus", "Console", "Frame",
    "MoveHandle", "Robot", "Sensors", "Subscription", "System", "TeleopECM", "TeleopPSM", "Track",
]  # fmt: skip

# Public names by defining module, imported on first use: the ROS processes need the table and the messages, but no
# engine.
_NAMES = {
    "bus": ("Bus", "Subscription"),
    "clients.device": ("MoveHandle",),
    "clients.devices": ("Arm", "Console", "ECM", "MTM", "PSM", "SUJ", "System", "TeleopECM", "TeleopPSM"),
    "controller.actuators": ("Sensors",),
    "interface": ("INTERFACES",),
    "laws": ("LAWS",),
    "messages": ("ArmFrame", "Frame"),
    "robot": ("Robot",),
    "settings": ("ArmSettings",),
    "track": ("Track",),
}
_HOME = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'trocar.robot' has no attribute {name!r}")
    module = import_module(f"trocar.robot.{_HOME[name]}")
    globals()[name] = public = getattr(module, f"{name}Client" if _HOME[name] == "clients.devices" else name)
    return public


def __dir__() -> list[str]:
    return sorted({*__all__, "__doc__"})
