"""Teleoperation: the dVRK's console logic over the interface of `trocar.robot`.

    from trocar.robot import Robot
    from trocar.teleoperation import Teleoperation

    robot = Robot("dvrk", start="ready")
    teleoperation = Teleoperation(robot)          # MTMR_PSM1, MTML_PSM2, ..., MTML_MTMR_ECM at 1 kHz
    robot.console().teleop_start()

`TeleopPSM`, `TeleopECM` and `Console` are the laws and state machines alone: samples in, commands out, no bus and no
clock. `Teleoperation` connects them to a robot.
"""

from trocar.teleoperation.arm_states import ArmState
from trocar.teleoperation.camera_sample import CameraSample
from trocar.teleoperation.console import Console
from trocar.teleoperation.outputs import Command, Event, Output
from trocar.teleoperation.pair_sample import PairSample
from trocar.teleoperation.pedals import Pedal
from trocar.teleoperation.settings import ECMSettings, PSMSettings
from trocar.teleoperation.teleop_ecm import TeleopECM
from trocar.teleoperation.teleop_psm import TeleopPSM
from trocar.teleoperation.wiring import Teleoperation

__all__ = [
    "ArmState",
    "CameraSample",
    "Command",
    "Console",
    "ECMSettings",
    "Event",
    "Output",
    "PSMSettings",
    "PairSample",
    "Pedal",
    "TeleopECM",
    "TeleopPSM",
    "Teleoperation",
]
