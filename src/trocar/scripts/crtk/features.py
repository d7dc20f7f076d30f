"""`crtk.utils`: adds the methods of the CRTK interface to an object of the script."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from trocar.errors import UnknownName
from trocar.robot import messages as m
from trocar.robot.clients.arm import joints
from trocar.robot.clients.device import Device, StatefulDevice
from trocar.scripts.crtk.move_handle import wait_move_handle
from trocar.scripts.crtk.node import node_of
from trocar.scripts.pykdl import Frame
from trocar.scripts.session import current


class utils:
    """Features of the device in a node's namespace, added one by one.

    Getters return (value, time [s]) in release 1.4 and before it the bare value, except for `measured_js` and
    `setpoint_js`, which always end with the time. Joints are numpy arrays [rad, m, N m, N], poses PyKDL frames, twists
    and wrenches arrays (6,), linear first.
    """

    def __init__(
        self,
        class_instance: Any,
        ral: Any = None,
        connection_timeout: float = 1.0,
        operating_state_instance: Any = None,
        *,
        expected_interval: float | None = None,
        ros_namespace: str = "",
    ) -> None:
        self._ral = node_of(ros_namespace if ral is None else ral)
        self._instance = class_instance
        # earlier releases pass the interval of the data here, which is much shorter
        self._device = Device(current(), self._ral.namespace(), max(connection_timeout, 0.02))
        self._states = class_instance if operating_state_instance is None else operating_state_instance
        self._tuples = current().tuples

    # -- operating state -----------------------------------------------------------------------------------------------

    def add_operating_state(self, ral: Any = None) -> None:
        """operating_state, state_command, enable, disable, home, unhome, is_..., wait_for_...

        ral: node or, in earlier releases, namespace of the device whose state it is. Default: that of the features.
        """
        node = self._ral if ral is None else node_of(ral)
        name = node.namespace()
        node.expect("operating_state", "subscriber")
        node.expect("state_command", "publisher")
        try:
            device = StatefulDevice(current(), name, self._device.connection_timeout)
        except UnknownName:
            devices = ", ".join(current().robot.devices)
            raise TimeoutError(
                f"{name} is not in the scene, which has {devices}; choose another with --scene"
            ) from None

        def stamped(value: Any, extra: Any) -> Any:
            if extra is None:
                return value
            last = current().bus.read(f"{name}/operating_state")
            return value, 0.0 if last is None else last.time

        def is_busy(start_time: Any = None, extra: Any = None) -> Any:
            busy = device.is_busy() if start_time is None else device.is_busy_since(start_time.to_nsec())
            return stamped(busy, extra)

        def wait_for_busy(is_busy: bool = False, start_time: Any = None, timeout: float = 30.0) -> bool:
            return device.wait_for_busy(is_busy, None if start_time is None else start_time.to_nsec(), timeout)

        def wait_for_homed(timeout: float, expected_homed: bool) -> bool:
            return current().wait_for(lambda: device.is_homed() == expected_homed, timeout)

        self._instance.operating_state_topic = f"{name}/operating_state"  # for move handles

        def wait_while_busy(start_time: Any = None, timeout: float = 30.0) -> bool:
            """The form of release 2.0; `start_time` is the return value of a motion."""
            if isinstance(start_time, wait_move_handle):
                return start_time.wait(timeout=timeout)
            return wait_for_busy(False, start_time, timeout)

        if not self._tuples:
            self._add(wait_while_busy=wait_while_busy)
        self._add(
            operating_state=lambda extra=None: stamped(device.operating_state(), extra),
            wait_for_operating_state=device.wait_for_operating_state,
            wait_for_homed=wait_for_homed,
            wait_for_busy=wait_for_busy,
            state_command=device.state_command,
            enable=device.enable,
            disable=device.disable,
            home=device.home,
            unhome=device.unhome,
            is_enabled=device.is_enabled,
            is_disabled=device.is_disabled,
            is_homed=lambda extra=None: stamped(device.is_homed(), extra),
            is_busy=is_busy,
        )

    # -- getters -------------------------------------------------------------------------------------------------------

    def add_measured_js(self) -> None:
        self._add_joints("measured")

    def add_setpoint_js(self) -> None:
        self._add_joints("setpoint")

    def _add_joints(self, prefix: str) -> None:
        topic = f"{prefix}_js"
        self._add(
            **{
                topic: self._getter(topic, lambda js: (_copy(js.position), _copy(js.velocity), _copy(js.effort))),
                f"{prefix}_jp": self._getter(topic, lambda js: (_copy(js.position),)),
                f"{prefix}_jv": self._getter(topic, lambda js: (_copy(js.velocity),)),
                f"{prefix}_jf": self._getter(topic, lambda js: (_copy(js.effort),)),
            }
        )

    def add_measured_cp(self) -> None:
        self._add(measured_cp=self._getter("measured_cp", lambda pose: (Frame.from_matrix(pose.T),)))

    def add_setpoint_cp(self) -> None:
        self._add(setpoint_cp=self._getter("setpoint_cp", lambda pose: (Frame.from_matrix(pose.T),)))

    def add_measured_cv(self) -> None:
        self._add(measured_cv=self._getter("measured_cv", lambda twist: (_copy(twist.vector),)))

    def add_measured_cf(self) -> None:
        self._add(measured_cf=self._getter("measured_cf", lambda wrench: (_copy(wrench.vector),)))

    def add_jacobian(self) -> None:
        self._add(jacobian=self._getter("jacobian", lambda matrix: (_copy(matrix.values),)))

    def _getter(self, topic: str, values: Callable[[Any], tuple[Any, ...]]) -> Callable[..., Any]:
        """A getter of release 1.4, get(wait_timeout=None), or of earlier ones, get(age=None, wait=None, extra=None)."""
        self._ral.expect(topic, "subscriber")

        def get(
            first: Any = None, wait: Any = None, extra: Any = None, *, wait_timeout: Any = None, age: Any = None
        ) -> Any:
            timeout = wait_timeout if wait_timeout is not None else first if self._tuples else wait
            try:
                message = self._device.receive(topic, timeout)
            except (UnknownName, TimeoutError) as error:
                if isinstance(error, UnknownName):
                    current().sleep(self._device.connection_timeout if timeout is None else timeout)
                failure = TimeoutError if self._tuples else RuntimeWarning
                raise failure(f"no valid data on /{self._device.name()}/{topic}") from None
            found = values(message)
            if self._tuples:
                return *found, message.time
            return [*found, message.time] if len(found) > 1 or extra else found[0]

        return get

    # -- commands ------------------------------------------------------------------------------------------------------

    def add_hold(self) -> None:
        self._add(hold=self._command("hold", m.Empty))

    def add_free(self) -> None:
        self._add(free=self._command("free", m.Empty))

    def add_servo_jp(self) -> None:
        self._add(servo_jp=self._command("servo_jp", lambda setpoint_p, setpoint_v=(): joints(setpoint_p, setpoint_v)))

    def add_servo_jr(self) -> None:
        self._add(servo_jr=self._command("servo_jr", joints))

    def add_servo_jv(self) -> None:
        self._add(servo_jv=self._command("servo_jv", lambda setpoint: joints(velocity=setpoint)))

    def add_servo_jf(self) -> None:
        self._add(servo_jf=self._command("servo_jf", lambda setpoint: joints(effort=setpoint)))

    def add_servo_cp(self) -> None:
        self._add(servo_cp=self._command("servo_cp", _pose))

    def add_servo_cf(self) -> None:
        self._add(servo_cf=self._command("servo_cf", lambda setpoint: m.Wrench(vector=_copy(setpoint))))

    def add_servo_cv(self) -> None:
        self._add(servo_cv=self._command("servo_cv", lambda setpoint: m.Twist(vector=_copy(setpoint))))

    def add_move_jp(self) -> None:
        self._add(move_jp=self._motion("move_jp", joints))

    def add_move_jr(self) -> None:
        self._add(move_jr=self._motion("move_jr", joints))

    def add_move_cp(self) -> None:
        self._add(move_cp=self._motion("move_cp", _pose))

    def _command(self, topic: str, message: Callable[..., m.Message]) -> Callable[..., None]:
        self._ral.expect(topic, "publisher")

        def send(*arguments: Any, **named: Any) -> None:
            try:
                self._device.send(topic, message(*arguments, **named))
            except UnknownName:
                print(f"trocar run: nothing listens on /{self._device.name()}/{topic}", file=sys.stderr)

        return send

    def _motion(self, topic: str, message: Callable[..., m.Message]) -> Callable[..., wait_move_handle]:
        send = self._command(topic, message)

        def move(*arguments: Any, **named: Any) -> wait_move_handle:
            handle = wait_move_handle(self._states, self._ral)
            send(*arguments, **named)
            return handle

        return move

    # -- kinematics ----------------------------------------------------------------------------------------------------

    def add_forward_kinematics(self) -> None:
        def forward_kinematics(jp: Any, extra: Any = None) -> Any:
            return self._answer("forward_kinematics", Frame.from_matrix, extra, jp)

        self._add(forward_kinematics=forward_kinematics)

    def add_inverse_kinematics(self) -> None:
        def inverse_kinematics(jp: Any, cp: Frame, extra: Any = None) -> Any:
            return self._answer("inverse_kinematics", _copy, extra, jp, cp.to_matrix())

        self._add(inverse_kinematics=inverse_kinematics)

    def _answer(self, service: str, convert: Callable[[Any], Any], extra: Any, *arguments: Any) -> Any:
        found = self._device.call(service, *arguments)
        value = convert(found.value)
        return value if extra is None else (value, found.result, found.message)

    def _add(self, **methods: Callable[..., Any]) -> None:
        for name, method in methods.items():
            if hasattr(self._instance, name):
                raise RuntimeWarning(f"{name} already exists")
            setattr(self._instance, name, method)


def _copy(values: Any) -> Any:
    return np.array(values, dtype=float)


def _pose(setpoint: Frame) -> m.Pose:
    return m.Pose(T=setpoint.to_matrix())
