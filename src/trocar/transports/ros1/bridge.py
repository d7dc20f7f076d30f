"""The dVRK's interface in ROS 1: the simulation's end of the rospy node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trocar.robot.interface import RATE
from trocar.robot.robot import Robot
from trocar.transports.camera import CameraSettings
from trocar.transports.protocol import LOOPBACK, OWN_MASTER, NodeSettings
from trocar.transports.topic_bridge import TopicBridge

SWITCH = 5e-4  # thread switch interval of the node; Python's default of 5 ms is longer than a period of 250 Hz [s]


@dataclass(frozen=True, kw_only=True)
class Ros1Settings(NodeSettings):
    """Settings of a rospy process.

    Attributes:
        address: IP address to announce; sockets are bound to it if it is a loopback one, to all interfaces otherwise.
        master: URI of the ROS master, or "" to start one on a free port.
        parameters: parameters of the ROS parameter server, set while the node runs.
    """

    address: str
    master: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


class Ros1Bridge(TopicBridge):
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
        super().__init__(robot, 1, rate=rate, speed=speed, description="", camera=camera, hold_when_lost=hold_when_lost)
        parameters: dict[str, Any] = {"/robot_description": description} if description else {}
        parameters |= {"/use_sim_time": True} if self._simulated_time else {}
        settings = Ros1Settings(
            node="trocar.transports.ros1.node.Ros1Node",
            topics=self.topics,
            services=self.services,
            switch_interval=SWITCH,
            priority=priority,
            address=address,
            master=master,
            parameters=parameters,
        )
        self.master = self._open(settings).master
