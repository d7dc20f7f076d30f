"""Configuration of the robot."""

from __future__ import annotations

from dataclasses import dataclass, field

from lerobot.robots import RobotConfig


@RobotConfig.register_subclass("dvrk")
@dataclass
class DvrkConfig(RobotConfig):
    """Configuration of a dVRK.

    Attributes:
        connection: "ros2" (a dVRK or trocar serve --ros2), or "process" (simulated here).
        arms: patient arms. scene: of a robot simulated here. domain, interface: of ROS 2.
        max_step: largest distance of a commanded tip from the measured one [m].
        timeout: for the first message of every topic [s].
    """

    connection: str = "ros2"
    arms: list[str] = field(default_factory=lambda: ["PSM1", "PSM2"])
    scene: str = "dvrk"
    domain: int | None = None
    interface: str = "lo"
    max_step: float = 0.01
    timeout: float = 5.0
