"""Operating states of the arms of a component, and the commands that prepare them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from trocar.teleoperation.outputs import Output

ARMS_TIMEOUT = 60.0  # time to enable and home all arms [s]


class ArmState(NamedTuple):
    """Operating state of an arm."""

    enabled: bool = True
    homed: bool = True
    busy: bool = False

    @property
    def ready(self) -> bool:
        return self.enabled and self.homed


READY = ArmState()


class Preparation:
    """Enable, then home, the arms that are not ready; each command is sent once."""

    def __init__(self) -> None:
        self._asked: set[tuple[str, str]] = set()

    def restart(self) -> None:
        """Allow every command to be sent again."""
        self._asked.clear()

    def proceed(self, arms: Iterable[tuple[str, ArmState]], out: Output) -> bool:
        """Send the next commands; True if all arms are ready."""
        ready = True
        for arm, state in arms:
            if state.ready:
                continue
            ready = False
            due = (arm, "home" if state.enabled else "enable")
            if due not in self._asked:
                self._asked.add(due)
                out.command(arm, "state_command", due[1])
        return ready
