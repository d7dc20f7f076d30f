"""A robot that runs in ROS 1, simulated or real, as a bus: for the conformance checks and for scripts."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from trocar.errors import TrocarError, check_known
from trocar.robot.interface import Direction, Topic
from trocar.robot.messages import Message
from trocar.transports.devices import BY_TYPE, listed
from trocar.transports.link import ConnectedProcess, ProcessLink, run_node, send
from trocar.transports.protocol import LOOPBACK, TIMEOUT, Readers, SystemState
from trocar.transports.remote_bus import CLOCK, UNUSED, Callback, RemoteBus, RemoteSubscription, waited
from trocar.transports.ros1.bridge import Ros1Settings

FIRST_TIMEOUT = 0.5  # of the first message of a topic [s]


class Ros1Client(RemoteBus):
    """Topics and services of the nodes of a ROS master, as they are when it connects.

    It has the methods of `trocar.robot.Bus` that clients use, and sends nothing unless `publish` is called. Messages of
    types without a header are stamped by their arrival. Time is that of /clock if the parameter use_sim_time is set.

    Args:
        master: URI of the ROS master. address: IP address under which other nodes find this one.
    """

    def __init__(self, master: str, *, address: str = LOOPBACK) -> None:
        node = "trocar.transports.ros1.client_node.Ros1ClientNode"
        self._process = ConnectedProcess(run_node, Ros1Settings(node=node, address=address, master=master))
        self._reader: threading.Thread | None = None
        state = self._process.first_value(SystemState, "the ROS client")
        super().__init__(known_topics(state), state.services, state.simulated_time)
        self._link, self._lock = ProcessLink(self._process.pipe), threading.Lock()
        self._last: dict[str, Message] = {}
        self._callbacks: dict[str, list[Callback]] = {}  # of all open topics
        self._connected: dict[str, bool] = {}  # whether a node reads a topic, from the first command on
        self._used: dict[str, float] = {}  # when an open topic was last read [s]
        self._reader = threading.Thread(target=self._receive, daemon=True)
        self._reader.start()
        self._wait_for_clock()

    def _check_alive(self) -> None:
        if self._link.closed or not self._process.alive:
            raise TrocarError("the connection with ROS has ended")

    def publish(self, name: str, message: Message) -> None:
        """Send a command. The first one of a topic waits for its connection and is sent when it returns."""
        check_known("topic", self.topics, name)
        new = not self._connected.get(name)
        if new:
            self._connected.pop(name, None)
        self._send((self.topics[name], message))
        if new:
            waited(lambda: name in self._connected or self._link.closed, TIMEOUT)
            self._check_alive()
            if not self._connected.get(name):
                raise TrocarError(f"no node reads {name}")

    def read(self, name: str) -> Message | None:
        """The last message of a topic; None if there was none within half a second of the first reading."""
        self._listen(name)
        return self._last.get(name)

    def subscribe(self, name: str, callback: Callback) -> RemoteSubscription:
        """Call back with every message of a topic, starting with the last one."""
        if not self._listen(name, callback):
            with self._lock:
                self._callbacks[name].append(callback)
                if name in self._last:
                    callback(self._last[name])
        return RemoteSubscription(lambda: self._callbacks[name].remove(callback))

    def call(self, service: str, *arguments: Any) -> Any:
        """Result of a service."""
        check_known("service", self.services, service)
        try:
            return self._link.call(service, arguments)
        except TimeoutError:
            raise TrocarError(f"the service {service} did not answer within {TIMEOUT:g} s") from None
        except TrocarError as error:
            raise TrocarError(f"the service {service} failed: {error}") from None

    def close(self) -> None:
        """End the client's node."""
        with contextlib.suppress(OSError):
            send(self._process.pipe, None)
        self._process.join()
        if self._reader is not None:  # ends with the process
            self._reader.join(timeout=5.0)
        self._process.close()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _listen(self, name: str, *callbacks: Callback) -> bool:
        """Open a topic and wait for its first message; returns False without any action if it is open already.

        Callbacks that are given here miss no message.
        """
        check_known("topic", self.topics, name)
        with self._lock:
            self._used[name] = time.monotonic()
            opened = name in self._callbacks
            self._callbacks.setdefault(name, list(callbacks))
        if not opened:
            self._send(self.topics[name])
            waited(lambda: name in self._last, FIRST_TIMEOUT)
        return not opened

    def _send(self, value: Any) -> None:
        self._link.send(value)
        self._check_alive()

    def _receive(self) -> None:
        for value in self._link.values():
            if isinstance(value, Readers):
                self._connected[value.topic] = value.some
                continue
            for name, message in value.messages:
                if name == CLOCK:
                    self._clock = message.stamp
                    continue
                with self._lock:
                    if name not in self._callbacks:
                        continue  # just closed
                    self._last[name] = message
                    callbacks = tuple(self._callbacks[name])
                for callback in callbacks:
                    callback(message)
            self._close_unused()

    def _close_unused(self) -> None:
        """Close state topics that nobody reads."""
        now = time.monotonic()
        with self._lock:
            unused = [
                name
                for name, callbacks in self._callbacks.items()
                if not callbacks and now > self._used[name] + UNUSED and self.topics[name].direction is Direction.state
            ]
            for name in unused:
                del self._callbacks[name]
                self._last.pop(name, None)
                self._link.send(Readers(name, some=False))  # before the topic can be opened again


def known_topics(state: SystemState) -> dict[str, Topic]:
    """Topics as on a bus, with their direction in the table; that of unlisted topics follows from who has them."""
    topics: dict[str, Topic] = {}
    for types, direction in ((state.published, Direction.state), (state.subscribed, Direction.command)):
        for name, ros in types.items():
            if ros not in BY_TYPE:
                continue
            known = listed(name, ros)
            right = known is not None and (known.direction is Direction.command) == (direction is Direction.command)
            if right and known is not None:
                topics[name] = Topic(name, known.message, known.direction, ros)
            elif name not in topics:
                topics[name] = Topic(name, BY_TYPE[ros].message, direction, ros)
    return topics
