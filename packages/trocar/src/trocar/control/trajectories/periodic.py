"""References without an end: rest, a step, a sinusoid and Fourier series, and periods of one from rest to rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Setpoint
from trocar.control.trajectories.reference import Reference, Trajectory, at_rest, vector, vectors
from trocar.control.trajectories.via_points import Polynomial, quintic
from trocar.errors import TrocarError
from trocar.spatial import Array


def hold(q: ArrayLike) -> Reference:
    """Stay at q (n,) [rad, m]."""
    setpoint = at_rest(vector(q, "q"))
    return lambda t: setpoint


def step_to(q0: ArrayLike, q1: ArrayLike, t0: float = 0.0) -> Reference:
    """q0 before t0, q1 from t0 [s] on, at rest on both sides."""
    t0 = checks.number("t0", t0, unit="s")
    before, after = (at_rest(q) for q in vectors(q0=q0, q1=q1))
    return lambda t: before if t < t0 else after


def sinusoid(centre: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike) -> Reference:
    """q = centre + amplitude sin(2 pi frequency t), frequency [Hz] one for all joints or one each.

    It starts in motion: give its velocity at t = 0 to `Simulator.reset`, or expect a transient.
    """
    f, centre = checks.real_array("frequency", frequency), vector(centre, "centre")
    f = np.broadcast_to(f, centre.shape) if f.ndim == 0 else f
    centre, amplitude, f = vectors(centre=centre, amplitude=amplitude, frequency=f)
    w = 2.0 * np.pi * f

    def reference(t: float) -> Setpoint:
        sine, cosine = amplitude * np.sin(w * t), amplitude * np.cos(w * t)
        return Setpoint(centre + sine, w * cosine, -(w**2) * sine)

    return reference


class Fourier:
    """q = centre + sum over k = 1..K of a_k / (k w) sin(k w t) - b_k / (k w) cos(k w t), w = 2 pi frequency.

    This is the form used in identification (Swevers et al. 1997): a and b are velocity amplitudes.

    Args:
        centre: (n,) [rad, m]. a, b: (K, n) [rad/s, m/s]. frequency: of the first harmonic [Hz].

    Attributes:
        duration: one period, 1 / frequency [s]; the motion continues forever. start: 0.
    """

    def __init__(self, centre: ArrayLike, a: ArrayLike, b: ArrayLike, frequency: float) -> None:
        self.centre = vector(centre, "centre")
        self.a, self.b = (_harmonics(value, name, self.centre.size) for name, value in (("a", a), ("b", b)))
        if len(self.a) != len(self.b):
            raise TrocarError(f"a has {len(self.a)} harmonics, b {len(self.b)}")
        self.start, self.duration = 0.0, 1.0 / checks.positive("frequency", frequency, "Hz")
        self.frequency = float(frequency)
        self._w = 2.0 * np.pi * self.frequency * np.arange(1, len(self.a) + 1)

    @property
    def end(self) -> float:
        """End of the first period [s]."""
        return self.duration

    def __call__(self, t: float | Array) -> Setpoint:
        """Motion at a time, or at times (N,) as rows (N, n) [s]."""
        w = self._w
        phase = np.multiply.outer(t, w)
        sine, cosine = np.sin(phase), np.cos(phase)
        q = self.centre + (sine / w) @ self.a - (cosine / w) @ self.b
        return Setpoint(q, cosine @ self.a + sine @ self.b, (w * cosine) @ self.b - (w * sine) @ self.a)


fourier = Fourier  # named like the functions that return the other references


def _harmonics(values: ArrayLike, name: str, n: int) -> Array:
    array = checks.real_array(name, values).copy()
    if array.ndim != 2 or not len(array) or array.shape[1] != n or not np.isfinite(array).all():
        raise TrocarError(f"{name} must be finite numbers of shape (harmonics, {n}), got shape {array.shape}")
    array.setflags(write=False)
    return array


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
        self.periods = checks.count("periods", periods)
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
        rate, change = u**3 * (10.0 - 15.0 * u + 6.0 * u * u), 30.0 * u * u * (1.0 - u) ** 2 / T
        return T * (u**4 * (2.5 - 3.0 * u + u * u) - 0.5), rate, change


def _straight(q0: ArrayLike, q1: ArrayLike, speeds: ArrayLike, t0: float) -> Polynomial:
    """Rest-to-rest move at no more than half of the speeds; a quintic's peak is 15/8 of its mean."""
    way = np.abs(np.subtract(q1, q0))
    duration = max(0.5, float((3.75 * way / np.maximum(speeds, 1e-3 * np.max(speeds))).max()))
    return quintic(q0, q1, duration, t0=t0)
