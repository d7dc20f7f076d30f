"""A stand-in for the Python package crtk 1.4 and, for the results of getters, earlier releases.

`utils` adds the methods of the interface table to an object of the script. Joints are numpy arrays [rad, m, N m, N],
poses PyKDL frames, twists and wrenches arrays (6,), linear first. Getters return (value, time [s]) in release 1.4 and
before it the bare value, except for `measured_js` and `setpoint_js`, which always end with the time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partialmethod
from typing import Any

import numpy as np

from trocar.errors import UnknownName
from trocar.robot import messages as m
from trocar.robot.clients.device import DeviceClient, StatefulDevice, time_of_command
from trocar.robot.clients.methods import Method, written
from trocar.robot.clients.rows import FeatureRows
from trocar.scripts import PACKAGES
from trocar.scripts.node import node_of, ral
from trocar.scripts.pykdl import Frame, Rotation
from trocar.scripts.session import FOREVER, current
from trocar.transports.ros_conversion import from_ros
from trocar.transports.ros_messages import MESSAGES
from trocar.transports.ros_time import Time

__all__ = ["joystick_button", "measured_cp", "ral", "utils", "wait_move_handle"]

_CRTK = PACKAGES["crtk"]
_OFFERED = {*_CRTK["added"], *_CRTK["offered"]}


class ScriptDevice(DeviceClient):
    """A client with the values of scripts. A subclass has only the methods of the packages crtk and dvrk."""

    instance: Any = None  # object of the script with the operating state of motions; default: the device itself

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.parts = {space: script_class(kind) for space, kind in cls.parts.items()}
        for name in dir(cls):
            row = cls.row(name)
            if row is not None and row.first[0] not in _OFFERED:
                setattr(cls, name, _Absent(row))
            elif row is not None and row.hook == "read":
                setattr(cls, name, partialmethod(cls.read, *row.first))

    def ral(self) -> Any:
        """The node in the namespace of the device."""
        return node_of(self._name)

    def check_connections(self, timeout: float = 5.0) -> None:
        self.ral().check_connections(timeout)

    def read(
        self, topic: str, fields: tuple[str, ...], stamped: bool, wait_timeout: Any = None, wait: Any = None,
        extra: Any = None, *, age: Any = None,
    ) -> Any:  # fmt: skip
        """Getter of release 1.4, get(wait_timeout=None), or of earlier ones, get(age=None, wait=None, extra=None)."""
        tuples = current().tuples
        current().polls.count()
        timeout = wait_timeout if tuples else wait
        try:
            message = self.receive(topic, timeout)
        except (UnknownName, TimeoutError) as error:
            if isinstance(error, UnknownName):
                current().sleep(self.connection_timeout if timeout is None else timeout)
            failure = TimeoutError if tuples else RuntimeWarning
            raise failure(f"no valid data on /{self._name}/{topic}{current().messages.last(self._name)}") from None
        values = [_script_value(getattr(message, field)) for field in fields]
        if not stamped:
            return values[0]
        if tuples:
            return *values, message.time
        return [*values, message.time] if len(values) > 1 or extra else values[0]

    def command(self, topic: str, kind: type[m.Message], fields: tuple[str, ...], moves: bool, *arguments: Any) -> Any:
        handle = wait_move_handle(self.states if self.instance is None else self.instance) if moves else None
        try:
            self.send(topic, written(kind, fields, *(_robot_value(argument) for argument in arguments)))
        except UnknownName:
            print(f"trocar run: nothing listens on /{self._name}/{topic}", file=sys.stderr)
        return handle

    def call(self, service: str, *arguments: Any) -> Any:
        answer = super().call(service, *(_robot_value(argument) for argument in arguments))
        return replace(answer, value=_script_value(answer.value)) if isinstance(answer, m.KinematicsResult) else answer


def _script_value(value: Any) -> Any:
    """A value of the robot for a script: a frame for a pose, otherwise a copy."""
    if not isinstance(value, np.ndarray):
        return value
    return Frame.from_matrix(value) if value.shape == (4, 4) else np.array(value, dtype=float)


def _robot_value(value: Any) -> Any:
    if isinstance(value, Frame):
        return value.to_matrix()
    if isinstance(value, Rotation):
        return value.array.copy()
    kind = getattr(value, "_type", "")
    return from_ros(value, kind, m.ImpedanceGoal) if kind == "crtk_msgs/CartesianImpedance" else value


class _Absent:
    """A method that the packages do not have."""

    def __init__(self, row: Method) -> None:
        self._text = f"crtk and dvrk have no method {row.flat_name}; use the topic {row.first[0]}"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise AttributeError(self._text)


def script_class(kind: type[DeviceClient]) -> type[DeviceClient]:
    if issubclass(kind, ScriptDevice):
        return kind
    base = ScriptStates if issubclass(kind, StatefulDevice) else ScriptDevice
    return type(kind.__name__, (base, kind), {})


class ScriptStates(ScriptDevice, StatefulDevice):
    """The operating state of a device with the arguments of crtk: times of ROS, and `extra` for the time of a state."""

    def __init__(self, robot: Any, name: str, *arguments: Any) -> None:
        try:
            super().__init__(robot, name, *arguments)
        except UnknownName:
            devices = ", ".join(current().robot.devices)
            raise TimeoutError(
                f"{name} is not in the scene, which has {devices}; run the script with another scene"
            ) from None

    def _shared_states(self) -> ScriptStates:
        return self

    @property
    def operating_state_topic(self) -> str:
        return f"{self._name}/operating_state"

    def _last_state(self) -> m.OperatingState | None:
        current().polls.count()
        return super()._last_state()

    def _command(self, command: str, reached: Callable[[], bool], timeout: float) -> bool:
        return self._in_time(f"{command}: not done", super()._command(command, reached, timeout), timeout)

    def _in_time(self, what: str, done: bool, timeout: float) -> bool:
        """The result of a wait; a time-out is reported with the robot's last message, which explains it."""
        if not done and timeout > 0 and not current().stopping:
            reason = current().messages.last(self._name)
            print(f"trocar run: /{self._name}: {what} within {timeout:g} s{reason}", file=sys.stderr, flush=True)
        return done

    def wait_for_operating_state(self, expected_state: str, timeout: float) -> bool:
        done = super().wait_for_operating_state(expected_state, timeout)
        return self._in_time(f"not {expected_state}", done, timeout)

    def _stamped(self, value: Any, extra: Any) -> Any:
        last = current().bus.read(self.operating_state_topic)
        return value if extra is None else (value, 0.0 if last is None else last.time)

    def operating_state(self, extra: Any = None) -> Any:
        return self._stamped(super().operating_state(), extra)

    def is_homed(self, extra: Any = None) -> Any:
        return self._stamped(super().is_homed(), extra)

    def is_busy(self, start_time: Any = None, extra: Any = None) -> Any:
        busy = super().is_busy() if start_time is None else self.is_busy_since(start_time.to_nsec())
        return self._stamped(busy, extra)

    def wait_for_busy(self, is_busy: bool = False, start_time: Any = None, timeout: float = 30.0) -> bool:
        done = super().wait_for_busy(is_busy, None if start_time is None else start_time.to_nsec(), timeout)
        return self._in_time("no motion" if is_busy else "motion not finished", done, timeout)

    def wait_for_homed(self, timeout: float, expected_homed: bool) -> bool:
        done = current().wait_for(lambda: self.is_homed() == expected_homed, timeout)
        return self._in_time("not homed" if expected_homed else "still homed", done, timeout)

    def wait_while_busy(self, start_time: Any = None, timeout: float = 30.0) -> bool:
        """The form of release 2.0; `start_time` is the return value of a motion."""
        if isinstance(start_time, wait_move_handle):
            return start_time.wait(timeout=timeout)
        return self.wait_for_busy(False, start_time, timeout)


