"""A phone or headset controller whose tracked pose is streamed, for example by WebXR."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.spatial import Array, pose, rotation_vector
from trocar.teleoperation.devices.device import DEVICES, OPEN, DeviceKind, DeviceLost, DeviceSample, PassiveDevice

STALE = 0.2  # age of the latest pose [s] from which the stream counts as interrupted
INTERVALS = 0.005, 0.05  # minimum and maximum time of the motion to a new pose [s]
# WebXR has x to the right, y up and z towards the user; the display has x to the left, y up and z away.
R_DISPLAY_XR = np.diag([-1.0, 1.0, -1.0])

Clock = Callable[[], float]
BEGIN = {"vr": "squeeze and release the trigger", "phone": "hold and release the button of the gripper on its screen"}


class TrackedHand(PassiveDevice):
    """A hand whose poses arrive from another thread, 30 to 120 times a second.

    The hand moves to a new pose over the time between the last two messages, so that the PSM does not move in steps. If
    the stream stops for 0.2 s or its sender reports a problem, `read` raises `DeviceLost` and the PSM holds.
    `put` and `lose` may be called by any thread.

    Args:
        name: used in messages. help: one line on its axes and buttons. clock: time by which the stream is judged [s].
        page, side: the device that sends the poses ("vr", "phone", "phone2"), and which of its hands this is.

    Attributes:
        felt: contact force on the instrument [N], for a device that can vibrate.
    """

    def __init__(
        self, name: str, help: str, clock: Clock = time.monotonic, *, page: str = "phone", side: str = "right"
    ) -> None:
        self.begin = BEGIN["vr" if page == "vr" else "phone"]
        self.name, self.help, self.page, self.side, self.felt = name, help, page, side, 0.0
        self._clock, self._lock = clock, threading.Lock()
        self._start = self._target = np.eye(4)
        self._received, self._interval = -np.inf, INTERVALS[1]
        self._gripper, self._buttons = OPEN, frozenset[str]()
        self._reason, self._unreported = "is not connected yet", ""

    def put(self, p: Array, quaternion: Array, closed: float, buttons: frozenset[str]) -> None:
        """Take a new pose.

        Args:
            p: position (3,) [m] and quaternion: orientation (4,) as xyzw, in the axes of WebXR.
            closed: gripper, 0 open to 1 closed. buttons: names of those held.
        """
        R = R_DISPLAY_XR @ Rotation.from_quat(quaternion).as_matrix() @ R_DISPLAY_XR
        target, now = pose(R, R_DISPLAY_XR @ p), self._clock()
        with self._lock:
            fresh = not self._reason and now - self._received <= STALE
            self._start = self._pose(now) if fresh else target
            self._interval = min(max(now - self._received, INTERVALS[0]), INTERVALS[1])
            self._target, self._received, self._reason = target, now, ""
            self._gripper, self._buttons = OPEN * (1.0 - closed), buttons

    def lose(self, reason: str) -> None:
        """Make `read` raise `DeviceLost` at least once and until the next pose; reason: such as "has disconnected"."""
        with self._lock:
            self._reason = self._unreported = reason

    def read(self, t: float) -> DeviceSample:
        """The current sample; raises `DeviceLost` if the stream is interrupted."""
        with self._lock:
            now, unreported = self._clock(), self._unreported
            self._unreported = ""
            if unreported or self._reason:
                raise DeviceLost(unreported or self._reason)
            if now - self._received > STALE:
                raise DeviceLost(f"has sent no pose for {STALE:g} s")
            return DeviceSample(pose=self._pose(now), gripper=self._gripper, buttons=self._buttons)

    def _pose(self, now: float) -> Array:
        """Interpolated pose between the one at the arrival of the latest message and the one in that message."""
        share = min(1.0, max(0.0, (now - self._received) / self._interval))
        start, target = self._start, self._target
        R = Rotation.from_rotvec(share * rotation_vector(target[:3, :3] @ start[:3, :3].T)).as_matrix() @ start[:3, :3]
        return pose(R, start[:3, 3] + share * (target[:3, 3] - start[:3, 3]))

    def feel(self, wrench: Array) -> None:
        """Store the force; the sender makes the device vibrate."""
        self.felt = float(np.linalg.norm(wrench[:3]))


def _phone(index: int) -> TrackedHand:
    name = f"phone{index + 1}" if index else "phone"
    return TrackedHand(name, "move the phone; buttons on its screen: gripper, clutch, camera, scale", page=name)


def _headset_controller(index: int) -> TrackedHand:
    """The first controller is the right one."""
    side = ("right", "left")[index]
    help = "trigger: gripper; grip button: clutch; A or X: camera; thumbstick up, down: scale"
    return TrackedHand(f"{side} controller", help, page="vr", side=side)


DEVICES["phone"] = DeviceKind(_phone, tracked=True)
DEVICES["vr"] = DeviceKind(_headset_controller, max_count=2, tracked=True)
