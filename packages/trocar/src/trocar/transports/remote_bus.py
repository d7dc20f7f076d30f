"""A robot in ROS, simulated or real, with the interface of a bus and its devices: the part that ROS 1 and 2 share."""

from __future__ import annotations

import math
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

from trocar.closing import Closable
from trocar.errors import check_known
from trocar.robot.interface import INTERFACES, Direction, Topic
from trocar.robot.messages import Empty, Message
from trocar.transports.link import SystemState
from trocar.transports.ros_messages import message_class

POLL_INTERVAL = 0.001  # between checks of a condition [s]
UNUSED = 3.0  # time after which a state topic that nobody reads is closed: robots send only what has readers [s]

CLOCK = "clock"
CLOCK_TOPIC = Topic(CLOCK, Empty, Direction.state, "rosgraph_msgs/Clock")

# Kinds of devices by a topic that only they have, and kinds that have the same with more; the first that fits counts.
KINDS = {
    "jaw/measured_js": "PSM",
    "gripper/measured_js": "MTM",
    "endoscope_type": "ECM",
    "trajectory_j/ratio": "ARM",
    "set_reference_arm": "SUJ",
    "power_on": "SYSTEM",
    "teleop/enable": "CONSOLE",
    "coag": "FOOT_PEDALS",
    "alignment_offset": "TELEOP_PSM",
    "local/measured_cp": "SUJ_ARM",
}
# Topics of the table by type in ROS, and by name and type.
BY_TYPE = {t.ros: t for interface in INTERFACES.values() for t in interface.topics}
_BY_NAME = {(t.name, t.ros): t for interface in INTERFACES.values() for t in interface.topics}

Callback = Callable[[Message], None]


@dataclass(frozen=True)
class RemoteSubscription:
    """A callback on a topic, until `close`."""

    close: Callable[[], object]


class OpenTopic:
    """An open topic: its last message, and callbacks for all messages.

    Attributes:
        changed: time of its opening or of its last message [s]. used: when it was last read [s].
        stamped: messages carry a stamp; others are stamped by their arrival.
    """

    def __init__(self, topic: Topic, *callbacks: Callback) -> None:
        self.topic, self.callbacks = topic, list(callbacks)
        attributes = {field.attribute for field in message_class(topic.ros)._table}
        self.stamped = not attributes.isdisjoint({"header", "stamp"})
        self.last: Message | None = None
        self.changed = self.used = time.monotonic()


