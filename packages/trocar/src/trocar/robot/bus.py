"""A bus for all devices: typed topics with time stamps and latching, and services.

A command goes to the device that serves the topic. An event is published when something happens; its last message is
kept for new subscribers, and its stamps strictly increase. A state topic has a source, a function that returns the
current sample: `read` calls it, and `publish_states` sends samples to subscribers at the topic's rate, so a topic
without subscribers costs nothing.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from trocar.errors import TrocarError, UnknownName, check_known, shown
from trocar.robot.interface import Direction, Interface, Topic
from trocar.robot.messages import Message

Callback = Callable[[Message], None]
MAX_HISTORY = 100  # messages kept per event, as on the dVRK for late subscribers in ROS 2
_log = logging.getLogger("trocar.robot")


@dataclass
class _Line:
    """State of one topic."""

    topic: Topic
    source: Callable[[], Message] | None = None
    local: bool = False
    handler: Callback | None = None
    last: Message | None = None
    history: deque[Message] = field(default_factory=lambda: deque(maxlen=MAX_HISTORY))
    subscribers: list[Callback] = field(default_factory=list)


class Subscription:
    """A callback on a topic, active until `close`."""

    def __init__(self, bus: Bus, topic: str, callback: Callback) -> None:
        self._bus, self.topic, self._callback = bus, topic, callback

    def close(self) -> None:
        """End the subscription."""
        self._bus.unsubscribe(self.topic, self._callback)


class Bus:
    """Topics and services of all devices of a robot. Thread-safe.

    Callbacks run in the publishing thread: for events and states, the one that advances the robot. They must be
    fast and cannot wait for the robot. A callback that raises is reported once per topic and type of exception, in the
    log and by `report`; the other callbacks and the robot continue.

    Args:
        now: the robot's clock [ns].

    Attributes:
        lock: held while the robot takes a step; hold it to read several topics at the same time.
        caller: identifier of the thread that takes a step or runs callbacks, in which nothing can wait for the robot.
        report: receives the text about a callback that raised.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.lock = threading.RLock()
        self._lines: dict[str, _Line] = {}
        self._services: dict[str, Callable[..., Any]] = {}
        self._local_services: set[str] = set()
        self._listened: tuple[_Line, ...] = ()
        self.caller: int | None = None
        self.report: Callable[[str], object] = lambda text: None
        self._reported: set[tuple[str, type[Exception]]] = set()

    def add(
        self,
        device: str,
        interface: Interface,
        *,
        states: Mapping[str, Callable[[], Message]] | None = None,
        commands: Mapping[str, Callback] | None = None,
        services: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        """Add a device to the bus; it must serve every state, command and service of its interface.

        Args:
            device: prefix of its topics. states: sources by topic. commands: handlers by topic. services: handlers by
                name.
        """
        states, commands, services = states or {}, commands or {}, services or {}
        table = {direction: {t.name for t in interface.topics if t.direction is direction} for direction in Direction}
        for what, served, needed in (
            ("states", set(states), table[Direction.state]),
            ("commands", set(commands), table[Direction.command]),
            ("services", set(services), {service.name for service in interface.services}),
        ):
            if served != needed:
                raise TrocarError(
                    f"{device} must serve exactly the {what} of its interface; they differ by {served ^ needed}"
                )
        with self.lock:
            for topic in interface.topics:
                name = f"{device}/{topic.name}"
                source = states.get(topic.name)
                line = self._lines[name] = _Line(replace(topic, name=name), source, interface.local)
                if topic.direction is Direction.command:
                    line.handler = commands[topic.name]
            self._services |= {f"{device}/{name}": function for name, function in services.items()}
            if interface.local:
                self._local_services |= {f"{device}/{name}" for name in services}

    @property
    def topics(self) -> Mapping[str, Topic]:
        """Every topic of the dVRK's interface by its full name; topics of local devices are not listed."""
        return MappingProxyType({name: line.topic for name, line in self._lines.items() if not line.local})

    @property
    def services(self) -> tuple[str, ...]:
        """Full names of the services of the dVRK's interface."""
        return tuple(name for name in self._services if name not in self._local_services)

    def publish(self, name: str, message: Message) -> Message:
        """Send a message, and return it as sent.

        The stamp of an event is later than that of the last one and later than now: a client that reads the clock,
        sends a command and waits for a newer event must not miss the one that its command causes.
        """
        line = self._line(name)
        if not isinstance(message, line.topic.message):
            raise TrocarError(f"{name} takes a {line.topic.message.__name__}, got {shown(message)}")
        with self.lock:
            if line.topic.direction is Direction.event:
                last = 0 if line.last is None else line.last.stamp
                message = replace(message, stamp=max(self._now(), last) + 1)
                line.last = message
                line.history.append(message)
            if line.handler is not None:
                line.handler(message)
            self._deliver(line, message, line.subscribers)
        return message

    def read(self, name: str) -> Message | None:
        """The current sample of a state topic or the last message of an event; None before the first."""
        line = self._line(name)
        with self.lock:
            return line.last if line.source is None else line.source()

    def history(self, name: str) -> tuple[Message, ...]:
        """The last messages of an event, at most 100, oldest first."""
        with self.lock:
            return tuple(self._line(name).history)

    def subscribe(self, name: str, callback: Callback) -> Subscription:
        """Call a function with every message of a state or event, starting with the current or last one."""
        line = self._line(name)
        if not callable(callback):
            raise TrocarError(f"callback of {name} must be a function of one message, got {shown(callback)}")
        with self.lock:
            line.subscribers.append(callback)
            self._find_listened()
            first = self.read(name)
            if first is not None:
                self._deliver(line, first, (callback,))
        return Subscription(self, name, callback)

    def unsubscribe(self, name: str, callback: Callback) -> None:
        """End a subscription."""
        line = self._line(name)
        line.subscribers.remove(callback)  # atomic; finalizers of clients must not wait for the lock
        if line.source is not None:
            with self.lock:
                self._find_listened()

    def call(self, service: str, *arguments: Any, **named: Any) -> Any:
        """Result of a service."""
        check_known("service", self._services, service)
        return self._services[service](*arguments, **named)

    def publish_states(self) -> None:
        """Send the current sample of every state topic that has subscribers."""
        for line in self._listened:
            assert line.source is not None
            self._deliver(line, line.source(), line.subscribers)

    def _deliver(self, line: _Line, message: Message, callbacks: Sequence[Callback]) -> None:
        outer, self.caller = self.caller, threading.get_ident()
        try:
            for callback in tuple(callbacks):
                try:
                    callback(message)
                except Exception as error:
                    self._report_failure(line.topic.name, callback, error)
        finally:
            self.caller = outer

    def _report_failure(self, topic: str, callback: Callback, error: Exception) -> None:
        """Report an exception in a callback, once per topic and type: a callback may fail 100 times a second."""
        kind = topic, type(error)
        if kind in self._reported:
            return
        self._reported.add(kind)
        reason = str(error) if isinstance(error, TrocarError) else shown(error)
        text = f"a callback on {topic} failed: {reason}. The robot continues; further failures of this kind are hidden"
        _log.error("%s: %s", shown(callback), text, exc_info=error)
        self.report(text)

    def _find_listened(self) -> None:
        lines = self._lines.values()
        self._listened = tuple(line for line in lines if line.source is not None and line.subscribers)

    def _line(self, name: str) -> _Line:
        try:
            return self._lines[name]
        except (KeyError, TypeError):  # TypeError: not a string
            raise UnknownName("topic", name, self._lines) from None
