"""Base of all device clients: topics in a namespace, waiting by the robot's clock, operating states."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from trocar.robot.bus import Bus
from trocar.robot.messages import Message, OperatingState, String

REMEMBERED = 256  # operating states kept


class Clock(Protocol):
    """The interface of a robot for its clients: a bus and a clock."""

    @property
    def bus(self) -> Bus: ...

    @property
    def now(self) -> int: ...

    def wait_for(self, condition: Callable[[], bool], timeout: float) -> bool: ...


class Device:
    """A device on the bus, by name.

    Attributes:
        robot: bus and clock. connection_timeout: longest wait of a getter for valid data [s].
    """

    def __init__(self, robot: Clock, name: str, connection_timeout: float = 1.0) -> None:
        self.robot, self._name, self.connection_timeout = robot, name, connection_timeout

    def name(self) -> str:
        return self._name

    def send(self, topic: str, message: Message) -> None:
        """Send a command."""
        self.robot.bus.publish(f"{self._name}/{topic}", message)

    def call(self, service: str, *arguments: Any, **named: Any) -> Any:
        """Result of a service."""
        return self.robot.bus.call(f"{self._name}/{service}", *arguments, **named)

    def receive(self, topic: str, wait_timeout: float | None = None) -> Any:
        """The current message of a topic. Waits for valid data; raises TimeoutError after the timeout [s]."""
        path = f"{self._name}/{topic}"
        timeout = self.connection_timeout if wait_timeout is None else wait_timeout
        message = self.robot.bus.read(path)
        if message is None or not message.valid:
            self.robot.wait_for(lambda: (found := self.robot.bus.read(path)) is not None and found.valid, timeout)
            message = self.robot.bus.read(path)
        if message is None or not message.valid:
            raise TimeoutError(f"no valid data on {path} within {timeout:g} s")
        return message


class StatefulDevice(Device):
    """A device with operating states."""

    def __init__(self, robot: Clock, name: str, connection_timeout: float = 1.0) -> None:
        super().__init__(robot, name, connection_timeout)
        self._states: deque[OperatingState] = deque(maxlen=REMEMBERED)
        robot.bus.subscribe(f"{name}/operating_state", self._remember)

    def _remember(self, message: Message) -> None:
        assert isinstance(message, OperatingState)
        self._states.append(message)

    def operating_state(self) -> str:
        """DISABLED, ENABLED, PAUSED or FAULT; "" before the first message."""
        return self._states[-1].state if self._states else ""

    def state_command(self, command: str) -> None:
        """Send enable, disable, home, unhome, pause or resume."""
        self.send("state_command", String(value=command))

    def is_enabled(self) -> bool:
        return self.operating_state() == "ENABLED"

    def is_disabled(self) -> bool:
        return self.operating_state() == "DISABLED"

    def is_homed(self) -> bool:
        return bool(self._states) and self._states[-1].is_homed

    def is_busy(self) -> bool:
        return bool(self._states) and self._states[-1].is_busy

    def wait_for_operating_state(self, expected_state: str, timeout: float) -> bool:
        """Wait for a state; False after `timeout` [s]."""
        return self.robot.wait_for(lambda: self.operating_state() == expected_state, timeout)

    def enable(self, timeout: float = 0.0) -> bool:
        """Enable. Returns True if the device is enabled, waiting up to `timeout` [s]."""
        return self._command("enable", self.is_enabled, timeout)

    def disable(self, timeout: float = 0.0) -> bool:
        """Disable. Returns True if the device is disabled, waiting up to `timeout` [s]."""
        return self._command("disable", self.is_disabled, timeout)

    def home(self, timeout: float = 0.0) -> bool:
        """Home. Returns True if the device is homed and no longer busy, waiting up to `timeout` [s]."""
        return self._command("home", lambda: self.is_homed() and not self.is_busy(), timeout)

    def unhome(self, timeout: float = 0.0) -> bool:
        """Unhome. Returns True if the device is no longer homed, waiting up to `timeout` [s]."""
        return self._command("unhome", lambda: not self.is_homed(), timeout)

    def wait_for_busy(self, is_busy: bool = False, start_time: int | None = None, timeout: float = 30.0) -> bool:
        """Wait for the end of a motion, or with is_busy=True for its start; False after `timeout` [s].

        With `start_time` [ns] only later messages count: the device must have become busy since then, and
        idle again.
        """
        if start_time is None:
            return self.robot.wait_for(lambda: self.is_busy() == is_busy, timeout)

        def reached() -> bool:
            since = [state for state in self._states if state.stamp > start_time]
            busy = next((k for k, state in enumerate(since) if state.is_busy), None)
            return busy is not None and (is_busy or not since[-1].is_busy)

        return self.robot.wait_for(reached, timeout)

    def is_busy_since(self, start_time: int, timeout: float = 30.0) -> bool:
        """False once a state published after `start_time` [ns] is idle. Raises RuntimeWarning if none arrives."""
        if not self._states or self._states[-1].stamp <= start_time:
            if (self.robot.now - start_time) * 1e-9 > timeout:
                raise RuntimeWarning(f"{self._name} has published no operating state for {timeout:g} s")
            return True
        return self._states[-1].is_busy

    def _command(self, command: str, reached: Callable[[], bool], timeout: float) -> bool:
        if reached():
            self.state_command(command)
            return True
        self.state_command(command)
        return self.robot.wait_for(reached, timeout) if timeout > 0 else reached()
