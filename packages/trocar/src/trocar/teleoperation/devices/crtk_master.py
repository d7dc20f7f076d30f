"""A master over its public CRTK topics: a dVRK's MTM, or any haptic device whose driver offers them in ROS."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.spatial import Array
from trocar.teleoperation.devices.device import OPEN, DeviceLost, DeviceSample

STALE = 0.2  # age of the last pose beyond which the master counts as lost [s]
FORCES = ("body/servo_cf", "servo_cf", "spatial/servo_cf")  # topics for a wrench, the first that exists is used
PEDALS = {"clutch": "clutch", "camera": "camera"}  # topics of `footpedals`, and buttons
# Commands that prepare a dVRK's MTM for wrenches in the axes of the display.
PREPARATION = ("use_gravity_compensation", "body/set_cf_orientation_absolute")


class TopicBus(Protocol):
    """Topics of a robot: `trocar.robot.Bus`, or `RemoteBus` for ROS 1 and ROS 2."""

    @property
    def topics(self) -> Mapping[str, Any]: ...
    def subscribe(self, name: str, callback: Callable[[Any], None]) -> Any: ...
    def publish(self, name: str, message: Any) -> None: ...


class CrtkMaster:
    """Hand on a master that publishes `NAME/measured_cp` and, if it has a gripper, `NAME/gripper/measured_js`.

    Poses must be in the axes of the display (X to the left, Y up, Z away), as those of a dVRK's MTM in its console.
    Pedals of the same system, `footpedals/clutch` and `footpedals/camera`, are its buttons.

    Args:
        bus: topics of the system. name: of the master.
        forces: send the force of the instrument to the master's `body/servo_cf`, `servo_cf` or `spatial/servo_cf`.
            This moves a real device; without it nothing is sent.
        clock: time by which the poses are judged [s].
    """

    def __init__(
        self, bus: TopicBus, name: str, *, forces: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._bus, self._clock, self._lock = bus, clock, threading.Lock()
        name = name.strip("/")
        if f"{name}/measured_cp" not in bus.topics:
            offered = sorted(
                topic.removesuffix("/measured_cp") for topic in bus.topics if topic.endswith("/measured_cp")
            )
            raise TrocarError(f"no topic {name}/measured_cp; masters could be: {', '.join(offered) or 'none'}")
        self._command = next((f"{name}/{topic}" for topic in FORCES if f"{name}/{topic}" in bus.topics), None)
        if forces and self._command is None:
            raise TrocarError(f"{name} takes no wrench: it has none of {', '.join(FORCES)}")
        self.name = name
        grips = f"{name}/gripper/measured_js" in bus.topics
        self.begin = "close the gripper and open it" if grips else "turn the grip a little"
        feels = f"its force is {self._command.removeprefix(name + '/')}" if forces and self._command else "no force"
        self.help = f"{name} over CRTK; {feels}; clutch and camera: pedals of its console, or boxes of the page"
        self.connected = True
        self._forces, self._pushes = forces, False
        self._T, self._gripper, self._arrived = np.eye(4), OPEN, -math.inf
        self._buttons: set[str] = set()
        self._subscriptions = [bus.subscribe(f"{name}/measured_cp", self._on_pose)]
        if grips:
            self._subscriptions.append(bus.subscribe(f"{name}/gripper/measured_js", self._on_gripper))
        for pedal, button in PEDALS.items():
            if f"footpedals/{pedal}" in bus.topics:
                press = lambda message, button=button: self._on_pedal(button, message)  # noqa: E731
                self._subscriptions.append(bus.subscribe(f"footpedals/{pedal}", press))
        for topic in PREPARATION if forces else ():
            if f"{name}/{topic}" in bus.topics:
                bus.publish(f"{name}/{topic}", m.Bool(value=True))

    def _on_pose(self, message: Any) -> None:
        with self._lock:
            self._T, self._arrived = np.array(message.T), self._clock()

    def _on_gripper(self, message: Any) -> None:
        if len(message.position):
            self._gripper = float(message.position[0])

    def _on_pedal(self, button: str, message: Any) -> None:
        pressed = bool(message.buttons) and message.buttons[0] == m.Joy.PRESSED
        with self._lock:
            (self._buttons.add if pressed else self._buttons.discard)(button)

    def read(self, t: float) -> DeviceSample:
        """The latest pose, gripper and pedals; raises `DeviceLost` if no pose has arrived for 0.2 s."""
        with self._lock:
            if self._clock() - self._arrived > STALE:
                raise DeviceLost("sends no measured_cp")
            gripper = min(max(self._gripper, 0.0), OPEN)
            return DeviceSample(pose=self._T, gripper=gripper, buttons=frozenset(self._buttons))

    def feel(self, wrench: Array) -> None:
        """Send a wrench (6,) [N, N m] in the axes of the display; zeros end the last one."""
        pushes = bool(np.any(wrench))
        if self._forces and self._command is not None and (pushes or self._pushes):
            self._bus.publish(self._command, m.Wrench(vector=np.asarray(wrench, dtype=float)))
            self._pushes = pushes

    def close(self) -> None:
        """End the force and the subscriptions."""
        if self.connected:
            self.feel(np.zeros(6))
            for subscription in self._subscriptions:
                subscription.close()
        self.connected = False
