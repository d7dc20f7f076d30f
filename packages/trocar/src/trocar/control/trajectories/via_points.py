"""Motions through via points: polynomials in time, their splines, and time-optimal ones."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import ruckig
import scipy
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.arms.arm import LIMIT_TOLERANCE
from trocar.control.controller import Setpoint
from trocar.control.trajectories.reference import (
    Trajectory,
    at_rest,
    checked_time,
    checked_times,
    checked_via,
    vectors,
)
from trocar.errors import TrocarError, UnknownName, check_type
from trocar.spatial import Array

Rates = ArrayLike | None  # velocities or accelerations (n,) at an end; None: 0


@dataclass(frozen=True)
class Segment:
    """q = sum over k of coefficients[k] u^k, u = (t - start) / duration in [0, 1]; start and duration in s."""

    start: float
    duration: float
    coefficients: Array  # (degree + 1, n) [rad, m]

    def at(self, t: float) -> Setpoint:
        """q, dq and ddq (n,) at time t [s], also beyond the ends."""
        T, c = self.duration, self.coefficients
        degree = np.arange(len(c))
        powers = ((t - self.start) / T) ** degree
        dq = (degree[1:] * powers[:-1]) @ c[1:] / T
        ddq = (degree[2:] * degree[1:-1] * powers[:-2]) @ c[2:] / T**2
        return Setpoint(powers @ c, dq, ddq)


class Polynomial(Trajectory):
    """A sequence of polynomials in time.

    Attributes:
        segments: the polynomials. via: (k, n) positions at their ends [rad, m]. times: (k,) of the via points [s].
    """

    def __init__(self, times: Array, first: Setpoint, last: Setpoint, coefficients: Array) -> None:
        spans = zip(times[:-1].tolist(), np.diff(times).tolist(), coefficients, strict=True)
        self.segments = tuple(Segment(*span) for span in spans)
        self.times = times
        self.via = np.vstack([coefficients[:, 0], last.q])
        self._starts = [segment.start for segment in self.segments]
        self._bounded(times[0], times[-1] - times[0], first, last)

    def _at(self, elapsed: float) -> Setpoint:
        t = self.start + elapsed
        return self.segments[max(bisect.bisect_right(self._starts, t) - 1, 0)].at(t)


def cubic(
    q0: ArrayLike, q1: ArrayLike, duration: float, t0: float = 0.0, *, dq0: Rates = None, dq1: Rates = None
) -> Polynomial:
    """Cubic from q0 with velocity dq0 to q1 with velocity dq1 in `duration` [s] from t0. Default velocities: 0.

    Before and after it stays at q0 and q1, at rest: a velocity at an end jumps there.
    """
    q0, q1, dq0, dq1 = vectors(q0=q0, q1=q1, dq0=dq0, dq1=dq1)
    T, t0 = checks.positive("duration", duration), checked_time(t0, "t0")
    way, v0, v1 = q1 - q0, dq0 * T, dq1 * T
    c = np.array([q0, v0, 3 * way - 2 * v0 - v1, -2 * way + v0 + v1])
    first = Setpoint(q0, dq0, 2.0 * c[2] / T**2)
    last = Setpoint(q1, dq1, (2.0 * c[2] + 6.0 * c[3]) / T**2)
    return Polynomial(np.array([t0, t0 + T], dtype=float), first, last, c[None])


def quintic(
    q0: ArrayLike,
    q1: ArrayLike,
    duration: float,
    t0: float = 0.0,
    *,
    dq0: Rates = None,
    dq1: Rates = None,
    ddq0: Rates = None,
    ddq1: Rates = None,
) -> Polynomial:
    """Quintic from q0 to q1 in `duration` [s] from t0, of minimum jerk. Default velocities and accelerations: 0.

    Before and after it stays at q0 and q1, at rest: a velocity at an end jumps there.
    """
    q0, q1, dq0, dq1, ddq0, ddq1 = vectors(q0=q0, q1=q1, dq0=dq0, dq1=dq1, ddq0=ddq0, ddq1=ddq1)
    T, t0 = checks.positive("duration", duration), checked_time(t0, "t0")
    first, last = Setpoint(q0, dq0, ddq0), Setpoint(q1, dq1, ddq1)
    return Polynomial(np.array([t0, t0 + T], dtype=float), first, last, _quintic(first, last, T)[None])


def cubic_spline(
    times: ArrayLike,
    via: ArrayLike,
    ends: str = "clamped",
    *,
    dq0: Rates = None,
    dq1: Rates = None,
    arm: Arm | None = None,
) -> Polynomial:
    """Cubics through via points (k, n) [rad, m] at times (k,) [s], with continuous velocity and acceleration.

    Args:
        ends: "clamped" (velocities dq0, dq1 at the ends, default 0) or "natural" (acceleration 0 there).
        arm: reject via points outside its joint limits.
    """
    points = checked_via(via, arm)
    instants = checked_times(times, len(points))
    if ends == "natural":
        if dq0 is not None or dq1 is not None:
            raise TrocarError("a natural spline does not accept end velocities; use ends='clamped'")
        spline = scipy.interpolate.CubicSpline(instants, points, bc_type="natural")
    elif ends == "clamped":
        _, v0, v1 = vectors(via=points[0], dq0=dq0, dq1=dq1)
        spline = scipy.interpolate.CubicSpline(instants, points, bc_type=((1, v0), (1, v1)))
    else:
        raise UnknownName("ends", ends, ("clamped", "natural"))
    # scipy's pieces are powers of (t - t_k), highest first; a segment's are powers of u, lowest first
    rising = np.moveaxis(spline.c[::-1], 1, 0)  # (segment, power, n)
    coefficients = rising * np.diff(instants)[:, None, None] ** np.arange(rising.shape[1])[None, :, None]
    coefficients[:, 0] = points[:-1]
    first, last = (Setpoint(points[k], spline(instants[k], 1), spline(instants[k], 2)) for k in (0, -1))
    return Polynomial(instants, first, last, coefficients)


def quintic_spline(times: ArrayLike, via: ArrayLike, *, arm: Arm | None = None) -> Polynomial:
    """Quintics through via points (k, n) [rad, m] at times (k,) [s], from rest to rest, continuous up to snap.

    Velocity and acceleration are 0 at both ends. arm: reject via points outside its joint limits.
    """
    points = checked_via(via, arm)
    instants = checked_times(times, len(points))
    still = [(k, np.zeros(points.shape[1])) for k in (1, 2)]
    spline = scipy.interpolate.make_interp_spline(instants, points, k=5, bc_type=(still, still))
    states = [Setpoint(q, spline(t, 1), spline(t, 2)) for q, t in zip(points, instants, strict=True)]
    states[0], states[-1] = at_rest(points[0]), at_rest(points[-1])
    pieces = [_quintic(a, b, T) for (a, b), T in zip(pairwise(states), np.diff(instants), strict=True)]
    return Polynomial(instants, states[0], states[-1], np.array(pieces))


def _quintic(first: Setpoint, last: Setpoint, T: float) -> Array:
    """Coefficients (6, n) of the quintic from one state to another in T [s]."""
    way, v0, v1, a0, a1 = last.q - first.q, first.dq * T, last.dq * T, first.ddq * T**2, last.ddq * T**2
    return np.array(
        [
            first.q,
            v0,
            a0 / 2,
            10 * way - 6 * v0 - 4 * v1 - 1.5 * a0 + 0.5 * a1,
            -15 * way + 8 * v0 + 7 * v1 + 1.5 * a0 - a1,
            6 * way - 3 * (v0 + v1) - 0.5 * (a0 - a1),
        ]
    )


class TimeOptimal(Trajectory):
    """Time-optimal rest-to-rest motions between via points.

    Attributes:
        via: (k, n) [rad, m]. times: (k,) of arrival [s]. segments: Ruckig's trajectories between them.
        velocity, acceleration, jerk: (n,) limits [rad/s, m/s, ...]; the jerk limit may be infinite.
    """

    def __init__(
        self, via: Array, limits: tuple[Array, Array, Array], dq0: Array, dq1: Array, straight: bool, t0: float
    ) -> None:
        self.via = via
        self.velocity, self.acceleration, self.jerk = limits
        rest = np.zeros(via.shape[1])
        speeds = [dq0, *[rest] * (len(via) - 2), dq1]
        self.segments = tuple(
            _motion(*ends, limits, straight) for ends in zip(via, via[1:], speeds, speeds[1:], strict=False)
        )
        self._offsets = np.concatenate([[0.0], np.cumsum([s.duration for s in self.segments])]).tolist()
        self.times = t0 + np.array(self._offsets)
        ddq0 = np.array(self.segments[0].at_time(0.0)[2])
        self._bounded(t0, self._offsets[-1], Setpoint(via[0], dq0, ddq0), Setpoint(via[-1], dq1, rest))

    def _at(self, elapsed: float) -> Setpoint:
        i = min(bisect.bisect_right(self._offsets, elapsed), len(self.segments)) - 1
        return Setpoint(*(np.array(part) for part in self.segments[i].at_time(elapsed - self._offsets[i])))


def time_optimal(
    arm: Arm,
    via: ArrayLike,
    *,
    jerk: ArrayLike | None = None,
    scale: float = 1.0,
    straight: bool = True,
    dq0: Rates = None,
    dq1: Rates = None,
    t0: float = 0.0,
) -> TimeOptimal:
    """Time-optimal motion through via points (k, n) [rad, m] within the arm's published velocities and accelerations.

    It stops at every via point between the first and the last.

    Args:
        jerk: largest jerk, one for all joints or (n,) [rad/s^3, m/s^3]. Default: no limit, so acceleration may jump.
        scale: fraction of the published velocities and accelerations to use, in (0, 1].
        straight: move on straight lines in joint space; False only makes all joints arrive together.
        dq0, dq1: velocities (n,) at both ends [rad/s, m/s]. Default: 0.
        t0: start time [s].
    """
    check_type("arm", arm, Arm, "an Arm, such as load_arm('PSM')")
    points = checked_via(via, arm)
    if not (checks.is_number(scale) and 0.0 < scale <= 1.0):
        raise TrocarError(f"scale must be a fraction in (0, 1] of the arm's limits, got {scale!r}")
    jerks = np.full(arm.n, np.inf) if jerk is None else checks.real_array("jerk", jerk)
    jerks = np.full(arm.n, jerks) if jerks.ndim == 0 else jerks
    if jerks.shape != (arm.n,) or not (jerks > 0).all():
        raise TrocarError(f"jerk must be positive, one number or an array ({arm.n},), got {jerk!r}")
    velocity, acceleration = (
        np.array([getattr(joint, of) for joint in arm.joints]) for of in ("velocity", "acceleration")
    )
    limits = scale * velocity, scale * acceleration, jerks
    _, v0, v1 = vectors(via=points[0], dq0=dq0, dq1=dq1)
    for name, v in (("dq0", v0), ("dq1", v1)):
        for j in np.flatnonzero(np.abs(v) > limits[0]):
            raise TrocarError(
                f"{name}: joint {j + 1} ({arm.joints[j].name}) moves at {v[j]:g} per s, its limit is {limits[0][j]:g}"
            )
    if not v0.any() and not v1.any():
        for i in np.flatnonzero(~np.diff(points, axis=0).any(axis=1)):
            raise TrocarError(f"via points {i} and {i + 1} are equal; remove one")
    motion = TimeOptimal(points, limits, v0, v1, checks.flag("straight", straight), checked_time(t0, "t0"))
    if v0.any() or v1.any():  # a rest-to-rest motion cannot overshoot
        _check_overshoot(arm, motion)
    return motion


def _check_overshoot(arm: Arm, motion: TimeOptimal) -> None:
    # Ruckig's position_extrema is not used: it misses turning points under infinite jerk (0.19)
    q = np.array([motion(t).q for t in np.linspace(motion.start, motion.end, 1000)])
    low, high = q.min(0), q.max(0)
    for j in np.flatnonzero(np.maximum(arm.excess(low), arm.excess(high)) > LIMIT_TOLERANCE):
        joint = arm.joints[j]
        raise TrocarError(
            f"joint {j + 1} ({joint.name}) overshoots: it covers {low[j]:.6g} to {high[j]:.6g}, allowed "
            f"{joint.lower:g} to {joint.upper:g}. The velocities at the ends leave too little room to stop"
        )


def _motion(
    q0: Array, q1: Array, dq0: Array, dq1: Array, limits: tuple[Array, Array, Array], straight: bool
) -> ruckig.Trajectory:
    n = q0.size
    problem = ruckig.InputParameter(n)
    problem.current_position, problem.target_position = q0.tolist(), q1.tolist()
    problem.current_velocity, problem.target_velocity = dq0.tolist(), dq1.tolist()
    problem.max_velocity, problem.max_acceleration, problem.max_jerk = (limit.tolist() for limit in limits)
    problem.synchronization = ruckig.Synchronization.Phase if straight else ruckig.Synchronization.Time
    trajectory = ruckig.Trajectory(n)
    try:
        result = ruckig.Ruckig(n).calculate(problem, trajectory)
    except ValueError:  # status -101, of a motion that is too long, has no name in ruckig's Python interface
        raise TrocarError(f"no time-optimal motion from {q0.tolist()} to {q1.tolist()}: it takes too long") from None
    except ruckig.RuckigError as error:
        raise TrocarError(f"no time-optimal motion: {str(error).strip()}") from None
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise TrocarError(f"no time-optimal motion from {q0.tolist()} to {q1.tolist()}: {result}")
    return trajectory
