"""Output of one step of a teleoperation component: commands to arms and events for its users."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Command(NamedTuple):
    """A command to an arm.

    Attributes:
        arm: its role: MTM, PSM, MTML, MTMR or ECM. name: as on the bus, such as `servo_cp`. value: its argument.
    """

    arm: str
    name: str
    value: Any = None


class Event(NamedTuple):
    """Something to publish below the name of the component, such as `following`."""

    topic: str
    value: Any


@dataclass
class Output:
    """Commands and events of one step, in their order."""

    commands: list[Command] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def command(self, arm: str, name: str, value: Any = None) -> None:
        """Add a command to a device."""
        self.commands.append(Command(arm, name, value))

    def event(self, topic: str, value: Any) -> None:
        """Add an event."""
        self.events.append(Event(topic, value))
