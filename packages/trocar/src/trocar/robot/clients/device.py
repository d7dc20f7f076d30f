"""Bases of all clients: reading, commands and services, waiting by the robot's clock, operating states."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from trocar.robot.bus import Bus
from trocar.robot.clients.methods import Method, methods, written
from trocar.robot.interface import Interface
from trocar.robot.messages import Message, OperatingState, String

MAX_STATES = 256  # operating states kept


class Clock(Protocol):
    """The interface of a robot for its clients: a bus and a clock."""

    @property
    def bus(self) -> Bus: ...

    @property
    def now(self) -> int: ...

    def wait_for(self, condition: Callable[[], bool], timeout: float) -> bool: ...

    def check_running(self) -> None:
        """Raise an error if the robot has stopped."""


class DeviceClient:
    """A device on the bus, by name.

    Class arguments:
        interface: rows of the table whose methods the class has; see `rows`, which is generated.
        parts: clients of its namespaces, such as body. Rows of other namespaces have flat names: trajectory_j_ratio.

    Attributes:
        robot: bus and clock. connection_timeout: longest wait of a getter for valid data [s].
        states: the device with the operating state of motions.
    """

    default_name: ClassVar[str] = ""
    default_timeout: ClassVar[float] = 1.0
    parts: ClassVar[Mapping[str, type[DeviceClient]]] = {}
    rows: ClassVar[Mapping[str, Method]] = {}
    _usable_when_stopped: ClassVar[bool] = False
    states: StatefulDevice

    def __init_subclass__(
        cls, interface: Interface | None = None, parts: Mapping[str, type[DeviceClient]] | None = None
    ) -> None:
        inherited = (vars(base).get("parts", {}) for base in reversed(cls.__mro__[1:]))
        cls.parts = {space: kind for of_base in (*inherited, parts or {}) for space, kind in of_base.items()}
        if interface is not None:
            cls._usable_when_stopped = interface.local
            cls.rows = {method.flat_name: method for method in methods(interface)}

    @classmethod
    def row(cls, name: str) -> Method | None:
        """The row of the interface behind a generated method; None for a method written by hand."""
        owner = next((kind for kind in cls.__mro__ if name in vars(kind)), cls)
        rows: Mapping[str, Method] = vars(owner).get("rows", {})
        return rows.get(name)

    def __init__(
        self,
        robot: Clock,
        name: str = "",
        connection_timeout: float | None = None,
        states: StatefulDevice | None = None,
    ) -> None:
        if not (name or self.default_name):
            raise TypeError(f"{type(self).__name__} needs the name of a device")
        self.robot, self._name = robot, name or self.default_name
        self.connection_timeout = self.default_timeout if connection_timeout is None else connection_timeout
        if isinstance(self, StatefulDevice):
            states = self._shared_states()
        if states is not None:
            self.states = states
        for space, kind in self.parts.items():
            part = kind(robot, f"{self._name}/{space}", self.connection_timeout, getattr(self, "states", None))
            setattr(self, space, part)
        self._connect()

    def _connect(self) -> None:
        """Subscribe to topics, at the end of `__init__`."""

    def _subscribe(self, topic: str, callback: Callable[[Any], None]) -> None:
        """Subscribe to a topic for the lifetime of this client, which the callback must not refer to."""
        subscription = self.robot.bus.subscribe(f"{self._name}/{topic}", callback)
        weakref.finalize(self, subscription.close).atexit = False

    def _check_running(self) -> None:
        if not self._usable_when_stopped:
            self.robot.check_running()

    def name(self) -> str:
        return self._name

    def send(self, topic: str, message: Message) -> None:
        """Send a command."""
        self._check_running()
        self.robot.bus.publish(f"{self._name}/{topic}", message)

    def call(self, service: str, *arguments: Any, **named: Any) -> Any:
        """Result of a service."""
        self._check_running()
        return self.robot.bus.call(f"{self._name}/{service}", *arguments, **named)

    def read(self, topic: str, fields: tuple[str, ...], stamped: bool, wait_timeout: float | None = None) -> Any:
        """Fields of the current message of a topic, with its time [s] if stamped."""
        message = self.receive(topic, wait_timeout)
        if not stamped:
            return getattr(message, fields[0])
        return *[getattr(message, field) for field in fields], message.time

    def command(self, topic: str, kind: type[Message], fields: tuple[str, ...], moves: bool, *arguments: Any) -> Any:
        """Send a message with the arguments in its fields; returns the handle of a motion."""
        sent = written(kind, fields, *arguments)
        handle = MoveHandle(self.states) if moves else None
        self.send(topic, sent)
        return handle

    def ask(self, service: str, *arguments: Any, **named: Any) -> Any:
        """Answer of a service; kinematics take a last argument `extra` that adds result and message to the value."""
        if not service.endswith("kinematics"):
            return self.call(service, *arguments, **named)
        answer = self.call(service, *arguments[:-1])
        return answer.value if arguments[-1] is None else (answer.value, answer.result, answer.message)

    def receive(self, topic: str, wait_timeout: float | None = None) -> Any:
        """The current message of a topic. Waits for valid data; raises TimeoutError after the timeout [s]."""
        path = f"{self._name}/{topic}"
        timeout = self.connection_timeout if wait_timeout is None else wait_timeout
        self._check_running()
        message = self.robot.bus.read(path)
        if message is None or not message.valid:
            self.robot.wait_for(lambda: (last := self.robot.bus.read(path)) is not None and last.valid, timeout)
            message = self.robot.bus.read(path)
        if message is None or not message.valid:
            raise TimeoutError(f"no valid data on {path} within {timeout:g} s")
        return message


class StatefulDevice(DeviceClient):
    """A device with operating states."""

    def _connect(self) -> None:
        self._states: deque[OperatingState]
        if getattr(self, "states", self) is not self:
            self._states = self.states._states
            return
        bus, topic = self.robot.bus, f"{self._name}/operating_state"
        with bus.lock:
            past: Any = bus.history(topic)[:-1]  # subscribing adds the last one
            self._states = deque(past, maxlen=MAX_STATES)
            self._subscribe("operating_state", self._states.append)

    def _shared_states(self) -> StatefulDevice | None:
        """Device whose states all parts use: not this one, so that no reference cycle keeps a forgotten robot alive."""
        plain = type(self) is StatefulDevice
        return None if plain else StatefulDevice(self.robot, self._name, self.connection_timeout)

    def operating_state(self) -> str:
        """DISABLED, ENABLED, PAUSED or FAULT; "" before the first message."""
        return "" if (state := self._last_state()) is None else state.state

    def _last_state(self) -> OperatingState | None:
        self._check_running()
        return self._states[-1] if self._states else None

    def state_command(self, command: str) -> None:
        """Send enable, disable, home, unhome, pause or resume."""
        self.send("state_command", String(value=command))

    def is_enabled(self) -> bool:
        return self.operating_state() == "ENABLED"

    def is_disabled(self) -> bool:
        return self.operating_state() == "DISABLED"

    def is_homed(self) -> bool:
        return (state := self._last_state()) is not None and state.is_homed

    def is_busy(self) -> bool:
        return (state := self._last_state()) is not None and state.is_busy

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
            since = [state for state in tuple(self._states) if state.stamp > start_time]  # the loop adds some
            busy = next((k for k, state in enumerate(since) if state.is_busy), None)
            return busy is not None and (is_busy or not since[-1].is_busy)

        return self.robot.wait_for(reached, timeout)

    def is_busy_since(self, start_time: int, timeout: float = 30.0) -> bool:
        """False once a state published after `start_time` [ns] is idle. Raises RuntimeWarning if none arrives."""
        state = self._last_state()
        if state is None or state.stamp <= start_time:
            if (self.robot.now - start_time) * 1e-9 > timeout:
                raise RuntimeWarning(f"{self._name} has published no operating state for {timeout:g} s")
            return True
        return state.is_busy

    def _command(self, command: str, reached: Callable[[], bool], timeout: float) -> bool:
        if reached():
            self.state_command(command)
            return True
        self.state_command(command)
        return self.robot.wait_for(reached, timeout) if timeout > 0 else reached()


def time_of_command(robot: Clock, state_topic: str) -> int:
    """Time [ns] that separates the operating states before a command sent now from those after it.

    In fast time a state may have been published at this moment, with a stamp later than the clock; it precedes the
    command.
    """
    last = robot.bus.read(state_topic)
    return max(robot.now, 0 if last is None else last.stamp)


class MoveHandle:
    """Returned by the move commands of an arm; holds the time of the command."""

    def __init__(self, device: StatefulDevice) -> None:
        self._device = device
        self._start = time_of_command(device.robot, f"{device.name()}/operating_state")

    def wait(self, is_busy: bool = False, timeout: float = 30.0) -> bool:
        """Wait for the end of the motion, or with is_busy=True for its start; False after `timeout` [s]."""
        return self._device.wait_for_busy(is_busy, self._start, timeout)

    def is_busy(self, timeout: float = 30.0) -> bool:
        """True until the motion has ended. Raises RuntimeWarning if it has not begun within `timeout` [s]."""
        return self._device.is_busy_since(self._start, timeout)