class RemoteBus(Closable):
    """Topics and services of a ROS system as they are when the client connects.

    It has the methods of `trocar.robot.Bus` that clients use, and sends nothing unless `publish` is called. A topic is
    opened when it is first read; state topics that are not read for three seconds and have no subscriber are closed.
    Messages of types without a stamp are stamped by their arrival.

    Attributes:
        topics: those of types that the dVRK's interface has, by name. services: types in ROS, by name.
        devices: kind of interface of every device found, such as {"PSM1": "PSM"}.
        first_timeout: of the first message of a topic [s].
    """

    first_timeout: ClassVar[float]

    def __init__(self, state: SystemState, latched: Collection[str] | None = None) -> None:
        topics = topics_of_nodes(state.published, state.subscribed, latched)
        self.topics: Mapping[str, Topic] = MappingProxyType(topics)
        self.services, self.devices = state.services, devices(topics)
        self._simulated_time = state.simulated_time
        self._clock = 0  # last time of /clock [ns]
        self._lock = threading.RLock()
        self._opened: dict[str, OpenTopic] = {}

    @property
    def bus(self) -> Self:
        return self

    @property
    def now(self) -> int:
        """The robot's clock [ns]: that of /clock if there is one, otherwise this machine's."""
        return self._clock if self._simulated_time else time.time_ns()

    def wait_for(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition holds; False after `timeout` by the robot's clock [s].

        Raises:
            TrocarError: the connection has ended.
        """
        return waited(condition, timeout, lambda: 1e-9 * self.now, self.check_running)

    def _set_time(self, message: Message) -> None:
        self._clock = message.stamp

    def _wait_for_clock(self) -> None:
        """Wait for the first message of /clock; `now` is undefined until then."""
        waited(lambda: self._clock > 0 or not self._simulated_time, math.inf, check=self.check_running)

    def read(self, name: str) -> Message | None:
        """The last message of a topic; None if none arrives within a time of the first read: ROS 1 0.5 s, ROS 2 2 s."""
        return self._line(name).last

    def subscribe(self, name: str, callback: Callback) -> RemoteSubscription:
        """Call back with every message of a topic, starting with the last one."""
        check_known("topic", self.topics, name)
        with self._lock:
            new = name not in self._opened
            if new:
                self._opened[name] = self._open(self.topics[name], callback)  # misses no message
        line = self._line(name)
        if not new:
            with self._lock:
                line.callbacks.append(callback)
                if line.last is not None:
                    callback(line.last)
        return RemoteSubscription(lambda: line.callbacks.remove(callback))

    def _line(self, name: str) -> OpenTopic:
        """An open topic, once it has its first message."""
        check_known("topic", self.topics, name)
        with self._lock:
            for each in () if name in self._opened else self._opened_with(name):
                self._opened[each] = self._open(self.topics[each])
            line = self._opened[name]
        line.used = time.monotonic()
        self._wait_for_first(line)
        return line

    def _deliver(self, line: OpenTopic, message: Message) -> None:
        with self._lock:
            if not line.stamped:
                message = replace(message, stamp=max(self.now, line.last.stamp + 1 if line.last else 0))
            line.last, line.changed = message, time.monotonic()
            callbacks = tuple(line.callbacks)
        for callback in callbacks:
            callback(message)

    def _close_unused(self) -> None:
        with self._lock:
            for name, line in tuple(self._opened.items()):
                unused = time.monotonic() > line.used + UNUSED and not line.callbacks
                if unused and line.topic.direction is Direction.state:
                    del self._opened[name]
                    self._close(line)

    def _opened_with(self, name: str) -> list[str]:
        return [name]

    def _wait_for_first(self, line: OpenTopic) -> None:
        waited(lambda: line.last is not None, line.changed + self.first_timeout - time.monotonic())

    # -- subclasses ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def publish(self, name: str, message: Message) -> None: ...
    @abstractmethod
    def call(self, service: str, *arguments: Any) -> Any: ...
    @abstractmethod
    def close(self) -> None: ...
    @abstractmethod
    def check_running(self) -> None: ...
    @abstractmethod
    def _open(self, topic: Topic, *callbacks: Callback) -> OpenTopic: ...
    @abstractmethod
    def _close(self, line: OpenTopic) -> None: ...


def _listed(name: str, ros: str) -> Topic | None:
    """The topic of the table that a name ends in, below a device."""
    parts = name.split("/")
    endings = ("/".join(parts[k:]) for k in range(1, len(parts)))
    return next((_BY_NAME[ending, ros] for ending in endings if (ending, ros) in _BY_NAME), None)


def topics_of_nodes(
    published: Mapping[str, str], subscribed: Mapping[str, str], latched: Collection[str] | None = None
) -> dict[str, Topic]:
    """Topics of other nodes as on a bus, of types that the table has.

    Clients publish commands and subscribe to states. Of a topic that is both published and subscribed, the table
    decides which end is the robot's.

    Args:
        published, subscribed: types in ROS by name. latched: names of events. Default: those of the table.
    """
    topics: dict[str, Topic] = {}
    for name, ros in {**subscribed, **published}.items():
        if ros not in BY_TYPE:
            continue
        known = _listed(name, ros)
        direction = known.direction if known is not None else Direction.state
        if name in subscribed and (name not in published or direction is Direction.command):
            direction = Direction.command
        else:
            event = direction is Direction.event if latched is None else name in latched
            direction = Direction.event if event else Direction.state
        topics[name] = replace(known or BY_TYPE[ros], name=name, direction=direction)
    return topics


def devices(topics: Collection[str]) -> dict[str, str]:
    """Kind of interface of every device among topics."""
    kinds: dict[str, str] = {}
    for own, kind in KINDS.items():
        for device in [name.removesuffix(f"/{own}") for name in topics if name.endswith(f"/{own}")]:
            if device:
                kinds.setdefault(device, kind)
    return kinds


def waited(
    condition: Callable[[], bool],
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    check: Callable[[], None] = lambda: None,
) -> bool:
    """Wait until a condition holds, with a check after every look; False after a time by a clock [s]."""
    deadline = clock() + seconds
    while not condition():
        if clock() >= deadline:
            return False
        check()
        time.sleep(POLL_INTERVAL)
    return True


def connect_ros1(master: str) -> RemoteBus:
    """The robot of a ROS master, by its URI."""
    from trocar.transports.ros1.client import Ros1Client

    return Ros1Client(master)


def connect_ros2(domain: int | None, interface: str) -> RemoteBus:
    """The robot of a ROS domain on a network interface; default of the domain: ROS_DOMAIN_ID, otherwise 0."""
    from trocar.transports.ros2.domain import check_installed, chosen_domain

    check_installed()
    from trocar.transports.ros2.client import Ros2Client

    return Ros2Client(chosen_domain(domain), interface)
