"""Values exchanged by the simulation and the cyclonedds process, pickled into frames of a pipe."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from trocar.crtk.interface import Service, Topic
from trocar.crtk.messages import Message


def send(pipe: Connection, said: Any) -> None:
    """Send a value, several times faster than `Connection.send`."""
    pipe.send_bytes(pickle.dumps(said, pickle.HIGHEST_PROTOCOL))


def receive(pipe: Connection) -> Any:
    return pickle.loads(pipe.recv_bytes())


@dataclass(frozen=True)
class Settings:
    """Settings of the cyclonedds process; see `Bridge`."""

    topics: tuple[Topic, ...]
    services: tuple[Service, ...]
    domain: int
    interface: str
    distro: str
    hold_when_lost: bool


# -- from cyclonedds; topics are numbers in the order of the settings --------------------------------------------------


@dataclass(frozen=True)
class Ready:
    """All endpoints exist."""


@dataclass(frozen=True)
class Failed:
    """The process ends for this reason."""

    reason: str


@dataclass(frozen=True)
class Readers:
    """A state topic has a new reader, which needs the current sample (`some`), or has lost its last one."""

    topic: int
    some: bool


@dataclass(frozen=True)
class Commands:
    """Messages by topic, oldest first."""

    messages: tuple[tuple[int, Message], ...]


@dataclass(frozen=True)
class Refused:
    """A sample of a topic has invalid content."""

    topic: int
    reason: str


@dataclass(frozen=True)
class Call:
    number: int
    service: str
    arguments: tuple[Any, ...]


# -- from the simulation; None ends the process ------------------------------------------------------------------------


@dataclass(frozen=True)
class Samples:
    """Encoded messages by topic."""

    samples: tuple[tuple[int, bytes], ...]


@dataclass(frozen=True)
class Answer:
    """Result of a call; error: reason for a missing result, or ""."""

    number: int
    result: Any
    error: str = ""
