"""Teleoperation: the dVRK's console logic over the interface of `trocar.robot`.

    from trocar.robot import Robot
    from trocar.teleoperation import Teleoperation

    robot = Robot("dvrk", start="ready")
    teleoperation = Teleoperation(robot)          # MTMR_PSM1, MTML_PSM2, ..., MTML_MTMR_ECM at 1 kHz
    robot.console().teleop_start()

`PsmTeleoperation`, `EcmTeleoperation` and `ConsoleState` are the laws and state machines alone: samples in, commands
out, no bus and no clock. `Teleoperation` connects them to a robot.
"""

from trocar.teleoperation.component import ArmState, CameraSample, Command, Event, Output, PairSample
from trocar.teleoperation.console import ConsoleState, Pedal
from trocar.teleoperation.ecm_teleoperation import EcmTeleoperation
from trocar.teleoperation.psm_teleoperation import PsmTeleoperation
from trocar.teleoperation.settings import ECMSettings, PSMSettings
from trocar.teleoperation.wiring import Teleoperation

__all__ = [
    "ArmState",
    "CameraSample",
    "Command",
    "ConsoleState",
    "ECMSettings",
    "EcmTeleoperation",
    "Event",
    "Output",
    "PSMSettings",
    "PairSample",
    "Pedal",
    "PsmTeleoperation",
    "Teleoperation",
]
