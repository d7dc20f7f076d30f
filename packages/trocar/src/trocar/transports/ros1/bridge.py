"""The dVRK's interface in ROS 1: the simulation's end of the rospy node."""

from __future__ import annotations

from typing import Any, Unpack

from trocar.robot.robot import Robot
from trocar.transports.link import LOOPBACK, OWN_MASTER
from trocar.transports.topic_bridge import BridgeOptions, TopicBridge

SWITCH = 5e-4  # thread switch interval of the node; Python's default of 5 ms is longer than a period of 250 Hz [s]


class Ros1Bridge(TopicBridge):
    """The topics and services of a robot in ROS 1, until `close`.

    Args:
        address: IP address announced to other nodes. A loopback address keeps other machines out.
        master: URI of the ROS master; "" starts one on a free port, "usual" on port 11311 if that is free. It ends
            with the bridge.
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
        node = "trocar.transports.ros1.node.Ros1Node"
        self.master = self._open(node, SWITCH, address=address, master=master, parameters=parameters).master
