"""A periodic motion from rest to rest: approach, speed-up along its own path, some periods, and return."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Setpoint
from trocar.control.trajectories.periodic import Fourier
from trocar.control.trajectories.polynomials import Polynomial, quintic
from trocar.control.trajectories.reference import Trajectory, at_rest, vector
from trocar.errors import TrocarError


class PeriodicRun(Trajectory):
    """Reference from `home` to the motion, through `periods` of it, and back, on its path and within its speeds.

    The motion starts and ends with a slowed clock: q(theta(t)) with theta' from 0 to 1. So positions stay on the
    path and velocities never exceed those of the motion. The moves from and to home are straight lines in joint
    space at no more than half the motion's largest velocities.

    Args:
        motion: periodic. periods: whole number of periods at full speed. home: (n,) [rad, m].
        ramp: time to reach full speed [s].

    Attributes:
        full_speed: (start, end) of the periods at full speed [s], used for identification.
    """

    def __init__(self, motion: Fourier, periods: int, home: ArrayLike, ramp: float = 2.0) -> None:
        self.motion, self.ramp = motion, checks.positive("ramp", ramp)
        if periods != int(periods) or periods < 1:
            raise TrocarError(f"periods must be a whole number, 1 or more, got {periods!r}")
        self.periods = int(periods)
        q_home = vector(home, "home")
        if q_home.shape != motion.centre.shape:
            raise TrocarError(f"home has {q_home.size} joints, the motion {motion.centre.size}")
        first, last = (motion(t).q for t in (-0.5 * self.ramp, self.periods * motion.duration + 0.5 * self.ramp))
        speeds = np.abs([motion(t).dq for t in np.linspace(0.0, motion.duration, 200)]).max(0)
        self._there = _straight(q_home, first, speeds, 0.0)
        begin = self._there.end
        self.full_speed = (begin + self.ramp, begin + self.ramp + self.periods * motion.duration)
        self._back = _straight(last, q_home, speeds, self.full_speed[1] + self.ramp)
        self._bounded(0.0, self._back.end, at_rest(q_home), at_rest(q_home))

    def _at(self, elapsed: float) -> Setpoint:
        if elapsed <= self._there.end:
            return self._there(elapsed)
        if elapsed >= self._back.start:
            return self._back(elapsed)
        start, end = self.full_speed
        if elapsed < start:
            theta, rate, change = self._clock(elapsed - self._there.end)
        elif elapsed <= end:
            theta, rate, change = elapsed - start, 1.0, 0.0
        else:
            theta, rate, change = self._clock(self._back.start - elapsed)
            theta, change = end - start - theta, -change
        s = self.motion(theta)
        return Setpoint(s.q, rate * s.dq, rate**2 * s.ddq + change * s.dq)

    def _clock(self, elapsed: float) -> tuple[float, float, float]:
        """theta, theta' and theta'' during the speed-up; theta is 0 at its end."""
        u, T = elapsed / self.ramp, self.ramp
        return (
            T * (u**4 * (2.5 - 3.0 * u + u * u) - 0.5),
            u**3 * (10.0 - 15.0 * u + 6.0 * u * u),
            30.0 * u * u * (1.0 - u) ** 2 / T,
        )


def _straight(q0: ArrayLike, q1: ArrayLike, speeds: ArrayLike, t0: float) -> Polynomial:
    """Rest-to-rest move at no more than half of the speeds; a quintic's peak is 15/8 of its mean."""
    way = np.abs(np.subtract(q1, q0))
    duration = max(0.5, float((3.75 * way / np.maximum(speeds, 1e-3 * np.max(speeds))).max()))
    return quintic(q0, q1, duration, t0=t0)
