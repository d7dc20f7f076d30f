"""State, commands and messages that `TeleopPSM` and `TeleopECM` have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from trocar.teleoperation.arm_states import Preparation
from trocar.teleoperation.outputs import Output

DISABLED, SETTING_ARMS_STATE, ALIGNING_MTM, ENABLED = "DISABLED", "SETTING_ARMS_STATE", "ALIGNING_MTM", "ENABLED"


@dataclass
class ComponentState:
    """Memory of a component.

    Attributes:
        scale: slave motion per master motion. current, desired: states of the state machine.
        following: the slave follows. clutched: the clutch pedal is down.
        since: time of the last change of state or reminder [s].
    """

    scale: float
    current: str = DISABLED
    desired: str = DISABLED
    following: bool = False
    clutched: bool = False
    since: float = 0.0


S = TypeVar("S", bound=ComponentState)


class Component(Generic[S]):
    """A state machine without bus or clock; its outputs are collected until the next step.

    Args:
        name: name in messages. state: initial state.
        configuration: events published once at the start, by topic.

    Attributes:
        name: name in messages. state: everything the component remembers.
        DESIRED: desired state by `state_command`.
    """

    DESIRED: ClassVar[dict[str, str]] = {"enable": ENABLED, "disable": DISABLED}

    def __init__(self, name: str, state: S, configuration: Mapping[str, object]) -> None:
        self.name, self.state = name, state
        self._out, self._preparation = Output(), Preparation()
        self._t = 0.0
        for topic, value in configuration.items():
            self._out.event(topic, value)
        for topic in ("current_state", "desired_state"):
            self._out.event(topic, DISABLED)
        self._out.event("following", False)

    @property
    def idle(self) -> bool:
        """True if a step would do nothing, whatever the sample."""
        s = self.state
        return s.current == s.desired == DISABLED and not (self._out.commands or self._out.events)

    def state_command(self, command: str) -> None:
        """Set the desired state by a command of `DESIRED`."""
        if command not in self.DESIRED:
            self._say("warning", f"{command} doesn't seem to be a valid state_command")
            return
        desired = self.DESIRED[command]
        if desired != self.state.desired:
            self.state.desired = desired
            self._desired_changed()
            self._say("status", f"set desired state to {desired}")
        self._out.event("desired_state", desired)

    def arm_error(self, message: str) -> None:
        """Disable the component because an arm has published an error."""
        self._desire_disabled()
        self._say("error", f"received from arm [{message}]")

    def output(self) -> Output:
        """Commands and events since the last call."""
        out, self._out = self._out, Output()
        return out

    # -- for the state machines ----------------------------------------------------------------------------------------

    def _desired_changed(self) -> None:
        """React to a new desired state."""

    def _change_scale(self, scale: float) -> bool:
        """Set the scale, 0 < scale <= 1; False if it is refused."""
        if not 0.0 < scale <= 1.0:
            self._say("warning", f"set_scale, scale must be within ]0;1], received {scale:g}")
            return False
        self.state.scale = scale
        self._out.event("scale", scale)
        return True

    def _change_state(self, state: str) -> None:
        self.state.current, self.state.since = state, self._t
        self._out.event("current_state", state)
        self._say("status", f"current state is {state}")
        if state == SETTING_ARMS_STATE:
            self._preparation.restart()

    def _set_following(self, following: bool) -> None:
        self.state.following = following
        self._out.event("following", following)

    def _desire_disabled(self) -> None:
        self.state.desired = DISABLED
        self._out.event("desired_state", DISABLED)

    def _say(self, kind: str, text: str) -> None:
        self._out.event(kind, f"{self.name}: {text}")
