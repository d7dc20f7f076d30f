"""The da Vinci Research Kit as a robot of LeRobot."""

from lerobot_robot_dvrk.config_dvrk import DvrkConfig
from lerobot_robot_dvrk.dvrk import Dvrk

__all__ = ["Dvrk", "DvrkConfig"]
