"""Samples, commands and state that `PsmTeleoperation` and `EcmTeleoperation` have in common."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from trocar.spatial import Array

DISABLED, SETTING_ARMS_STATE, ALIGNING_MTM, ENABLED = "DISABLED", "SETTING_ARMS_STATE", "ALIGNING_MTM", "ENABLED"
ARMS_TIMEOUT = 60.0  # time to enable and home all arms [s]
ROTATION_TOLERANCE = 1e-6  # tolerance of the squared norm of a rotation matrix
STILL = np.zeros(6)
STILL.setflags(write=False)


# -- input -------------------------------------------------------------------------------------------------------------


class ArmState(NamedTuple):
    """Operating state of an arm."""

    enabled: bool = True
    homed: bool = True
    busy: bool = False

    @property
    def ready(self) -> bool:
        return self.enabled and self.homed


READY = ArmState()


@dataclass(frozen=True, slots=True)
class PairSample:
    """Reports of an MTM and a PSM at one time.

    Attributes:
        master, master_setpoint: measured and set-point pose of the MTM (4, 4) in the display frame.
        slave: set-point pose of the PSM (4, 4) in the camera frame.
        twist: measured twist of the MTM (6,) [m/s, rad/s]. gripper: gripper angle [rad]; None: no gripper.
        jaw: set-point of the PSM's jaw [rad]; None: no instrument.
        master_state, slave_state: operating states. base: base frame of the PSM (4, 4), None if it is
            not observed.
        fault: reason not to follow the sample, "" if there is none.
    """

    master: Array
    master_setpoint: Array
    slave: Array
    twist: Array = field(default_factory=lambda: STILL)
    gripper: float | None = None
    jaw: float | None = None
    master_state: ArmState = READY
    slave_state: ArmState = READY
    base: Array | None = None
    fault: str = ""

    def reason(self) -> str:
        """Reason not to follow the sample, "" if there is none: a fault, a NaN, or a matrix that is not a rotation."""
        if self.fault:
            return self.fault
        gripper = 0.0 if self.gripper is None else self.gripper
        master, slave, twist = self.master, self.slave, self.twist
        squares = float(np.vdot(master, master)), float(np.vdot(slave, slave))
        if not math.isfinite(sum(squares) + float(twist.dot(twist)) + gripper):
            topics = ("MTM measured_cp", "PSM setpoint_cp", "MTM measured_cv", "MTM gripper/measured_js")
            values = (master, slave, twist, np.array(gripper))
            wrong = (topic for topic, value in zip(topics, values, strict=True) if not np.isfinite(value).all())
            return f"{next(wrong, 'the sum of all squares')} has a value that is not finite"
        for T, square, what in ((master, squares[0], "MTM measured_cp"), (slave, squares[1], "PSM setpoint_cp")):
            p = T[:3, 3]
            if abs(square - float(p.dot(p)) - 4.0) > ROTATION_TOLERANCE:  # 3 from the rotation, 1 from the last row
                return f"{what} is not a rotation"
        return ""


@dataclass(frozen=True, slots=True)
class CameraSample:
    """Reports of both MTMs and the ECM at one time.

    Attributes:
        left, right: measured poses (4, 4) of MTML and MTMR in HRSV. left_twist, right_twist: (6,) [m/s, rad/s].
        q: set-point joints of the ECM (4,) [rad, m]. states: operating states of MTML, MTMR, ECM.
        fault: reason not to follow the sample, "" if there is none.
    """

    left: Array
    right: Array
    q: Array
    left_twist: Array = field(default_factory=lambda: STILL)
    right_twist: Array = field(default_factory=lambda: STILL)
    states: tuple[ArmState, ArmState, ArmState] = (READY, READY, READY)
    fault: str = ""

    def reason(self) -> str:
        """Reason not to follow the sample, "" if there is none."""
        if self.fault:
            return self.fault
        poses, twists = (self.left, self.right), (self.left_twist, self.right_twist)
        # summing squares is the fastest check
        if not math.isfinite(sum(float(np.vdot(x, x)) for x in poses) + sum(float(x.dot(x)) for x in twists)):
            return "a pose or twist of an MTM has a value that is not finite"
        return "" if math.isfinite(float(self.q.dot(self.q))) else "ECM setpoint_js has a value that is not finite"


# -- output ------------------------------------------------------------------------------------------------------------


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
    """Commands to arms and events of one step, in order."""

    commands: list[Command] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def command(self, arm: str, name: str, value: Any = None) -> None:
        """Add a command to an arm."""
        self.commands.append(Command(arm, name, value))

    def event(self, topic: str, value: Any) -> None:
        """Add an event."""
        self.events.append(Event(topic, value))


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
        self._out = Output()
        self._requested: set[tuple[str, str]] = set()  # commands already sent to arms that are not ready
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
            self._report("warning", f"{command} doesn't seem to be a valid state_command")
            return
        desired = self.DESIRED[command]
        if desired != self.state.desired:
            self.state.desired = desired
            self._desired_changed()
            self._report("status", f"set desired state to {desired}")
        self._out.event("desired_state", desired)

    def clutch(self, pressed: bool) -> None:
        """Press or release the clutch pedal."""
        if pressed != self.state.clutched:
            self.state.clutched = pressed
            (self._press_clutch if pressed else self._release_clutch)()

    def arm_error(self, message: str) -> None:
        """Disable the component because an arm has published an error."""
        self._desire_disabled()
        self._report("error", f"received from arm [{message}]")

    def output(self) -> Output:
        """Commands and events since the last call."""
        out, self._out = self._out, Output()
        return out

    # -- for the state machines ----------------------------------------------------------------------------------------

    def _desired_changed(self) -> None:
        """React to a new desired state."""

    def _prepare(self, arms: Iterable[tuple[str, ArmState]]) -> bool:
        """Enable, then home, the arms that are not ready, each command once; True if all arms are ready."""
        ready = True
        for arm, state in arms:
            if state.ready:
                continue
            ready = False
            request = (arm, "home" if state.enabled else "enable")
            if request not in self._requested:
                self._requested.add(request)
                self._out.command(arm, "state_command", request[1])
        return ready

    def _change_scale(self, scale: float) -> bool:
        """Set the scale, 0 < scale <= 1; False if it is refused."""
        if not 0.0 < scale <= 1.0:
            self._report("warning", f"set_scale, scale must be within ]0;1], received {scale:g}")
            return False
        self.state.scale = scale
        self._out.event("scale", scale)
        return True

    def _change_state(self, state: str) -> None:
        self.state.current, self.state.since = state, self._t
        self._out.event("current_state", state)
        self._report("status", f"current state is {state}")
        if state == SETTING_ARMS_STATE:
            self._requested.clear()

    def _set_following(self, following: bool) -> None:
        self.state.following = following
        self._out.event("following", following)

    def _press_clutch(self) -> None:
        self._set_following(False)
        self._report("status", "console clutch pressed")

    def _release_clutch(self) -> None:
        raise NotImplementedError

    def _follow_unless_clutched(self) -> None:
        if self.state.clutched:
            self._press_clutch()
        else:
            self._set_following(True)

    def _desire_disabled(self) -> None:
        self.state.desired = DISABLED
        self._out.event("desired_state", DISABLED)

    def _report(self, kind: str, text: str) -> None:
        """Publish a message: error, warning or status."""
        self._out.event(kind, f"{self.name}: {text}")