class _AnyDevice(ScriptDevice, FeatureRows):
    """A device with every feature, in the namespace of a node."""


class utils:
    """Features of the device in a node's namespace, added one by one to `class_instance`."""

    def __init__(
        self, class_instance: Any, ral: Any = None, connection_timeout: float = 1.0,
        operating_state_instance: Any = None, *, expected_interval: float | None = None, ros_namespace: str = "",
    ) -> None:  # fmt: skip
        self._ral = node_of(ros_namespace if ral is None else ral)
        self._instance = class_instance
        # earlier releases pass the interval of the data here, which is much shorter
        self.device = _AnyDevice(current(), self._ral.namespace(), max(connection_timeout, 0.02))
        self.device.instance = class_instance if operating_state_instance is None else operating_state_instance

    def add_operating_state(self, ral: Any = None) -> None:
        """operating_state, state_command, enable, disable, home, unhome, is_..., wait_for_...

        ral: node or, in earlier releases, namespace of the device whose state it is. Default: that of the features.
        """
        node = self._ral if ral is None else node_of(ral)
        name = node.namespace()
        node.expect("operating_state", "subscriber")
        node.expect("state_command", "publisher")
        states = ScriptStates(current(), name, self.device.connection_timeout)
        self._instance.operating_state_topic = f"{name}/operating_state"  # for move handles
        for method in (*([] if current().tuples else ["wait_while_busy"]), *_CRTK["states"]):
            self._set(method, getattr(states, method))

    def add(self, feature: str) -> None:
        """Add the methods of a topic or service of the interface."""
        for method in FeatureRows.rows.values():
            if method.first[0] == feature:
                if method.hook != "ask":
                    self._ral.expect(feature, "subscriber" if method.hook == "read" else "publisher")
                self._set(method.name, getattr(self.device, method.name))

    def _set(self, name: str, method: Callable[..., Any]) -> None:
        if hasattr(self._instance, name):
            raise RuntimeWarning(f"{name} already exists")
        setattr(self._instance, name, method)


