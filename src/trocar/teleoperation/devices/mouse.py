"""A handle in the page that a mouse drags, as a position device."""

from __future__ import annotations

import threading

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.spatial import Array, checked_pose, rotation_vector
from trocar.teleoperation.devices.device import DEVICES, OPEN, DeviceKind, DeviceSample, PassiveDevice

SPEED, TURN = 0.15, 2.0  # velocity of the hand towards the handle [m/s, rad/s]
MAX_INTERVAL = 0.05  # between readings that moves the hand [s]


class Mouse(PassiveDevice):
    """Moves the hand along with the dragged handle, at a limited speed because a browser sends large steps.

    `place`, `carry` and `squeeze` may be called by any thread.
    """

    name = "mouse"
    help = "drag the handle at the instrument's tip; gripper, clutch and camera are boxes to tick"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pose, self._target, self._closed = np.eye(4), np.eye(4), False
        self._placed = np.eye(4), np.eye(4)  # handle and hand when the handle was placed
        self._read = -np.inf

    def place(self, T: Array) -> None:
        """Put the handle at a pose (4, 4) in the display frame; the hand stays in place."""
        T = checked_pose(T)
        with self._lock:
            self._placed, self._target = (T, self._pose), self._pose

    def carry(self, T: Array) -> None:
        """Drag the handle to a pose (4, 4) in the display frame."""
        T = checked_pose(T)
        with self._lock:
            handle, hand = self._placed
            self._target = hand.copy()
            self._target[:3, 3] += T[:3, 3] - handle[:3, 3]
            self._target[:3, :3] = T[:3, :3] @ handle[:3, :3].T @ hand[:3, :3]

    def squeeze(self, closed: bool) -> None:
        """Close or open the gripper."""
        self._closed = closed

    def read(self, t: float) -> DeviceSample:
        """Pose of the hand at time t [s], on its way to the handle."""
        with self._lock:
            return self._move(t)

    def _move(self, t: float) -> DeviceSample:
        target = self._target
        dt, self._read = min(t - self._read, MAX_INTERVAL), t
        here = self._pose
        way, turn = target[:3, 3] - here[:3, 3], rotation_vector(target[:3, :3] @ here[:3, :3].T)
        share = min(
            1.0,
            SPEED * dt / max(float(np.linalg.norm(way)), 1e-12),
            TURN * dt / max(float(np.linalg.norm(turn)), 1e-12),
        )
        moved = here.copy()
        moved[:3, 3] += share * way
        moved[:3, :3] = Rotation.from_rotvec(share * turn).as_matrix() @ here[:3, :3]
        self._pose = moved
        return DeviceSample(pose=moved, gripper=0.0 if self._closed else OPEN)


# a dragged handle moves the tip one to one
DEVICES["mouse"] = DeviceKind(lambda index: Mouse(), max_count=1, in_page=True, scale=1.0)
