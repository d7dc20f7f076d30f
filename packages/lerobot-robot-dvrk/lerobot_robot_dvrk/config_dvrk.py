"""Configuration of the robot."""

from __future__ import annotations

from dataclasses import dataclass, field

from lerobot.cameras import CameraConfig
from lerobot.robots import RobotConfig


@RobotConfig.register_subclass("dvrk")
@dataclass
class DvrkConfig(RobotConfig):
    """Configuration of a dVRK.

    Attributes:
        connection: "ros2" (a dVRK or trocar serve ros2), or "process" (simulated here).
        arms: patient arms. scene: of a robot simulated here. domain, interface: of ROS 2.
        max_step, max_turn: largest distance [m] and angle [rad] of a commanded tip from the measured one.
        timeout: for the first messages of all topics [s].
        cameras: of lerobot, by name, such as the grabber of the endoscope.
    """

    connection: str = "ros2"
    arms: list[str] = field(default_factory=lambda: ["PSM1", "PSM2"])
    scene: str = "dvrk"
    domain: int | None = None
    interface: str = "lo"
    max_step: float = 0.01
    max_turn: float = 0.2
    timeout: float = 5.0
    cameras: dict[str, CameraConfig] = field(default_factory=dict)