for _name in _CRTK["added"]:
    setattr(utils, f"add_{_name}", partialmethod(utils.add, _name))


class wait_move_handle:
    """Waits for the end of the motion commanded when the handle was created."""

    def __init__(self, class_instance: Any, ral: Any = None) -> None:
        self._instance = class_instance
        # as in crtk, a handle of a class without an operating state fails when it is waited for, not before
        topic = getattr(class_instance, "operating_state_topic", None)
        self._start = None if topic is None else Time.of(time_of_command(current(), topic))

    def wait(self, is_busy: bool = False, timeout: float = 30.0) -> bool:
        """Wait for the end of the motion, or with is_busy=True for its start; False after `timeout` [s]."""
        return bool(self._instance.wait_for_busy(is_busy=is_busy, start_time=self._start, timeout=timeout))

    def is_busy(self, timeout: float = 30.0) -> bool:
        return bool(self._instance.is_busy(start_time=self._start))


class measured_cp:
    """A device that measures a pose, in a node's namespace."""

    def __init__(self, ral: Any, expected_interval: float = 0.01) -> None:
        self._ral = ral
        utils(self, ral, expected_interval).add("measured_cp")

    def ral(self) -> Any:
        return self._ral


class joystick_button:
    """A button of a sensor_msgs/Joy topic: 1 pressed, 0 released, 2 clicked."""

    def __init__(self, ral: Any, button_name: str, index: int = 0) -> None:
        self._index, self._count = index, 0
        self._value: int | None = None
        self._callback: Callable[[int], None] | None = None
        ral.subscriber(button_name, MESSAGES["sensor_msgs/Joy"], self._receive)
        current().wait_for(lambda: True, 0.0)  # the last message before now, if there is one

    def _receive(self, message: Any) -> None:
        self._value = value = message.buttons[self._index]
        self._count += 1
        if self._callback is not None:
            self._callback(value)

    def value(self) -> int | None:
        """The last value; None before the first message."""
        return self._value

    def wait(self, timeout: float | None = None, value: int | None = None) -> bool:
        """Wait for the next message, or for the next one with a value; False after `timeout` [s].

        Release 1.4 of crtk returns False in both cases because of a bug.
        """
        before = self._count

        def arrived() -> bool:
            return self._count > before and (value is None or self._value == value)

        return current().wait_for(arrived, FOREVER if timeout is None else timeout)

    def set_callback(self, callback: Callable[[int], None] | None = None) -> None:
        """Call a function with every new value."""
        self._callback = callback
