"""A robot that runs in ROS 1, simulated or real, as a bus: for the conformance checks and for scripts."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any, Self

from trocar.crtk.interface import Direction, Topic
from trocar.crtk.messages import Message
from trocar.errors import TrocarError, check_known
from trocar.ros import client_node
from trocar.ros.devices import BY_TYPE, devices, listed
from trocar.ros.packages import cache
from trocar.ros.protocol import LOOPBACK, START, Answer, Call, Command, Failed, Found, Publish, Settings

FIRST = 0.5  # for the first message of a topic that was not read before [s]
PATIENCE = 10.0  # for the answer of a service [s]
ENDED = "the connection with ROS has ended"
REST = 0.001  # between two looks at a condition [s]


class _Subscription:
    def __init__(self, callbacks: list[Callable[[Message], None]], callback: Callable[[Message], None]) -> None:
        self._callbacks, self._callback = callbacks, callback

    def close(self) -> None:
        self._callbacks.remove(self._callback)


class Client:
    """Topics and services of the nodes of a ROS master, as they are when it connects.

    It has the methods of `trocar.crtk.Bus` that clients use, and sends nothing unless `publish` is called. Messages of
    types without a header are stamped by their arrival.

    Args:
        master: URI of the ROS master. address: IP address under which other nodes find this one.

    Attributes:
        topics: those of types that the dVRK's interface has, by name. services: types in ROS, by name.
        devices: kind of interface of every device found, such as {"PSM1": "PSM"}.
    """

    def __init__(self, master: str, *, address: str = LOOPBACK) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        settings = Settings(address, master, cache())
        self._process = context.Process(target=client_node.run, args=(other, settings), name="trocar-ros", daemon=True)
        self._process.start()
        other.close()
        self._reader: threading.Thread | None = None
        try:
            found: Any = self._pipe.recv() if self._pipe.poll(START) else Failed(f"no answer within {START:.0f} s")
        except EOFError:
            found = Failed("its process ended")
        if not isinstance(found, Found):
            self.close()
            raise TrocarError(f"the ROS client did not start: {found.reason}")
        self.topics: Mapping[str, Topic] = MappingProxyType(known_topics(found))
        self.services: Mapping[str, str] = found.services
        self.devices = devices(self.topics)
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._last: dict[str, Message] = {}
        self._simulated_time = found.simulated_time
        self._callbacks: dict[str, list[Callable[[Message], None]]] = {client_node.CLOCK: []}
        self._calls: dict[int, Future[Any]] = {}
        self._numbers = itertools.count()
        self._reader = threading.Thread(target=self._receive, daemon=True)
        self._reader.start()
        while self._simulated_time and not self.now and self._process.is_alive():
            time.sleep(REST)  # before /clock there is no time

    @property
    def bus(self) -> Client:
        return self

    def wait_for(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition holds; False after `timeout` by the robot's clock [s]."""
        deadline = self.now + round(timeout * 1e9)
        while not condition():
            if self.now >= deadline:
                return False
            if not self._process.is_alive():
                raise TrocarError(ENDED)
            time.sleep(REST)
        return True

    @property
    def now(self) -> int:
        """The robot's clock [ns]: that of /clock if there is one, otherwise this machine's."""
        if not self._simulated_time:
            return time.time_ns()
        last = self._last.get(client_node.CLOCK)
        return 0 if last is None else last.stamp

    def publish(self, name: str, message: Message) -> None:
        """Send a command."""
        check_known("topic", self.topics, name)
        self._send((self.topics[name], Command(name, message)))

    def read(self, name: str) -> Message | None:
        """The last message of a topic; None if there was none within half a second of the first reading."""
        self._listen(name)
        return self._last.get(name)

    def subscribe(self, name: str, callback: Callable[[Message], None]) -> _Subscription:
        """Call back with every message of a topic, beginning with the last one."""
        if not self._listen(name, callback):
            with self._lock:
                self._callbacks[name].append(callback)
                if name in self._last:
                    callback(self._last[name])
        return _Subscription(self._callbacks[name], callback)

    def call(self, service: str, *arguments: Any) -> Any:
        """Result of a service."""
        check_known("service", self.services, service)
        number, answer = next(self._numbers), Future[Any]()
        self._calls[number] = answer
        self._send(Call(number, service, arguments))
        try:
            said = answer.result(PATIENCE)
        except TimeoutError:
            raise TrocarError(f"the service {service} did not answer within {PATIENCE:g} s") from None
        finally:
            del self._calls[number]
        if said.error:
            raise TrocarError(f"the service {service} failed: {said.error}")
        return said.result

    def close(self) -> None:
        """End the client's node."""
        with contextlib.suppress(OSError):
            self._pipe.send(None)
        self._process.join(timeout=5.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        if self._reader is not None:  # ends with the process
            self._reader.join(timeout=5.0)
        self._pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _listen(self, name: str, *callbacks: Callable[[Message], None]) -> bool:
        """Open a topic, and give its first message time to come; False, and nothing done, if it is open already.

        Callbacks that are given here miss no message.
        """
        check_known("topic", self.topics, name)
        with self._lock:
            opened = name in self._callbacks
            self._callbacks.setdefault(name, list(callbacks))
        if not opened:
            self._send(self.topics[name])
            deadline = time.monotonic() + FIRST
            while name not in self._last and time.monotonic() < deadline:
                time.sleep(REST)
        return not opened

    def _send(self, said: Any) -> None:
        try:
            with self._sending:
                self._pipe.send(said)
        except OSError:
            raise TrocarError(ENDED) from None

    def _receive(self) -> None:
        while True:
            try:
                said = self._pipe.recv()
            except (EOFError, OSError):
                return
            if isinstance(said, Publish):
                for name, message in said.messages:
                    with self._lock:
                        self._last[name] = message
                        callbacks = tuple(self._callbacks[name])
                    for callback in callbacks:
                        callback(message)
            elif isinstance(said, Answer):
                waiting = self._calls.get(said.number)
                if waiting is not None:
                    waiting.set_result(said)


def known_topics(found: Found) -> dict[str, Topic]:
    """Topics as on a bus: with the direction that the table gives them, or the one seen where it has no such topic."""
    topics: dict[str, Topic] = {}
    for seen, direction in ((found.published, Direction.state), (found.subscribed, Direction.command)):
        for name, ros in seen.items():
            if ros not in BY_TYPE:
                continue
            known = listed(name, ros)
            right = known is not None and (known.direction is Direction.command) == (direction is Direction.command)
            if right and known is not None:
                topics[name] = Topic(name, known.message, known.direction, ros)
            elif name not in topics:
                topics[name] = Topic(name, BY_TYPE[ros].message, direction, ros)
    return topics
