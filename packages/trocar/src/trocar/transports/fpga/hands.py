"""A hand on the tip of an arm: spring and damper to a point that moves smoothly, and fingers that turn or slip."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.simulation import SimulatedArm
from trocar.spatial import Array

STIFFNESS, DAMPING = 300.0, 20.0  # [N/m, N s/m]: ASSUMED, a firm grip
TURNING_STIFFNESS, TURNING_DAMPING = 0.3, 0.005  # [N m/rad, N m s/rad]
# Fingers let the grip turn when it turns by itself, as while the dVRK aligns a master with its PSM: they slip at this
# moment, so that the released PID of the wrist stays below the dVRK's tolerance of 5 degrees with a margin.
SLIP_MOMENT = 0.002  # [N m]
GRIP_MOMENT = 0.1  # at which they slip while they turn the grip [N m]: ASSUMED
SPEED, TURNING_SPEED = 0.1, 1.0  # on the way to a goal [m/s, rad/s]


class HandOnTip:
    """Holds the tip of an arm, from where it is.

    Args:
        arm: the arm. period: of `act` [s].

    Attributes:
        arm: the arm; that of another scene after the instrument of an arm was changed.
    """

    def __init__(self, arm: SimulatedArm, period: float) -> None:
        self.arm, self._period = arm, period
        T = arm.tip_pose()
        self._start = T[:3, 3].copy()
        self._twist = np.zeros(3)  # of the grip in the fingers [rad]
        self._before = T.copy()
        self._from = self._goal = self._point = self._start
        self._elapsed, self._duration = 0.0, 0.0
        self._rotation, self._turned, self._turning_time = np.zeros(3), 1.0, 0.0  # goal, share of it, duration

    def move(self, offset: ArrayLike, duration: float | None = None) -> None:
        """Move by an offset (3,) [m], base axes, from where the tip was taken. Default: at 0.1 m/s."""
        displacement = checks.three_numbers("the offset of a hand", offset, "[m]")
        self._from, self._goal = self._point, self._start + displacement
        distance = float(np.linalg.norm(self._goal - self._from))
        self._duration = distance / SPEED if duration is None else checks.number("duration", duration, 0.0, 60.0, "s")
        self._elapsed = 0.0

    def turn(self, rotation: ArrayLike, duration: float | None = None) -> None:
        """Turn the grip by a rotation vector (3,) [rad], base axes. Default: at 1 rad/s."""
        self._rotation = checks.three_numbers("the rotation of a hand", rotation, "[rad]")
        angle = float(np.linalg.norm(self._rotation))
        seconds = angle / TURNING_SPEED if duration is None else checks.number("duration", duration, 0.0, 60.0, "s")
        self._turned, self._turning_time = 0.0, max(seconds, self._period)

    def act(self) -> None:
        """Set the wrench of the hand for the next step."""
        T, before, dt = self.arm.tip_pose(), self._before, self._period
        if self._elapsed < self._duration:
            self._elapsed += dt
            share = 0.5 - 0.5 * math.cos(math.pi * min(self._elapsed / self._duration, 1.0))
            self._point = self._from + share * (self._goal - self._from)
        elif self._point is not self._goal:
            self._point = self._goal
        force = STIFFNESS * (self._point - T[:3, 3]) - DAMPING / dt * (T[:3, 3] - before[:3, 3])
        turn, slip_moment = _turn(before[:3, :3], T[:3, :3]), SLIP_MOMENT
        if self._turned < 1.0:
            share = min(dt / self._turning_time, 1.0 - self._turned)
            self._turned, slip_moment = self._turned + share, GRIP_MOMENT
            turn = turn - share * self._rotation  # of the grip in the fingers
        twist = self._twist + turn
        self._twist = twist * min(1.0, slip_moment / TURNING_STIFFNESS / max(float(np.linalg.norm(twist)), 1e-9))
        moment = -TURNING_STIFFNESS * self._twist - TURNING_DAMPING / dt * turn
        self._before = T
        self.arm.apply_wrench(np.concatenate([force, moment]))

    def let_go(self) -> None:
        self.arm.apply_wrench(np.zeros(6))


def _turn(R_from: Array, R_to: Array) -> Array:
    """Sine of the turn (3,) from one orientation to another, base axes."""
    R = R_to @ R_from.T
    return 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
