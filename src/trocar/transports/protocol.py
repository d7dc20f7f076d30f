"""Values exchanged by the simulation, or a client, and the process of a ROS node over a pipe; see `link`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trocar.robot.interface import Service, Topic
from trocar.robot.messages import Message

LOOPBACK = "127.0.0.1"
OWN_MASTER = ""
TIMEOUT = 10.0  # of the answer to a call [s]
MAX_TEXT = 500  # characters of the reason for a refusal


@dataclass(frozen=True)
class NodeSettings:
    """Settings of the process of a node.

    Attributes:
        node: class of the node with its module. topics, services: those it serves; a client has none.
        switch_interval: of the threads of the process [s]; Python's default is 5 ms.
        priority: ask for real-time priority.
    """

    node: str
    topics: tuple[Topic, ...] = ()
    services: tuple[Service, ...] = ()
    switch_interval: float = 5e-3
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
class SystemState:
    """Topics and services of other nodes: ROS types by name, for published and for subscribed topics.

    Attributes:
        simulated_time: time follows /clock, which is reported as a topic of that name.
    """

    published: Mapping[str, str]
    subscribed: Mapping[str, str]
    services: Mapping[str, str]
    simulated_time: bool = False


@dataclass(frozen=True)
class NodeFailed:
    """The process ends for this reason."""

    reason: str


@dataclass(frozen=True)
class Readers:
    """A state topic has a new reader, which needs the current sample (`some`), or has lost its last one."""

    topic: str
    some: bool


@dataclass(frozen=True)
class CommandBatch:
    """Messages by topic, oldest first."""

    messages: tuple[tuple[str, Message], ...]


@dataclass(frozen=True)
class RefusedMessage:
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
    """Messages by topic: bytes for a node, bus messages for a client."""

    messages: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Answer:
    """Result of a call; error: reason for a missing result, or ""."""

    number: int
    result: Any
    error: str = ""
