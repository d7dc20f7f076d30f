"""The dVRK's interface in ROS 1: the simulation's end of the rospy node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Unpack

from trocar.robot.robot import Robot
from trocar.transports.link import LOOPBACK, OWN_MASTER, NodeSettings
from trocar.transports.topic_bridge import BridgeOptions, TopicBridge

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
        address: IP address announced to other nodes. A loopback address keeps other machines out.
        master: URI of the ROS master; "" starts one on a free port, which ends with the bridge.
        options: see `TopicBridge`. `description` is the parameter robot_description, not a topic. If `speed` is not 1,
            the parameter use_sim_time is set.

    Attributes:
        master: URI of the master in use.
    """

    def __init__(
        self, robot: Robot, *, address: str = LOOPBACK, master: str = OWN_MASTER, **options: Unpack[BridgeOptions]
    ) -> None:
        description = options.pop("description", "")
        super().__init__(robot, 1, **options)
        parameters: dict[str, Any] = {"/robot_description": description} if description else {}
        parameters |= {"/use_sim_time": True} if self._simulated_time else {}
        own: dict[str, Any] = {
            "address": address,
            "master": master,
            "parameters": parameters,
            "switch_interval": SWITCH,
        }
        settings = Ros1Settings(node="trocar.transports.ros1.node.Ros1Node", **own, **self._common)
        self.master = self._open(settings).master
