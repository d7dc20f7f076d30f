"""The checked device, accessed through a bus and a clock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import numpy as np

from trocar.errors import check_known
from trocar.robot.interface import INTERFACES, Direction, Topic
from trocar.robot.messages import JointState, Message, OperatingState, String
from trocar.spatial import Array

TIMEOUT = 0.5  # longest time until a command takes effect [s]
MOTION_TIMEOUT = 30.0  # longest motion [s]
SETTLING_TIME = 0.05  # a motion has ended if the setpoint does not change for this time [s]


class AnyBus(Protocol):
    """The bus interface that the checks need, such as `trocar.robot.Bus`."""

    @property
    def topics(self) -> Mapping[str, Topic]: ...

    @property
    def services(self) -> Collection[str]: ...

    def publish(self, name: str, message: Message) -> Any: ...

    def read(self, name: str) -> Message | None: ...

    def subscribe(self, name: str, callback: Callable[[Message], None]) -> Any:
        """Start with the last message; the result has a method `close`."""

    def call(self, service: str, *arguments: Any) -> Any: ...


class Connection(Protocol):
    """A robot to check, such as `trocar.robot.Robot`: its devices, its bus, and waiting by its clock.

    A client of a robot elsewhere provides the same: `devices` gives the kind of every device, such as {"PSM1": "PSM"}.
    """

    @property
    def devices(self) -> Mapping[str, str]: ...

    @property
    def bus(self) -> AnyBus: ...

    def wait_for(self, condition: Callable[[], bool], timeout: float) -> bool: ...


class CheckFailed(Exception):
    """The arm does not meet a requirement; the text describes the observation."""


class CheckSkipped(Exception):
    """A check cannot be made here; the text gives the reason."""


def require(condition: Any, reason: str) -> None:
    if not condition:
        raise CheckFailed(reason)


class Subject:
    """One device: an arm, a part of the set-up joints, the console or the system.

    Args:
        robot: bus and clock. arm: name of the device. kind: kind of its interface, such as "PSM".
        limits: lower and upper joint limits [rad, m], if they are known.
        rotation, translation: amplitude of motions of revolute [rad] and prismatic [m] joints.
        efforts: (n,) largest joint efforts [N m, N], if they are known.

    Attributes:
        states: every operating state received, oldest first.
    """

    def __init__(
        self,
        robot: Connection,
        arm: str,
        kind: str,
        limits: tuple[Array, Array] | None = None,
        rotation: float = 0.05,
        translation: float = 0.005,
        efforts: Array | None = None,
    ) -> None:
        check_known("kind of device", INTERFACES, kind)
        self.robot, self.arm, self.kind, self.interface = robot, arm, kind, INTERFACES[kind]
        self.limits, self.rotation, self.translation, self.efforts = limits, rotation, translation, efforts
        self._open: list[Any] = []
        self.states: list[OperatingState] = []
        if any(topic.name == "operating_state" for topic in self.interface.topics):
            self.states = self.heard("operating_state")
        self._lasting, self._open = self._open, []

    def path(self, name: str) -> str:
        return f"{self.arm}/{name}"

    def read(self, topic: str) -> Any:
        message = self.robot.bus.read(self.path(topic))
        require(message is not None, f"{topic} has no data")
        return message

    def heard(self, topic: str) -> list[Any]:
        """A list that receives every message of a topic until `end_check`."""
        messages: list[Any] = []
        self._open.append(self.robot.bus.subscribe(self.path(topic), messages.append))
        return messages

    def news(self, topic: str) -> list[Any]:
        """Like `heard`, without the message that a new subscriber receives."""
        messages = self.heard(topic)
        messages.clear()
        return messages

    @property
    def state_topics(self) -> list[Topic]:
        return [topic for topic in self.interface.topics if topic.direction is Direction.state]

    def end_check(self) -> None:
        """Close the subscriptions of a check."""
        for subscription in self._open:
            subscription.close()
        self._open.clear()

    def close(self) -> None:
        self._open += self._lasting
        self.end_check()

    def send(self, topic: str, message: Message) -> None:
        self.robot.bus.publish(self.path(topic), message)

    def call(self, service: str, *arguments: Any) -> Any:
        return self.robot.bus.call(self.path(service), *arguments)

    def sleep(self, seconds: float) -> None:
        self.robot.wait_for(lambda: False, seconds)

    @property
    def state(self) -> OperatingState:
        state: OperatingState = self.read("operating_state")
        return state

    @property
    def ready(self) -> bool:
        """Enabled, homed and idle."""
        state = self.state
        return state.state == "ENABLED" and state.is_homed and not state.is_busy

    def command(self, word: str) -> None:
        self.send("state_command", String(value=word))

    def reach(self, word: str, state: str, timeout: float = 10.0) -> None:
        """Send a state command and require the resulting state."""
        self.command(word)
        self.sleep(0.01)
        self.robot.wait_for(lambda: self.state.state == state, timeout)
        require(self.state.state == state, f"{word} led to {self.state.state}, expected {state}")

    @property
    def setpoint(self) -> Array:
        return np.array(self.read("setpoint_js").position)

    @property
    def step(self) -> Array:
        """Difference (n,) of bounded motions: last joint and insertion, towards the middle of the range, if known."""
        names, q = self.read("setpoint_js").name, self.setpoint
        step = np.zeros(len(q))
        step[-1] = self.rotation
        if "insertion" in names:
            step[names.index("insertion")] = self.translation
        if self.limits is not None:
            middle = 0.5 * (self.limits[0] + self.limits[1])
            step *= np.where(q > middle, -1.0, 1.0)
        return step

    def move(self, goal: Array) -> None:
        """Send move_jp and wait until the setpoint stops changing, regardless of the arm's reports."""
        self.send("move_jp", JointState(position=np.array(goal)))
        self.settle()

    def settle(self) -> None:
        """Wait until the setpoint has not changed for `SETTLING_TIME`."""
        for _ in range(round(MOTION_TIMEOUT / SETTLING_TIME)):
            before = self.setpoint
            self.sleep(SETTLING_TIME)
            if np.array_equal(before, self.setpoint):
                return
        raise CheckFailed(f"the setpoint still changes after {MOTION_TIMEOUT:g} s")
