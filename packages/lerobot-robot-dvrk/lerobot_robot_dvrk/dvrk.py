"""The robot."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property
from typing import Any

from lerobot.cameras.utils import make_cameras_from_configs
from lerobot.robots import Robot

from lerobot_robot_dvrk.arm_topics import ArmTopics, connected
from lerobot_robot_dvrk.config_dvrk import DvrkConfig


class Dvrk(Robot):
    """The patient arms of a dVRK."""

    config_class = DvrkConfig
    name = "dvrk"

    def __init__(self, config: DvrkConfig) -> None:
        super().__init__(config)
        self.config = config
        self.cameras: dict[str, Any] = make_cameras_from_configs(config.cameras)
        self._topics: ArmTopics | None = None

    @cached_property
    def observation_features(self) -> dict[str, Any]:
        cameras = {name: (camera.height, camera.width, 3) for name, camera in self.config.cameras.items()}
        return dict.fromkeys(ArmTopics.observation_names(self.config.arms), float) | cameras

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

            robot: Any = SimulatedRobot(self.config.scene, speed="real", start="ready")
        elif self.config.connection == "ros2":
            robot = connected(self.config)
        else:
            raise ValueError(f"connection must be ros2 or process, got {self.config.connection!r}")
        with ExitStack() as opened:  # ended again if a part of the robot cannot be connected
            opened.callback(robot.close)
            topics = ArmTopics(robot.bus, self.config.arms, self.config.max_step, self.config.max_turn)
            topics.wait(self.config.timeout)
            for camera in self.cameras.values():
                camera.connect()
                opened.callback(camera.disconnect)
            self._opened = opened.pop_all()
        self._topics = topics

    def calibrate(self) -> None:
        """Nothing: the dVRK homes and calibrates itself."""

    def configure(self) -> None:
        """Nothing: the dVRK's console configures its arms."""

    def get_observation(self) -> dict[str, Any]:
        pictures = {name: camera.async_read() for name, camera in self.cameras.items()}
        return self._connected().observation() | pictures

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        return dict(self._connected().send(action))

    def disconnect(self) -> None:
        self._connected()
        self._topics = None
        self._opened.close()

    def _connected(self) -> ArmTopics:
        if self._topics is None:
            raise RuntimeError("the dVRK is not connected; call connect() first")
        return self._topics
