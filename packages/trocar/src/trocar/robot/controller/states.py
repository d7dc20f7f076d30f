"""Operating states of a device: valid commands, and the events sent to clients."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.robot.bus import Bus
from trocar.robot.controller.memory import Remembering
from trocar.robot.messages import OperatingState, String
from trocar.spatial import Array

DISABLED, ENABLED, PAUSED, FAULT = "DISABLED", "ENABLED", "PAUSED", "FAULT"

# Valid commands by operating state.
COMMANDS = {
    DISABLED: ("enable", "disable", "unhome"),
    ENABLED: ("enable", "disable", "pause", "home", "unhome"),
    PAUSED: ("disable", "pause", "resume", "unhome"),
    FAULT: ("enable", "disable", "unhome"),
}
MAX_VALUE = 1e9  # of a commanded value [rad, m, N m, N, and per s]: far beyond any arm
MAX_COMMANDS = 10_000  # that wait for the next cycle, such as those to a paused robot
KNOWN = ("enable", "disable", "home", "unhome", "pause", "resume")


class Refused(TrocarError):
    """A command is not valid, or not in this state; the text becomes a warning."""


def usable(values: Array) -> bool:
    """All values of a command are finite and small enough that their products do not overflow."""
    return bool((np.abs(values) < MAX_VALUE).all())


def plain(values: Array, n: int) -> bool:
    """True for an array (n,) of usable floats, which needs no conversion: clients send these at a high rate."""
    return (
        type(values) is np.ndarray
        and values.shape == (n,)
        and values.dtype == float
        and all(-MAX_VALUE < x < MAX_VALUE for x in values.tolist())
    )


class CommandQueue:
    """Commands of a device, kept until its next cycle; refusals become warnings.

    Of more than `MAX_COMMANDS`, the newest are kept.
    """

    def __init__(self, refusals: type[TrocarError] = Refused) -> None:
        self._refusals = refusals
        self._waiting: deque[tuple[Callable[[Any], None], Any]] = deque(maxlen=MAX_COMMANDS)
        self._dropped = 0

    def accept(self, handler: Callable[[Any], None]) -> Callable[[Any], None]:
        """A receiver of messages for a handler."""

        def receive(message: Any) -> None:
            self._dropped += len(self._waiting) == MAX_COMMANDS
            self._waiting.append((handler, message))

        return receive

    def execute(self, states: OperatingStates) -> None:
        """Execute all commands that wait."""
        if self._dropped:
            states.warning(f"dropped {self._dropped} commands: at most {MAX_COMMANDS} wait for a control cycle")
            self._dropped = 0
        while self._waiting:
            handler, message = self._waiting.popleft()
            try:
                handler(message)
            except self._refusals as refusal:
                states.warning(str(refusal))


class OperatingStates(Remembering):
    """State, homed and busy flags of one device, published at every change, and its messages to the user.

    Attributes:
        state: DISABLED, ENABLED, PAUSED or FAULT. homed, busy: as published. substate: the dVRK's own finer state.
    """

    MEMORY = ("state", "homed", "busy", "substate")

    def __init__(self, bus: Bus, name: str) -> None:
        self._bus, self.name = bus, name
        self.state, self.homed, self.busy, self.substate = DISABLED, False, False, DISABLED

    def set(self, state: str | None = None, *, homed: bool | None = None, busy: bool | None = None) -> None:
        self.state = self.state if state is None else state
        self.homed = self.homed if homed is None else homed
        self.busy = self.busy if busy is None else busy
        self.publish()

    def publish(self) -> None:
        self._bus.publish(f"{self.name}/operating_state", self.message())

    def message(self, stamp: int = 0) -> OperatingState:
        return OperatingState(state=self.state, is_homed=self.homed, is_busy=self.busy, stamp=stamp)

    def check(self, command: str) -> None:
        """Refuse a state command that is not valid, in the dVRK's words."""
        if command not in KNOWN:
            raise Refused(f"{command} doesn't seem to be a valid state_command")
        if command not in COMMANDS[self.state]:
            raise Refused(f'command "{command}" is not supported in state "{self.state} ({self.substate})"')

    def desire(self, state: str) -> None:
        self._bus.publish(f"{self.name}/desired_state", String(value=state))
        self.publish()
        self.status(f"desired state {state}")

    def status(self, text: str) -> None:
        self._bus.publish(f"{self.name}/status", String(value=f"{self.name}: {text}"))

    def warning(self, text: str) -> None:
        self._bus.publish(f"{self.name}/warning", String(value=f"{self.name}: {text}"))

    def error(self, text: str) -> None:
        self._bus.publish(f"{self.name}/error", String(value=f"{self.name}: {text}"))
