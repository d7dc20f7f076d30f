"""Values exchanged by the simulation, or a client, and the process of a ROS node, pickled into frames of a pipe."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from trocar.robot.interface import Service, Topic
from trocar.robot.messages import Message

LOOPBACK = "127.0.0.1"
OWN_MASTER = ""
START = 60.0  # longest start of the process of a node [s]
PATIENCE = 10.0  # longest wait for the answer to a call [s]


# Most bytes of a value from a node to the simulation. `Connection` writes up to 16 KiB at once, so the control loop,
# which reads the pipe, never waits for the rest of a value.
MOST_BYTES = 2**14
MOST_TEXT = 500  # most characters of the reason for a refusal


def packed(said: Any) -> bytes:
    """Bytes of a value."""
    return pickle.dumps(said, pickle.HIGHEST_PROTOCOL)


def send(pipe: Connection, said: Any) -> None:
    """Send a value, several times faster than `Connection.send`."""
    pipe.send_bytes(packed(said))


def receive(pipe: Connection) -> Any:
    """The next value; also one from `Connection.send`."""
    return pickle.loads(pipe.recv_bytes())


@dataclass(frozen=True)
class Settings:
    """Settings of a rospy process; a client has no topics and services.

    Attributes:
        address: IP address to announce; sockets are bound to it if it is a loopback one, to all interfaces otherwise.
        master: URI of the ROS master, or "" to start one on a free port.
        packages: folder for generated message packages.
        parameters: parameters of the ROS parameter server, set while the node runs.
        priority: ask for real-time priority.
    """

    address: str
    master: str
    packages: str
    topics: tuple[Topic, ...] = ()
    services: tuple[Service, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    priority: bool = False


# -- from a node -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ready:
    """All topics and services are offered.

    Attributes:
        prioritised: the process has real-time priority. master: URI of the ROS master; "" in ROS 2.
    """

    prioritised: bool
    master: str = ""


@dataclass(frozen=True)
class Found:
    """Topics and services of other nodes: ROS types by name, for published and for subscribed topics.

    Attributes:
        simulated_time: time follows /clock, which is reported as a topic of that name.
    """

    published: Mapping[str, str]
    subscribed: Mapping[str, str]
    services: Mapping[str, str]
    simulated_time: bool = False


@dataclass(frozen=True)
class Failed:
    """The process ends for this reason."""

    reason: str


@dataclass(frozen=True)
class Readers:
    """A state topic has a new reader, which needs the current sample (`some`), or has lost its last one."""

    topic: str
    some: bool


@dataclass(frozen=True)
class Commands:
    """Messages by topic, oldest first."""

    messages: tuple[tuple[str, Message], ...]


@dataclass(frozen=True)
class Refused:
    """A message to a topic has invalid content."""

    topic: str
    reason: str


@dataclass(frozen=True)
class Lost:
    """The last client that sent commands to a topic has disconnected."""

    topic: str


@dataclass(frozen=True)
class Call:
    number: int
    service: str
    arguments: tuple[Any, ...]


# -- to a node; None ends its process ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Publish:
    """Messages by topic: values of `trocar.robot.messages` and `scene_messages`, or bytes encoded for ROS 2."""

    messages: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Answer:
    """Result of a call; error: reason for a missing result, or ""."""

    number: int
    result: Any
    error: str = ""
