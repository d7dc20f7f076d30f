"""The dVRK's interface in ROS 1: the simulation's end of the rospy node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trocar.robot.interface import RATE
from trocar.robot.messages import Message
from trocar.robot.robot import Robot
from trocar.transports.camera import CameraSettings
from trocar.transports.protocol import LOOPBACK, OWN_MASTER, Settings
from trocar.transports.ros1 import node
from trocar.transports.ros1.packages import cache
from trocar.transports.sampling import Stamped
from trocar.transports.topic_bridge import TopicBridge


class Bridge(TopicBridge):
    """The topics and services of a robot in ROS 1, until `close`.

    Args:
        robot: robot in real time, or advanced by the caller. rate: rate of state topics by the robot's clock [Hz].
        address: IP address announced to other nodes. A loopback address keeps other machines out.
        master: URI of the ROS master; "" starts one on a free port, which ends with the bridge.
        description: URDF for the parameter robot_description; "" for none.
        speed: speed of the robot relative to real time. Other than 1: stamps follow the robot's clock, which is
            published as /clock, and the parameter use_sim_time is set. 1: stamps follow the wall clock.
        camera: publish images of an endoscope.
        hold_when_lost: an arm whose last command was an effort or a wrench holds its position when the client
            disconnects; otherwise it keeps the effort. An arm in position control always holds.
        priority: ask the system for real-time priority of the node's process. It shortens delays where every process
            has a processor; where they share one, the node starves its clients.

    Attributes:
        master: URI of the master in use.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        rate: float = RATE,
        address: str = LOOPBACK,
        master: str = OWN_MASTER,
        description: str = "",
        speed: float = 1.0,
        camera: CameraSettings | None = None,
        hold_when_lost: bool = False,
        priority: bool = False,
    ) -> None:
        super().__init__(robot, rate=rate, speed=speed, description="", camera=camera, hold_when_lost=hold_when_lost)
        parameters: dict[str, Any] = {"/robot_description": description} if description else {}
        parameters |= {"/use_sim_time": True} if self._simulated_time else {}
        settings = Settings(address, master, cache(), self.topics, self.services, parameters, priority)
        self.master = self._open(node.run, settings).master

    def _packed(self, messages: Sequence[Stamped]) -> tuple[tuple[str, Message], ...]:
        return tuple((name, replace(message, stamp=stamp)) for name, message, stamp in messages)
