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
