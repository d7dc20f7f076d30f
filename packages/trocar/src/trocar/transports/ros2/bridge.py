"""The dVRK's interface in ROS 2: the simulation's end of the cyclonedds node."""

from __future__ import annotations

import queue
import time
from collections.abc import Sequence
from typing import Any, Unpack

from trocar.robot.messages import OperatingState
from trocar.robot.robot import Robot
from trocar.transports.ros2.domain import LOOPBACK, check_installed
from trocar.transports.sampling import Stamped
from trocar.transports.topic_bridge import BridgeOptions, TopicBridge

DISTROS = ("jazzy", "humble")
REPEATED = 1.0  # interval of repeating operating_state, for readers that do not request the last one [s]
SWITCH = 3e-4  # thread switch interval of the node; Python's default of 5 ms is five samples at 1000 Hz [s]


class Ros2Bridge(TopicBridge):
    """The topics and services of a robot in ROS 2, until `close`.

    Args:
        domain: ROS_DOMAIN_ID of the clients. interface: network interface, by name or IP address.
        distro: "jazzy" or "humble", as the node is announced; jazzy stands for all releases from Iron on.
        options: see `TopicBridge`.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        domain: int = 0,
        interface: str = LOOPBACK,
        distro: str = "jazzy",
        **options: Unpack[BridgeOptions],
    ) -> None:
        check_installed()
        super().__init__(robot, 2, **options)
        self._states: dict[str, tuple[OperatingState, int]] = {}  # last sent operating states with their stamps
        self._repetition = time.perf_counter() + REPEATED
        own: dict[str, Any] = {"domain": domain, "interface": interface, "distro": distro}
        node = "trocar.transports.ros2.node.Ros2Node"
        self._open(node, SWITCH, hold_when_lost=self._hold_when_lost, **own)

    def _encoded(self, messages: Sequence[Stamped]) -> tuple[tuple[str, bytes], ...]:
        """Bytes of messages; stores operating states for repetition."""
        for name, message, stamp in messages:
            if isinstance(message, OperatingState):
                self._states[name] = message, stamp
        return super()._encoded(messages)

    def _next(self) -> Any:
        try:
            return self._outgoing.get(timeout=max(self._repetition - time.perf_counter(), 0.0))
        except queue.Empty:
            self._repetition = time.perf_counter() + REPEATED
        # The operating states again, 1 ns later: new for a client, but not later than a command it has just sent.
        with self._bus.lock:
            later = {name: self._sampler.repeated(name, stamp) for name, (_, stamp) in self._states.items()}
        return [(name, self._states[name][0], stamp) for name, stamp in later.items() if stamp is not None]
