"""Topics and services with ROS messages: those of the robot's bus and those created by the script.

Topics of the robot are also reached by their names in release 1, and with other message types of the same content.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.robot.interface import Direction
from trocar.scripts import PACKAGES, RELEASE_1
from trocar.scripts.session import Session
from trocar.transports.ros_conversion import answer, from_ros, to_ros
from trocar.transports.ros_messages import MESSAGES

MAX_QUEUE = 1000  # messages queued for a callback; older ones are dropped
_STATE, _TEXT = "crtk_msgs/OperatingState", "std_msgs/String"
_NO_CONTENT = ("header", "child_frame_id")


def resolved(name: str, namespace: str = "") -> str:
    """The absolute name of a topic without the leading slash: `/PSM1/a` is PSM1/a, `a` is in the namespace."""
    parts = [] if name.startswith("/") else namespace.split("/")
    return present_name("/".join(part for part in [*parts, *name.split("/")] if part))


class QueuedCallback:
    """A callback of the script on one topic; messages are queued until the script waits."""

    def __init__(self, session: Session, callback: Callable[[Any], None], max_queue: int | None = None) -> None:
        self._session, self._callback = session, callback
        self._waiting: deque[Any] = deque(maxlen=max_queue or MAX_QUEUE)
        self.closed = False

    def receive(self, message: Any) -> None:
        full = len(self._waiting) == self._waiting.maxlen
        self._waiting.append(message)
        if not full:  # a full queue has dropped a message, which this one replaces
            self._session.post(self._next)

    def _next(self) -> None:
        if self._waiting and not self.closed:
            self._callback(self._waiting.popleft())


@dataclass
class _OwnTopic:
    """A topic between parts of the script."""

    kind: Any
    listeners: list[QueuedCallback] = field(default_factory=list)
    publishers: int = 0
    latched: Any = None


class ScriptNode:
    """The node of a script: its name and parameters, and all topics and services that it can reach."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.name = ""
        self.parameters: dict[str, Any] = {}
        self._own: dict[str, _OwnTopic] = {}
        self._own_services: dict[str, Callable[[Any], Any]] = {}

    def published(self) -> list[list[str]]:
        """Names and ROS types of the robot's published topics."""
        return [[f"/{name}", topic.ros] for name, topic in self._session.bus.topics.items() if not _takes(topic)]

    def serves(self, name: str) -> bool:
        return name in self._session.bus.topics

    def publishers(self, name: str) -> int:
        if self.serves(name):
            return int(not _takes(self._session.bus.topics[name]))
        return self._own[name].publishers if name in self._own else 0

    def subscribers(self, name: str) -> int:
        if self.serves(name):
            return int(_takes(self._session.bus.topics[name]))
        return len(self._own[name].listeners) if name in self._own else 0

    def advertise(self, name: str, kind: Any) -> None:
        """Announce that the script publishes on a topic; a topic of the robot must have its type."""
        if self.serves(name):
            self._check_type(name, kind)
        else:
            self._topic(name, kind).publishers += 1

    def publish(self, name: str, message: Any, latch: bool = False) -> None:
        if self.serves(name):
            topic = self._session.bus.topics[name]
            if _takes(topic):
                present = converted(message, topic.ros)
                self._session.bus.publish(name, from_ros(present, topic.ros, topic.message))
            return
        own = self._topic(name, type(message))
        own.latched = copy.deepcopy(message) if latch else None
        for listener in own.listeners:
            listener.receive(copy.deepcopy(message))

    def subscribe(self, name: str, kind: Any, listener: QueuedCallback) -> Callable[[], None]:
        """Connect a listener to a topic; returns a function that disconnects it."""
        if self.serves(name):
            self._check_type(name, kind)
            topic = self._session.bus.topics[name]
            if _takes(topic):
                return lambda: None  # only the robot listens there

            def pass_on(message: m.Message) -> None:
                listener.receive(converted(to_ros(message, topic.ros), kind._type))

            return self._session.bus.subscribe(name, pass_on).close
        own = self._topic(name, kind)
        own.listeners.append(listener)
        if own.latched is not None:
            listener.receive(copy.deepcopy(own.latched))
        return lambda: own.listeners.remove(listener)

    def _topic(self, name: str, kind: Any) -> _OwnTopic:
        return self._own.setdefault(name, _OwnTopic(kind))

    def _check_type(self, name: str, kind: Any) -> None:
        robots, scripts = self._session.bus.topics[name].ros, getattr(kind, "_type", repr(kind))
        if not convertible(scripts, robots):
            raise TrocarError(f"/{name} has the type {robots}, but the script uses {scripts}")

    # -- services ------------------------------------------------------------------------------------------------------

    def has_service(self, name: str) -> bool:
        return name in self._own_services or name in self._session.bus.services

    def offer(self, name: str, handler: Callable[[Any], Any]) -> None:
        self._own_services[name] = handler

    def call(self, name: str, kind: Any, request: Any) -> Any:
        if name in self._own_services:
            return self._own_services[name](request)
        if name not in self._session.bus.services:
            raise TrocarError(f"there is no service /{name}")
        return answer(lambda *arguments: self._session.bus.call(name, *arguments), kind._type, request)


def _takes(topic: Any) -> bool:
    """True if the robot listens on a topic."""
    return topic.direction is Direction.command


# -- other types and names ---------------------------------------------------------------------------------------------


def present_name(name: str) -> str:
    """The current name of a topic: dvrk/PSM1/state_joint_current is PSM1/measured_js."""
    if not name.startswith("dvrk/"):
        return name
    device, _, topic = name.removeprefix("dvrk/").partition("/")
    return f"{device}/{RELEASE_1['topics'].get(topic, topic)}"


def convertible(a: str, b: str) -> bool:
    """True if messages of two types can be converted in either direction."""
    return a == b or {a, b} == {_STATE, _TEXT} or any({a, b} <= {*form} for form in PACKAGES["messages"]["forms"])


def converted(message: Any, kind: str) -> Any:
    """A message converted to another type with the same content; a missing stamp is 0."""
    if message._type == kind:
        return message
    target: Any = MESSAGES[kind]()
    if (message._type, kind) == (_STATE, _TEXT):
        target.data = first_state(message.state, message.is_homed)
        return target
    if hasattr(target, "header") and hasattr(message, "header"):
        target.header = message.header
    for (source, name), (part, other) in zip(_fields(message), _fields(target), strict=True):
        value = getattr(source, name)
        setattr(part, other, RELEASE_1["state_commands"].get(value, value) if isinstance(value, str) else value)
    return target


def first_state(state: str, homed: bool) -> str:
    """State of an arm in the words of release 1: READY when enabled and homed, UNINITIALIZED when switched off."""
    if state == "ENABLED" and homed:
        return "READY"
    return "UNINITIALIZED" if state == "DISABLED" else state


def _fields(message: Any) -> Iterator[tuple[Any, str]]:
    """Parts of a message and names of their plain fields, in order."""
    for name in message.__slots__:
        if name not in _NO_CONTENT:
            value = getattr(message, name)
            yield from _fields(value) if hasattr(value, "_type") else [(message, name)]
