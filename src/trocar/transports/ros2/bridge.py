"""The dVRK's interface in ROS 2: the simulation's end of the cyclonedds node."""

from __future__ import annotations

import queue
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trocar.robot.interface import RATE
from trocar.robot.messages import OperatingState
from trocar.robot.robot import Robot
from trocar.transports.camera import CameraSettings
from trocar.transports.protocol import NodeSettings
from trocar.transports.ros2.domain import LOOPBACK, check_installed
from trocar.transports.sampling import Stamped
from trocar.transports.topic_bridge import TopicBridge

DISTROS = ("jazzy", "humble")
REPEATED = 1.0  # interval of repeating operating_state, for readers that do not request the last one [s]
SWITCH = 3e-4  # thread switch interval of the node; Python's default of 5 ms is five samples at 1000 Hz [s]


@dataclass(frozen=True, kw_only=True)
class Ros2Settings(NodeSettings):
    """Settings of the cyclonedds process; see `Ros2Bridge`."""

    domain: int
    interface: str
    distro: str
    hold_when_lost: bool


class Ros2Bridge(TopicBridge):
    """The topics and services of a robot in ROS 2, until `close`.

    Args:
        robot: robot in real time, or advanced by the caller. rate: rate of state topics by the robot's clock [Hz].
        domain: ROS_DOMAIN_ID of the clients. interface: network interface, by name or IP address.
        distro: "jazzy" or "humble", as the node is announced; jazzy stands for all releases from Iron on.
        description: URDF for the topic robot_description; "" for none.
        speed: speed of the robot relative to real time. Other than 1: stamps follow the robot's clock, which is
            published as /clock. 1: stamps follow the wall clock.
        camera: publish images of an endoscope.
        hold_when_lost: an arm whose last command was an effort or a wrench holds its position when the client
            disconnects; otherwise it keeps the effort. An arm in position control always holds.
        priority: ask the system for real-time priority of the node's process. It shortens delays where every process
            has a processor; where they share one, the node starves its clients.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        rate: float = RATE,
        domain: int = 0,
        interface: str = LOOPBACK,
        distro: str = "jazzy",
        description: str = "",
        speed: float = 1.0,
        camera: CameraSettings | None = None,
        hold_when_lost: bool = False,
        priority: bool = False,
    ) -> None:
        check_installed()
        super().__init__(
            robot, 2, rate=rate, speed=speed, description=description, camera=camera, hold_when_lost=hold_when_lost
        )
        self._states: dict[str, tuple[OperatingState, int]] = {}  # last sent operating states with their stamps
        self._repetition = time.perf_counter() + REPEATED
        settings = Ros2Settings(
            node="trocar.transports.ros2.node.Ros2Node",
            topics=self.topics,
            services=self.services,
            switch_interval=SWITCH,
            priority=priority,
            domain=domain,
            interface=interface,
            distro=distro,
            hold_when_lost=hold_when_lost,
        )
        self._open(settings)

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
            return self._repetitions()

    def _repetitions(self) -> list[Stamped]:
        """The operating states again, 1 ns later: new for a client, but not later than a command it has just sent."""
        repeated: list[Stamped] = []
        with self._bus.lock:
            for name, (message, stamp) in self._states.items():
                later = self._sampler.repeated(name, stamp)
                if later is not None:
                    repeated.append((name, message, later))
        return repeated
