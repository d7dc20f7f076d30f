"""A hand on a device: turns samples into the pose of a grip, and detects faults."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.spatial import Array, rotation_vector
from trocar.teleoperation.devices.device import OPEN, DeviceLost, DeviceSample, InputDevice, problem

STALE = 0.1  # age of a sample [s] beyond which its velocity is ignored
TIMEOUT = 0.5  # age of a sample [s] beyond which its device counts as disconnected
BLEND = 0.02  # time constant of the velocity of a position device [s]


@dataclass(frozen=True, slots=True)
class HandState:
    """State of a hand at one time, as sent to the robot.

    Attributes:
        pose: (4, 4) in the display frame. twist: (6,) [m/s, rad/s]. gripper: [rad]. buttons: held.
        fault: reason not to follow it, "" if it is valid.
    """

    pose: Array = field(default_factory=lambda: np.eye(4))
    twist: Array = field(default_factory=lambda: np.zeros(6))
    gripper: float = OPEN
    buttons: frozenset[str] = frozenset()
    fault: str = ""


class Hand:
    """Reads a device with `poll` and moves a grip with `step`; the two may belong to different threads.

    A rate device moves the grip at its velocity; a position device sets its pose. If a device fails in any way, the
    grip stays in place and has a `fault`.

    Attributes:
        device: the device. grip: state after the last step.
    """

    def __init__(self, device: InputDevice) -> None:
        self.device, self.grip = device, HandState()
        self._sample: tuple[float, DeviceSample | None, str] = (-math.inf, None, "")  # time, sample, reason
        self._used: tuple[float, DeviceSample | None] = (-math.inf, None)
        self._lost = False

    def poll(self, t: float) -> None:
        """Read the device at time t [s]."""
        sample, reason = None, ""
        try:
            if not self.device.connected:
                reason = "has gone"
            else:
                sample = self.device.read(t)
                before, last = self._used[1], self._used[0]
                # after a fault the hand may be elsewhere; following restarts anyway
                reason = problem(sample, None if self._lost else before, t - last)
        except DeviceLost as lost:
            reason = str(lost)[:120]
        except Exception as error:  # any error of a driver: the PSM must hold
            reason = f"has failed ({type(error).__name__}: {error})"[:120]
        self._lost = bool(reason)
        if not reason:
            self._used = (t, sample)
        self._sample = (t, None if reason else sample, reason)

    def step(self, t: float, dt: float) -> HandState:
        """Grip at time t [s], dt after the last one."""
        polled, sample, reason = self._sample
        if not reason and t - polled > TIMEOUT:
            reason = f"has sent nothing for {TIMEOUT:g} s" if math.isfinite(polled) else "has sent nothing yet"
        if reason or sample is None:
            self.grip = HandState(self.grip.pose, gripper=self.grip.gripper, fault=f"{self.device.name} {reason}")
        else:
            self.grip = self._moved(sample, dt, stale=t - polled > STALE)
        return self.grip

    def _moved(self, sample: DeviceSample, dt: float, stale: bool) -> HandState:
        before = self.grip
        if sample.pose is not None:
            T = _exact(sample.pose)
            change = np.concatenate([T[:3, 3] - before.pose[:3, 3], rotation_vector(T[:3, :3] @ before.pose[:3, :3].T)])
            jumped = bool(before.fault)  # a displacement during a fault is not a velocity
            share = dt / (BLEND + dt)
            twist = np.zeros(6) if jumped else (1.0 - share) * before.twist + share * change / dt
        else:
            assert sample.twist is not None
            twist = np.zeros(6) if stale else np.asarray(sample.twist, dtype=float)
            T = before.pose.copy()
            T[:3, 3] += dt * twist[:3]
            if twist[3:].any():
                T[:3, :3] = Rotation.from_rotvec(dt * twist[3:]).as_matrix() @ T[:3, :3]
                T = _exact(T)
        return HandState(T, twist, float(sample.gripper), frozenset(sample.buttons))


def _exact(T: Array) -> Array:
    """A pose (4, 4) with an orthonormal rotation."""
    exact = np.array(T, dtype=float)
    exact[:3, :3] = Rotation.from_matrix(exact[:3, :3]).as_matrix()
    exact[3] = 0.0, 0.0, 0.0, 1.0
    return exact
