"""Time-optimal motion under velocity, acceleration and jerk limits, by Ruckig (Berscheid and Kröger 2021)."""

from __future__ import annotations

import bisect

import numpy as np
import ruckig
from numpy.typing import ArrayLike

from trocar.arms import Arm
from trocar.arms.arm import LIMIT_TOLERANCE
from trocar.control.controller import Setpoint
from trocar.control.trajectories.reference import Trajectory, checked_via, vectors
from trocar.errors import TrocarError
from trocar.spatial import Array


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
    dq0: ArrayLike | None = None,
    dq1: ArrayLike | None = None,
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
    points = checked_via(via, arm)
    if not 0.0 < scale <= 1.0:
        raise TrocarError(f"scale must be a fraction in (0, 1] of the arm's limits, got {scale!r}")
    n = arm.n
    jerks = np.array(np.inf if jerk is None else jerk, dtype=float)
    jerks = np.full(n, jerks) if jerks.ndim == 0 else jerks
    if jerks.shape != (n,) or not (jerks > 0).all():
        raise TrocarError(f"jerk must be positive, one number or an array ({n},), got {jerk!r}")
    limits = (
        scale * np.array([joint.velocity for joint in arm.joints]),
        scale * np.array([joint.acceleration for joint in arm.joints]),
        jerks,
    )
    _, v0, v1 = vectors(via=points[0], dq0=dq0, dq1=dq1)
    for name, v in (("dq0", v0), ("dq1", v1)):
        fast = np.flatnonzero(np.abs(v) > limits[0])
        if fast.size:
            j = int(fast[0])
            raise TrocarError(
                f"{name}: joint {j + 1} ({arm.joints[j].name}) moves at {v[j]:g} per s, its limit is {limits[0][j]:g}"
            )
    if not v0.any() and not v1.any():
        same = np.flatnonzero(~np.diff(points, axis=0).any(axis=1))
        if same.size:
            i = int(same[0])
            raise TrocarError(f"via points {i} and {i + 1} are equal; remove one")
    motion = TimeOptimal(points, limits, v0, v1, straight, t0)
    if v0.any() or v1.any():  # a rest-to-rest motion cannot overshoot
        _check_overshoot(arm, motion)
    return motion


def _check_overshoot(arm: Arm, motion: TimeOptimal) -> None:
    # Ruckig's position_extrema is not used: it misses turning points under infinite jerk (0.19)
    q = np.array([motion(t).q for t in np.linspace(motion.start, motion.end, 1000)])
    low, high = q.min(0), q.max(0)
    outside = np.flatnonzero(np.maximum(arm.excess(low), arm.excess(high)) > LIMIT_TOLERANCE)
    if outside.size:
        j = int(outside[0])
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
