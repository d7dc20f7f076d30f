"""Law of a PSM that follows an MTM, detection of an operator, and law of the jaw.

Poses (4, 4) are in the frame that the operator sees: the display for the MTM, the camera for the PSM, both with X to
the left, Y up, Z away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trocar.spatial import Array, inverse
from trocar.teleoperation.settings import PERIOD, PSMSettings

CAUGHT_UP = math.radians(2.0)  # difference below which the jaw has caught up with the gripper after a clutch [rad]
WITHOUT_GRIPPER = math.radians(45.0)  # jaw angle if the master has no gripper [rad]
BEYOND = 100.0 * math.pi  # initial minimum, larger than any angle [rad]
BOTH = 0.8  # share of both thresholds that gripper and roll must exceed together to show an operator


@dataclass
class Origins:
    """Poses (4, 4) at the start of following, and the constant rotation A = R_m0' R_s0 (3, 3) between them.

    `base` is the PSM's base frame at that time, None if it is not observed.
    """

    master: Array
    slave: Array
    offset: Array
    base: Array | None


def origins(master: Array, slave: Array, base: Array | None = None) -> Origins:
    """Origins at measured MTM and set-point PSM poses (4, 4)."""
    return Origins(master.copy(), slave.copy(), master[:3, :3].T @ slave[:3, :3], None if base is None else base.copy())


def psm_goal(
    master: Array,
    at: Origins,
    scale: float,
    *,
    translation_locked: bool = False,
    rotation_locked: bool = False,
    base: Array | None = None,
) -> Array:
    """Pose (4, 4) of the PSM: p_s0 + scale (p_m - p_m0) and R_m A.

    If the PSM's base B has moved since the start, the goal is premultiplied by inv(B) B0.
    """
    goal = at.slave.copy()
    if not translation_locked:
        goal[:3, 3] += scale * (master[:3, 3] - at.master[:3, 3])
    if not rotation_locked:
        goal[:3, :3] = master[:3, :3].dot(at.offset)
    if base is not None and at.base is not None:
        goal = inverse(base) @ at.base @ goal
    return goal


def psm_twist(twist: Array, settings: PSMSettings, scale: float) -> Array | None:
    """Twist (6,) sent with the goal [m/s, rad/s]; None if the settings use no velocity."""
    if not (settings.use_MTM_linear_velocity or settings.use_MTM_angular_velocity):
        return None
    sent = np.zeros(6)
    if settings.use_MTM_linear_velocity:
        sent[:3] = scale * twist[:3]
    if settings.use_MTM_angular_velocity:
        sent[3:] = twist[3:]
    return sent


@dataclass
class Activity:
    """Signs of an operator: the ranges of gripper angle and roll since alignment began [rad].

    As on the dVRK, a value raises the maximum or else lowers the minimum. The first value raises only the maximum, so a
    gripper that opens steadily and without noise is never detected.
    """

    active: bool = False
    roll_min: float = BEYOND
    roll_max: float = -BEYOND
    gripper_min: float = BEYOND
    gripper_max: float = -BEYOND

    def restart(self) -> None:
        """Clear the ranges."""
        self.roll_min = self.gripper_min = BEYOND
        self.roll_max = self.gripper_max = -BEYOND

    def observe(self, roll: float, gripper: float | None, settings: PSMSettings) -> None:
        """Add a sample: angle between the y axes of MTM and PSM, and gripper angle (None: no gripper) [rad]."""
        gripper_range = 0.0
        if gripper is not None:
            if gripper > self.gripper_max:
                self.gripper_max = gripper
            elif gripper < self.gripper_min:
                self.gripper_min = gripper
            gripper_range = self.gripper_max - self.gripper_min
        if roll > self.roll_max:
            self.roll_max = roll
        elif roll < self.roll_min:
            self.roll_min = roll
        roll_range = self.roll_max - self.roll_min
        pinch, twist = settings.start_gripper_threshold, settings.start_roll_threshold
        if gripper_range >= pinch or roll_range >= twist or gripper_range + roll_range > BOTH * (pinch + twist):
            self.active = True


def roll(master: Array, slave: Array) -> float:
    """Angle between the y axes of two poses (4, 4) [rad]."""
    return math.acos(min(1.0, max(-1.0, float(master[:3, 1] @ slave[:3, 1]))))


def turn(A: Array) -> float:
    """Angle of a rotation (3, 3) [rad]."""
    # the axis part keeps the digits that the trace loses near 0
    x, y, z = A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]
    return math.atan2(math.sqrt(x * x + y * y + z * z), float(A[0, 0] + A[1, 1] + A[2, 2]) - 1.0)


@dataclass
class JawGhost:
    """Rate-limited copy of the gripper angle; the jaw follows it.

    Attributes:
        zero: gripper angle of the closed jaw [rad]. span: gripper range from closed to open [rad].
        jaw_min, jaw_max: jaw limits [rad].
        angle: current angle [rad]. caught_up: it has been within 2 deg of the gripper since following began.
    """

    zero: float
    span: float
    jaw_min: float
    jaw_max: float
    angle: float = 0.0
    caught_up: bool = False

    @classmethod
    def of(cls, settings: PSMSettings, jaw: tuple[float, float] | None) -> JawGhost:
        """Ghost for the limits of a jaw [rad]. Default (None): the jaw opens as far as the gripper."""
        low, high = (0.0, settings.gripper_max) if jaw is None else jaw
        return cls(settings.gripper_zero, settings.gripper_max - settings.gripper_zero, low, high)

    def start(self, jaw: float) -> None:
        """Start at the current jaw angle [rad]."""
        self.angle, self.caught_up = self.gripper(jaw), False

    def jaw(self, gripper: float) -> float:
        """Jaw angle for a gripper angle [rad]."""
        return (gripper - self.zero) * self.jaw_max / self.span

    def gripper(self, jaw: float) -> float:
        """Gripper angle for a jaw angle [rad]."""
        return jaw * self.span / self.jaw_max + self.zero

    def follow(self, gripper: float, settings: PSMSettings, period: float = PERIOD) -> float:
        """Jaw angle one period later [rad], not below the jaw's limit; negative angles press the fingers together."""
        error = abs(gripper - self.angle)
        self.caught_up = self.caught_up or error < CAUGHT_UP
        rate = settings.jaw_rate if self.caught_up else settings.jaw_rate_after_clutch
        self.angle += math.copysign(min(error, rate * period), gripper - self.angle)
        goal = self.jaw(self.angle)
        if goal < self.jaw_min:
            goal, self.angle = self.jaw_min, self.gripper(self.jaw_min)
        return goal
