"""Processes of ROS nodes, the pipes to them and the values that they exchange, for ROS 1 and ROS 2 alike."""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import math
import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from trocar.errors import TrocarError
from trocar.interrupts import deaf_processes
from trocar.robot.interface import Topic
from trocar.robot.messages import Message
from trocar.transports.priority import urgent_process

LOOPBACK = "127.0.0.1"
OWN_MASTER = ""
USUAL_MASTER = "usual"  # start a master on port 11311, or on a free one if that is taken
TIMEOUT = 10.0  # of the answer to a call [s]
MAX_TEXT = 500  # characters of the reason for a refusal
START_TIMEOUT = 60.0  # of the process of a node [s]
END_TIMEOUT = 5.0  # after which a process is killed [s]
# Size of a value from a node to the simulation. `Connection` writes up to 16 KiB at once, so the control loop, which
# reads the pipe, never waits for the rest of a value.
MAX_BYTES = 2**14


# -- values from a node ------------------------------------------------------------------------------------------------


class Ready(NamedTuple):
    """All topics and services are offered, with real-time priority or without. master: URI; "" in ROS 2."""

    prioritised: bool
    master: str = ""


class SystemState(NamedTuple):
    """ROS types of topics and services of other nodes by name. simulated_time: time follows the topic /clock."""

    published: Mapping[str, str]
    subscribed: Mapping[str, str]
    services: Mapping[str, str]
    simulated_time: bool = False


class NodeFailed(NamedTuple):
    """The process ends for this reason."""

    reason: str


class Readers(NamedTuple):
    """A state topic has a new reader, which needs the current sample (`some`), or has lost its last one."""

    topic: str
    some: bool


class CommandBatch(NamedTuple):
    """Messages by topic, oldest first."""

    messages: tuple[tuple[str, Message], ...]


class RefusedMessage(NamedTuple):
    """A message to a topic has invalid content."""

    topic: str
    reason: str


class Lost(NamedTuple):
    """The last client that sent commands to a topic has disconnected."""

    topic: str


class Call(NamedTuple):
    number: int
    service: str
    arguments: tuple[Any, ...]


# -- values to a node; None ends its process ---------------------------------------------------------------------------


class Publish(NamedTuple):
    """Messages by topic: bytes for a node, bus messages for a client."""

    messages: tuple[tuple[str, Any], ...]


class Answer(NamedTuple):
    """Result of a call; error: reason for a missing result, or ""."""

    number: int
    result: Any
    error: str = ""


# -- pipes and processes -----------------------------------------------------------------------------------------------


def send(pipe: Connection, value: Any) -> None:
    """Send a value, several times faster than `Connection.send`."""
    pipe.send_bytes(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))


def receive(pipe: Connection) -> Any:
    """The next value; also one from `Connection.send`."""
    return pickle.loads(pipe.recv_bytes())


def received(pipe: Connection) -> Iterator[Any]:
    """Values from a pipe until None arrives or the other process ends."""
    with contextlib.suppress(EOFError, OSError):
        while (value := receive(pipe)) is not None:
            yield value


class ConnectedProcess:
    """A spawned process with a pipe to it, until `close`. Its function gets the other end of `pipe` first."""

    def __init__(self, target: Callable[..., None], *arguments: Any, name: str = "trocar-ros") -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self._process = context.Process(target=target, args=(other, *arguments), name=name, daemon=True)
        with deaf_processes():
            self._process.start()
        other.close()

    def first_value(self, kind: type, what: str) -> Any:
        """The first value of the process; closes it and raises an error if it is not of a class."""
        try:
            ready = self.pipe.poll(START_TIMEOUT)
            value = receive(self.pipe) if ready else NodeFailed(f"no answer within {START_TIMEOUT:.0f} s")
        except EOFError:
            value = NodeFailed("its process ended")
        if not isinstance(value, kind):
            self.close()
            raise TrocarError(f"{what} did not start: {value.reason}")
        return value

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def join(self) -> None:
        """Wait for the end of the process, or kill it after five seconds."""
        self._process.join(END_TIMEOUT)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def close(self) -> None:
        self.join()
        self.pipe.close()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self.close()


