"""The robot."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from lerobot.robots import Robot

from lerobot_robot_dvrk.arm_topics import ArmTopics
from lerobot_robot_dvrk.config_dvrk import DvrkConfig


class Dvrk(Robot):
    """The patient arms of a dVRK."""

    config_class = DvrkConfig
    name = "dvrk"

    def __init__(self, config: DvrkConfig) -> None:
        super().__init__(config)
        self.config = config
        self.cameras: dict[str, Any] = {}  # lerobot-record asks for them
        self._robot: Any = None
        self._topics: ArmTopics | None = None

    @cached_property
    def observation_features(self) -> dict[str, type]:
        return dict.fromkeys(ArmTopics.observation_names(self.config.arms), float)

    @cached_property
    def action_features(self) -> dict[str, type]:
        return dict.fromkeys(ArmTopics.action_names(self.config.arms), float)

    @property
    def is_connected(self) -> bool:
        return self._topics is not None

    @property
    def is_calibrated(self) -> bool:
        return True  # the dVRK homes and calibrates itself

    def connect(self, calibrate: bool = True) -> None:
        if self.is_connected:
            raise RuntimeError("the dVRK is connected already")
        if self.config.connection == "process":
            from trocar.robot import Robot as SimulatedRobot

            self._robot = SimulatedRobot(self.config.scene)
            self._robot.play()
        elif self.config.connection == "ros2":
            from trocar.transports.remote_bus import connect_ros2

            self._robot = connect_ros2(self.config.domain, self.config.interface)
        else:
            raise ValueError(f"connection must be ros2 or process, got {self.config.connection!r}")
        self._topics = ArmTopics(self._robot.bus, self.config.arms, self.config.max_step)

    def calibrate(self) -> None:
        """Nothing: the dVRK homes and calibrates itself."""

    def configure(self) -> None:
        """Nothing: the dVRK's console configures its arms."""

    def get_observation(self) -> dict[str, Any]:
        return dict(self._connected().observation())

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        return dict(self._connected().send(action))

    def disconnect(self) -> None:
        self._connected()
        self._robot.close()
        self._robot = self._topics = None

    def _connected(self) -> ArmTopics:
        if self._topics is None:
            raise RuntimeError("the dVRK is not connected; call connect() first")
        return self._topics
