"""Output of one step of a component: commands to arms, and events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Command(NamedTuple):
    """A command to an arm.

    Attributes:
        arm: role of the arm: MTM, PSM, MTML, MTMR or ECM. name: topic, such as `servo_cp`. value: argument.
    """

    arm: str
    name: str
    value: Any = None


class Event(NamedTuple):
    """A value to publish on a topic of the component, such as `following`."""

    topic: str
    value: Any


@dataclass
class Output:
    """Commands and events of one step, in order."""

    commands: list[Command] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def command(self, arm: str, name: str, value: Any = None) -> None:
        """Add a command to an arm."""
        self.commands.append(Command(arm, name, value))

    def event(self, topic: str, value: Any) -> None:
        """Add an event."""
        self.events.append(Event(topic, value))