def announced_order(topics: Iterable[Topic]) -> list[Topic]:
    """Order in which a node offers topics: operating states last.

    A client that waits for the state of an arm expects everything else to be there.
    """
    return sorted(topics, key=lambda topic: topic.name.endswith("operating_state"))


def run_node(
    pipe: Connection, node: str, options: Mapping[str, Any], switch_interval: float = 5e-3, priority: bool = False
) -> None:
    """Main function of the process of a node, which imports its library only here.

    Args:
        node: class of the node with its module. options: its arguments after the pipe and `prioritised`.
        switch_interval: of the threads of the process [s]. priority: ask for real-time priority.
    """
    sys.setswitchinterval(switch_interval)
    prioritised = priority and urgent_process().granted  # before the library starts its threads
    try:
        module, _, name = node.rpartition(".")
        getattr(importlib.import_module(module), name)(pipe, prioritised, **options).serve()
    except Exception as error:
        with contextlib.suppress(OSError):
            send(pipe, NodeFailed(str(error) or type(error).__name__))
    os._exit(0)  # threads of rospy and of a master do not all end


class TooLong(TrocarError):
    """A value is too long to be sent."""


class ProcessLink:
    """Values to the other process from any thread, calls that wait for their answer, and messages from there.

    Args:
        max_bytes: size of a value to send. Default: unlimited.

    Attributes:
        closed: the other process has ended. sending: lock that senders hold.
    """

    def __init__(self, pipe: Connection, max_bytes: float = math.inf) -> None:
        self._pipe, self.sending, self._max_bytes = pipe, threading.Lock(), max_bytes
        self._numbers, self._calls = itertools.count(), dict[int, Future[Answer]]()
        self.closed = False

    def send(self, value: Any) -> None:
        """Send a value; sets `closed` if the other end is closed. TooLong: nothing was sent."""
        frame = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if len(frame) > self._max_bytes:
            raise TooLong(f"it takes {len(frame)} bytes, more than {self._max_bytes}")
        try:
            with self.sending:
                self._pipe.send_bytes(frame)
        except OSError:
            self.closed = True

    def command(self, messages: Sequence[tuple[str, Message]]) -> None:
        """Send messages to topics, in one value if it is not too long; one that is too long itself is refused."""
        try:
            self.send(CommandBatch(tuple(messages)))
        except TooLong as error:
            if len(messages) == 1:
                self.refuse(messages[0][0], f"the message is too long: {error}")
            else:
                for message in messages:
                    self.command((message,))

    def refuse(self, topic: str, reason: object) -> None:
        """Report a message with invalid content."""
        self.send(RefusedMessage(topic, str(reason)[:MAX_TEXT]))

    def call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        """Result of a service that the other process calls.

        Raises:
            TrocarError: the service rejects the call. TimeoutError: it does not answer.
        """
        number, call = next(self._numbers), Future[Answer]()
        self._calls[number] = call
        try:
            self.send(Call(number, service, arguments))
            answer = call.result(TIMEOUT)
        finally:
            del self._calls[number]
        if answer.error:
            raise TrocarError(answer.error)
        return answer.result

    def values(self) -> Iterator[Any]:
        """Values from the other process until it ends; answers to calls are delivered meanwhile."""
        gc.freeze()  # a full collection of all endpoints would delay messages by milliseconds
        while not self.closed:
            value = self.receive()
            if value is not None:
                yield value

    def receive(self) -> Any:
        """The next value from the other process. None: it has ended, or an answer to a call was delivered."""
        value = next(received(self._pipe), None)
        if isinstance(value, Answer):
            call = self._calls.get(value.number)
            if call is not None:
                call.set_result(value)
            return None
        self.closed = value is None
        return value
