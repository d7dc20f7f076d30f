"""Input devices (samples in, a wrench out): protocol, registry, checks of every sample, and the hand on a device.

All vectors are in the axes of the display: X to the left, Y up, Z away from the operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.spatial import Array, rotation_vector

BUTTONS = ("clutch", "camera", "slower", "faster")  # names of held buttons in a sample
OPEN = math.radians(60.0)  # gripper angle of an open hand [rad]
MAX_VELOCITY = np.repeat([5.0, 50.0], 3)  # of a hand [m/s, rad/s]
MAX_DISTANCE = 5.0  # of a hand from the centre of the display, along an axis [m]
MAX_GRIPPER = math.pi  # [rad]
MIN_INTERVAL = 1e-3  # between two poses from which a speed is computed [s]
ROTATION_TOLERANCE = 1e-3  # tolerance of a rotation matrix; devices send single precision
STALE = 0.1  # age of a sample [s] beyond which its velocity is ignored
TIMEOUT = 0.5  # age of a sample [s] beyond which its device counts as disconnected
BLEND = 0.02  # time constant of the velocity of a position device [s]


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
    """Raised by `InputDevice.read` if there is no valid sample; its text completes "the device ..."."""


class InputDevice(Protocol):
    """An input device. `read` and `feel` return at once and are called by one thread.

    Attributes:
        name: name used in messages. help: one line that explains axes and buttons.
        begin: words for closing and opening the gripper of this device, which makes the PSM follow.
    """

    name: str
    help: str
    begin: str

    @property
    def connected(self) -> bool:
        """False after the device has disconnected."""

    def read(self, t: float) -> DeviceSample:
        """Sample at time t [s]."""

    def feel(self, wrench: Array) -> None:
        """Display a wrench (6,) [N, N m] on the instrument to the hand; devices without actuators ignore it."""

    def close(self) -> None:
        """Release the device."""


class PassiveDevice:
    """Base of devices without actuators that stay connected until they are closed."""

    connected = True
    begin = "close the gripper and open it"

    def feel(self, wrench: Array) -> None:
        """Do nothing: the device has no actuators."""

    def close(self) -> None:
        self.connected = False


@dataclass(frozen=True)
class DeviceKind:
    """A kind of device that `trocar teleop` offers by name; every module of this folder may add some to `DEVICES`.

    Attributes:
        open: function that returns the device of an index among those of its kind.
        max_count: number of devices of this kind that can be used at the same time; None: any.
        in_page: it is a part of the page. tracked: its poses arrive over the network.
        scale: default scale of the motion.
    """

    open: Callable[[int], InputDevice]
    max_count: int | None = None
    in_page: bool = False
    tracked: bool = False
    scale: float = 0.2


DEVICES: dict[str, DeviceKind] = {}


def problem(sample: DeviceSample, before: DeviceSample | None = None, dt: float = math.inf) -> str:
    """Reason to reject a sample, "" if it is valid.

    Args:
        before: the last valid sample. dt: time since then [s].
    """
    try:
        return next(_problems(sample, before, max(dt, MIN_INTERVAL)), "")
    except (TypeError, ValueError, AttributeError, OverflowError):
        return "sent an invalid sample"


def _problems(sample: DeviceSample, before: DeviceSample | None, dt: float) -> Iterator[str]:
    """Reasons to reject a sample; each check relies on the earlier ones."""
    if (sample.twist is None) == (sample.pose is None):
        yield "sent a sample without twist and pose" if sample.twist is None else "sent both twist and pose"
    if not math.isfinite(sample.gripper):
        yield "sent a gripper angle that is not finite"
    if abs(sample.gripper) > MAX_GRIPPER:
        yield f"sent an impossible gripper angle, {sample.gripper:.3g} rad"
    unknown = sorted(set(sample.buttons) - set(BUTTONS))
    if unknown:
        yield f"sent an unknown button, {unknown[0]!r:.40}"
    what, shape = ("pose", (4, 4)) if sample.twist is None else ("twist", (6,))
    value = np.asarray(sample.pose if sample.twist is None else sample.twist, dtype=float)
    if value.shape != shape:
        yield f"sent a {what} of shape {value.shape}"
    if not np.isfinite(value).all():
        yield f"sent a {what} that is not finite"
    if what == "twist":
        if (np.abs(value) > MAX_VELOCITY).any():
            yield "sent an impossible twist, above 5 m/s or 50 rad/s"
        return
    if float(np.abs(value[:3, 3]).max()) > MAX_DISTANCE:  # before anything that could overflow
        yield f"sent an impossible pose, more than {MAX_DISTANCE:g} m away"
    R = np.clip(value[:3, :3], -2.0, 2.0)
    orthogonal = float(np.abs(R.T @ R - np.eye(3)).max()) < ROTATION_TOLERANCE and np.linalg.det(R) > 0.0
    if not orthogonal or (np.abs(value[3] - [0.0, 0.0, 0.0, 1.0]) > ROTATION_TOLERANCE).any():
        yield "sent a matrix that is not a rigid transform"
    if before is not None and before.pose is not None:
        speed = float(np.linalg.norm(value[:3, 3] - before.pose[:3, 3])) / dt
        if speed > MAX_VELOCITY[0]:
            yield f"has jumped, at {speed:.3g} m/s"


def deadband(value: float, width: float = 0.12) -> float:
    """0 below `width`, because a stick at rest is not exactly at 0; continuous above."""
    beyond = max(0.0, abs(value) - width) / (1.0 - width)
    return math.copysign(min(beyond, 1.0), value)


# -- hand --------------------------------------------------------------------------------------------------------------


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
        self._restart = ""  # reason of a fault in the next step

    def use(self, device: InputDevice, reason: str = "was chosen") -> None:
        """Read a device from now on. The grip stays in place, with a fault for this reason in the next step."""
        self.device, self._restart = device, reason
        self._sample, self._used = (-math.inf, None, ""), (-math.inf, None)

    def poll(self, t: float) -> None:
        """Read the device at time t [s]."""
        sample, reason = None, "has gone"
        try:
            if self.device.connected:
                sample, (last, before) = self.device.read(t), self._used
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
        if self._restart:  # a new device may be elsewhere
            reason, self._restart = self._restart, ""
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
