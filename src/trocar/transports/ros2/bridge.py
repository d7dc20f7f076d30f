"""The dVRK's interface in ROS 2: the simulation's end of the cyclonedds node."""

from __future__ import annotations

import queue
import time
from collections.abc import Sequence
from typing import Any

from trocar.robot.interface import RATE
from trocar.robot.messages import OperatingState
from trocar.robot.robot import Robot
from trocar.transports.camera import CameraSettings
from trocar.transports.ros2 import process
from trocar.transports.ros2.domain import LOOPBACK, check_installed
from trocar.transports.ros2.template import Template
from trocar.transports.sampling import Stamped
from trocar.transports.topic_bridge import TopicBridge

DISTROS = ("jazzy", "humble")
REPEATED = 1.0  # interval of repeating operating_state, for readers that do not request the last one [s]


class Bridge(TopicBridge):
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
            robot, rate=rate, speed=speed, description=description, camera=camera, hold_when_lost=hold_when_lost
        )
        self._templates = {topic.name: Template(topic.ros) for topic in self.topics}
        self._states: dict[str, tuple[OperatingState, int]] = {}  # last sent operating states with their stamps
        self._repetition = time.perf_counter() + REPEATED
        settings = process.Settings(self.topics, self.services, domain, interface, distro, hold_when_lost, priority)
        self._open(process.run, settings)

    def _packed(self, messages: Sequence[Stamped]) -> tuple[tuple[str, bytes], ...]:
        """Bytes of messages; keeps operating states for repetition."""
        for name, message, stamp in messages:
            if isinstance(message, OperatingState):
                self._states[name] = message, stamp
        return tuple((name, self._templates[name].pack(message, stamp)) for name, message, stamp in messages)

    def _next(self) -> Any:
        try:
            return self._said.get(timeout=max(self._repetition - time.perf_counter(), 0.0))
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
