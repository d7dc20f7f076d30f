"""The protocol of an input device (samples in, a wrench out) and the checks applied to every sample.

All vectors are in the axes of the display: X to the left, Y up, Z away from the operator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trocar.spatial import Array

BUTTONS = ("clutch", "camera", "slower", "faster")  # names of held buttons in a sample
OPEN = math.radians(60.0)  # gripper angle of an open hand [rad]
FASTEST = np.repeat([5.0, 50.0], 3)  # greatest velocity of a hand [m/s, rad/s]
FARTHEST = 5.0  # greatest distance of a hand from the centre of the display, along an axis [m]
WIDEST = math.pi  # greatest gripper angle [rad]
LEAST_TIME = 1e-3  # shortest time between two poses from which a speed is computed [s]
ROTATION_TOLERANCE = 1e-3  # tolerance of a rotation matrix; devices send single precision


@dataclass(frozen=True, slots=True)
class DeviceSample:
    """One reading of a device, with either a twist or a pose.

    Attributes:
        twist: velocity (6,) of the hand [m/s, rad/s], from rate devices (stick, SpaceMouse, key).
        pose: (4, 4) of the hand in the display frame, from position devices (phone, controller, dragged handle).
        gripper: angle [rad], 0 closed, `OPEN` open.
        buttons: names of the held buttons: clutch, camera, slower, faster.
    """

    twist: Array | None = None
    pose: Array | None = None
    gripper: float = OPEN
    buttons: frozenset[str] = frozenset()


class DeviceLost(Exception):
    """Raised by `Device.read` if there is no valid sample; its text completes "the device ..."."""


class Device(Protocol):
    """An input device. `read` and `feel` return at once and are called by one thread.

    Attributes:
        name: name used in messages. help: one line that explains axes and buttons.
    """

    name: str
    help: str

    @property
    def connected(self) -> bool:
        """False after the device has disconnected."""
        ...

    def read(self, t: float) -> DeviceSample:
        """Sample at time t [s]."""
        ...

    def feel(self, wrench: Array) -> None:
        """Display a wrench (6,) [N, N m] on the instrument to the hand; devices without actuators ignore it."""
        ...

    def close(self) -> None:
        """Release the device."""
        ...


def problem(sample: DeviceSample, before: DeviceSample | None = None, dt: float = math.inf) -> str:
    """Reason to reject a sample, "" if it is valid.

    Args:
        before: the last valid sample. dt: time since then [s].
    """
    try:
        return _problem(sample, before, max(dt, LEAST_TIME))
    except (TypeError, ValueError, AttributeError, OverflowError):
        return "sends something that is no sample"


def _problem(sample: DeviceSample, before: DeviceSample | None, dt: float) -> str:
    if (sample.twist is None) == (sample.pose is None):
        return "sends a sample without twist and pose" if sample.twist is None else "sends both twist and pose"
    if not math.isfinite(sample.gripper):
        return "sends a gripper angle that is not finite"
    if abs(sample.gripper) > WIDEST:
        return f"sends an impossible gripper angle, {sample.gripper:.3g} rad"
    unknown = sorted(set(sample.buttons) - set(BUTTONS))
    if unknown:
        return f"sends an unknown button, {unknown[0]!r:.40}"
    if sample.twist is not None:
        return _twist_problem(np.asarray(sample.twist, dtype=float))
    return _pose_problem(np.asarray(sample.pose, dtype=float), before, dt)


def _twist_problem(twist: Array) -> str:
    if twist.shape != (6,):
        return f"sends a twist of shape {twist.shape}"
    if not np.isfinite(twist).all():
        return "sends a twist that is not finite"
    if (np.abs(twist) > FASTEST).any():
        return "sends an impossible twist, above 5 m/s or 50 rad/s"
    return ""


def _pose_problem(T: Array, before: DeviceSample | None, dt: float) -> str:
    if T.shape != (4, 4):
        return f"sends a pose of shape {T.shape}"
    if not np.isfinite(T).all():
        return "sends a pose that is not finite"
    if float(np.abs(T[:3, 3]).max()) > FARTHEST:  # before anything that could overflow
        return f"sends an impossible pose, more than {FARTHEST:g} m away"
    R = np.clip(T[:3, :3], -2.0, 2.0)
    orthogonal = float(np.abs(R.T @ R - np.eye(3)).max()) < ROTATION_TOLERANCE and np.linalg.det(R) > 0.0
    if not orthogonal or (np.abs(T[3] - [0.0, 0.0, 0.0, 1.0]) > ROTATION_TOLERANCE).any():
        return "sends a pose that is no rotation and translation"
    if before is not None and before.pose is not None:
        speed = float(np.linalg.norm(T[:3, 3] - before.pose[:3, 3])) / dt
        if speed > FASTEST[0]:
            return f"has jumped, at {speed:.3g} m/s"
    return ""


@dataclass
class Deadband:
    """Maps values below `width` to 0, because a stick at rest is not exactly at 0; continuous above."""

    width: float = 0.12

    def __call__(self, value: float) -> float:
        beyond = max(0.0, abs(value) - self.width) / (1.0 - self.width)
        return math.copysign(min(beyond, 1.0), value)
