"""Paths of the tip, poses (4, 4) in the base as functions of time with their derivatives, and joint motion along them.

Six-vectors are linear first [m, rad per s, s^2], in base axes, at the tip origin, like `J dq`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Setpoint
from trocar.control.trajectories.reference import NEAR_SINGULAR, Trajectory, checked_time, vector
from trocar.errors import NearLimit, NearSingular, TrocarError, Unreachable, check_known, check_type, shown
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.mechanics.singularities import singular_values
from trocar.spatial import Array, checked_pose, pose, pose_error, rotation_vector, skew

ROUNDING = 1e-12
# Progress s in [0, 1] as a function of normalised time u in [0, 1], with its first two derivatives.
SCALINGS: dict[str, Callable[[float], tuple[float, float, float]]] = {
    "quintic": lambda u: (u**3 * (10 - 15 * u + 6 * u**2), 30 * (u * (1 - u)) ** 2, 60 * u * (1 - u) * (1 - 2 * u)),
    "cubic": lambda u: (u**2 * (3 - 2 * u), 6 * u * (1 - u), 6 - 12 * u),
    "constant": lambda u: (u, 1.0, 0.0),
}

# Pose at progress s, and the first two derivatives of its motion with respect to s, as six-vectors.
Geometry = Callable[[float], tuple[Array, Array, Array]]


@dataclass(frozen=True)
class TipMotion:
    """Pose T (4, 4) of the tip in the base, its twist (6,) and the twist's time derivative (6,)."""

    T: Array
    twist: Array
    acceleration: Array


@dataclass(frozen=True)
class CartesianPath:
    """A curve of tip poses with its time scaling; before and after, the tip rests at its ends.

    Attributes:
        geometry: pose and its derivatives as a function of progress s in [0, 1].
        duration: [s]. start: [s]. scaling: "quintic" (velocity and acceleration 0 at the ends), "cubic" (velocity 0)
            or "constant" (starts and ends in motion).
    """

    geometry: Geometry
    duration: float
    scaling: str = "quintic"
    start: float = 0.0

    def __post_init__(self) -> None:
        if not callable(self.geometry):
            raise TrocarError(f"geometry must be a function of s in [0, 1], such as `line`, got {shown(self.geometry)}")
        checks.positive("duration", self.duration)
        checked_time(self.start, "t0")
        check_known("scaling", SCALINGS, self.scaling)

    @property
    def end(self) -> float:
        """End time [s]."""
        return self.start + self.duration

    def __call__(self, t: float) -> TipMotion:
        u = (t - self.start) / self.duration
        inside = -ROUNDING <= u <= 1.0 + ROUNDING
        u = min(max(u, 0.0), 1.0)
        if not inside:
            return TipMotion(self.geometry(u)[0], np.zeros(6), np.zeros(6))
        s, ds, dds = SCALINGS[self.scaling](u)
        T, first, second = self.geometry(s)
        rate = ds / self.duration
        return TipMotion(T, first * rate, first * (dds / self.duration**2) + second * rate**2)


def line(T0: ArrayLike, T1: ArrayLike, duration: float, *, scaling: str = "quintic", t0: float = 0.0) -> CartesianPath:
    """Straight line from pose T0 to pose T1 (4, 4), rotating about one fixed axis the shorter way (slerp).

    T1 may be a position (3,) [m]; the orientation of T0 is then kept.
    """
    T0 = _pose(T0)
    T1 = pose(T0[:3, :3], vector(T1, "T1")) if np.shape(T1) == (3,) else _pose(T1)
    way, turn = T1[:3, 3] - T0[:3, 3], rotation_vector(T1[:3, :3] @ T0[:3, :3].T)
    _not_nowhere(way, turn)
    first = np.concatenate([way, turn])

    def geometry(s: float) -> tuple[Array, Array, Array]:
        T = T0.copy()
        T[:3, :3] = _turned(turn, s) @ T0[:3, :3]
        T[:3, 3] += s * way
        return T, first, np.zeros(6)

    return CartesianPath(geometry, duration, scaling, t0)


def screw(T0: ArrayLike, T1: ArrayLike, duration: float, *, scaling: str = "quintic", t0: float = 0.0) -> CartesianPath:
    """Screw motion from pose T0 to pose T1 (4, 4) about and along a fixed axis: exp(s log(T1 T0^-1)) T0.

    Unlike `line` the tip moves on a helix, and the motion does not depend on the choice of the tip point on the body.
    """
    T0, T1 = _pose(T0), _pose(T1)
    turn = rotation_vector(T1[:3, :3] @ T0[:3, :3].T)
    shift = T1[:3, 3] - _turned(turn, 1.0) @ T0[:3, 3]
    _not_nowhere(T1[:3, 3] - T0[:3, 3], turn)
    v = np.linalg.solve(_slide(turn, 1.0), shift)  # velocity of the body's point at the base origin, per unit of s

    def geometry(s: float) -> tuple[Array, Array, Array]:
        R, T = _turned(turn, s), T0.copy()
        T[:3, :3] = R @ T0[:3, :3]
        T[:3, 3] = R @ T0[:3, 3] + _slide(turn, s) @ v
        dp = v + np.cross(turn, T[:3, 3])
        return T, np.concatenate([dp, turn]), np.concatenate([np.cross(turn, dp), np.zeros(3)])

    return CartesianPath(geometry, duration, scaling, t0)


def circle(
    T0: ArrayLike,
    centre: ArrayLike,
    duration: float,
    *,
    axis: ArrayLike = (0.0, 0.0, 1.0),
    angle: float = 2.0 * np.pi,
    scaling: str = "quintic",
    t0: float = 0.0,
) -> CartesianPath:
    """Circle around `centre` (3,) [m] about `axis` by `angle` [rad], from the position of T0 (4, 4), orientation kept.

    If T0 lies off the plane of the centre, the circle is about the nearest point of the axis.
    """
    T0, n = _pose(T0), _direction(axis)
    arm = T0[:3, 3] - checks.three_numbers("centre", centre, "[m]")
    arm = arm - n * (n @ arm)
    if np.linalg.norm(arm) < 1e-9:
        raise TrocarError("the circle has zero radius: T0 lies on its axis")
    return _helix(T0, arm, n, angle, 0.0, duration, scaling, t0)


def spiral(
    T0: ArrayLike,
    radius: float,
    turns: float,
    rise: float,
    duration: float,
    *,
    axis: ArrayLike = (0.0, 0.0, 1.0),
    scaling: str = "quintic",
    t0: float = 0.0,
) -> CartesianPath:
    """p = p0 + radius (cos a - 1, sin a) + rise s along the axis, a = 2 pi turns s, from T0 (4, 4), orientation kept.

    Like the spirals of Ferro et al. 2022, but starting at the tip. radius, rise: [m]. turns: negative reverses.
    """
    n = _direction(axis)
    across = np.eye(3)[np.abs(n).argmin()]
    across = across - n * (n @ across)
    arm = checks.positive("radius", radius, "m") * across / np.linalg.norm(across)
    return _helix(_pose(T0), arm, n, 2.0 * np.pi * turns, rise, duration, scaling, t0)


def _helix(
    T0: Array, arm: Array, n: Array, angle: float, rise: float, duration: float, scaling: str, t0: float
) -> CartesianPath:
    """Rotate `arm`, which ends at the position of T0, about n by `angle`, while rising along n."""
    if not (np.isfinite(angle) and np.isfinite(rise)) or angle == 0.0:
        raise TrocarError(f"the angle must be finite and not 0 and the rise finite, got {angle!r} rad, {rise!r} m")
    side, up = np.cross(n, arm), rise * n

    def geometry(s: float) -> tuple[Array, Array, Array]:
        c, d = np.cos(angle * s), np.sin(angle * s)
        T, first, second = T0.copy(), np.zeros(6), np.zeros(6)
        T[:3, 3] += (c - 1.0) * arm + d * side + s * up
        first[:3] = angle * (c * side - d * arm) + up
        second[:3] = -(angle**2) * (c * arm + d * side)
        return T, first, second

    return CartesianPath(geometry, duration, scaling, t0)


def _turned(turn: Array, s: float) -> Array:
    """exp(s skew(turn)), Rodrigues' formula."""
    S, a = skew(turn), float(np.linalg.norm(turn))
    if a < 1e-12:
        return np.eye(3) + s * S
    return np.eye(3) + np.sin(s * a) / a * S + (1.0 - np.cos(s * a)) / a**2 * S @ S


def _slide(turn: Array, s: float) -> Array:
    """Integral of exp(s skew(turn)) from 0 to s."""
    S, a = skew(turn), float(np.linalg.norm(turn))
    if a < 1e-5:  # the next terms are a^2 s^4 / 24
        return s * np.eye(3) + s**2 / 2 * S + s**3 / 6 * S @ S
    return s * np.eye(3) + (1.0 - np.cos(s * a)) / a**2 * S + (s * a - np.sin(s * a)) / a**3 * S @ S


def _pose(T: ArrayLike) -> Array:
    T = checked_pose(T)
    if T.ndim != 2:
        raise TrocarError(f"a path needs one pose (4, 4) at each end, got shape {T.shape}")
    return T


def _direction(axis: ArrayLike) -> Array:
    n = vector(axis, "axis")
    if n.shape != (3,) or np.linalg.norm(n) < 1e-12:
        raise TrocarError(f"axis must be a direction (3,), not zero, got {axis!r}")
    return n / np.linalg.norm(n)


def _not_nowhere(way: Array, turn: Array) -> None:
    if np.abs(way).max() < 1e-12 and np.abs(turn).max() < 1e-12:
        raise TrocarError("the path is empty: both poses are the same")


TASK = 6  # degrees of freedom of a tip
HELD = 3  # joint held fixed on an arm with more than six: the MTM's wrist platform
JUMP = 0.05  # [rad, m] largest deviation of a joint over one interval from the prediction by its end velocities


class LeavesReach(Unreachable):
    """A path that the arm cannot follow. Attributes: time [s], reason."""

    def __init__(self, time: float, reason: str) -> None:
        self.time = time
        super().__init__((), reason)
        self.args = (f"the path cannot be followed at t = {time:.6g} s: {reason}",)


class Following(Trajectory):
    """Joint motion that carries the tip along a path; created by `through`.

    Attributes:
        path: path of the tip. times: (k,) [s] and via: (k, n) [rad, m]: joint positions along the followed branch.
    """

    def __init__(self, mechanism: ArmKinematics, path: CartesianPath, q_seed: ArrayLike | None, step: float) -> None:
        self.mechanism, self.path = mechanism, path
        m = mechanism.arm.tip_joints
        self._moving = [j for j in range(m) if not (m > TASK and j == HELD)]
        count = max(2, int(np.ceil(path.duration / step)) + 1)
        self.times = np.linspace(path.start, path.end, count)
        self.times.setflags(write=False)
        setpoints: list[Setpoint] = []
        for t in self.times:
            setpoints.append(self._next(float(t), q_seed, setpoints[-1] if setpoints else None))
        self.via = np.array([s.q for s in setpoints])
        self.via.setflags(write=False)
        self._bounded(path.start, path.duration, setpoints[0], setpoints[-1])
        sigma = singular_values(mechanism, self.via)[..., -1]
        k = int(sigma.argmin())
        if sigma[k] < NEAR_SINGULAR:
            warnings.warn(
                f"the path passes near a singularity at t = {self.times[k]:.4g} s (smallest singular value "
                f"{sigma[k]:.2g}): joint rates grow without bound there",
                NearSingular,
                stacklevel=3,
            )

    def _at(self, elapsed: float) -> Setpoint:
        t = self.start + elapsed
        k = int(np.clip(np.searchsorted(self.times, t) - 1, 0, len(self.times) - 2))
        s = (t - self.times[k]) / (self.times[k + 1] - self.times[k])
        return self._setpoint(t, (1.0 - s) * self.via[k] + s * self.via[k + 1])

    def _next(self, t: float, q_seed: ArrayLike | None, last: Setpoint | None) -> Setpoint:
        """Follow the branch from one time to the next; raise an error if the solution jumps."""
        if last is None:
            return self._setpoint(t, self._solution(t, q_seed, first=True))
        setpoint = self._setpoint(t, last.q)
        interval = float(self.times[1] - self.times[0])
        off = np.abs(setpoint.q - last.q - interval / 2 * (setpoint.dq + last.dq))
        if off.max() > JUMP:
            j = int(off.argmax())
            joint = self.mechanism.arm.joints[j]
            raise LeavesReach(
                t,
                f"joint {j + 1} ({joint.name}) would jump from {last.q[j]:.6g} to {setpoint.q[j]:.6g}; "
                f"its limits are {joint.lower:g} and {joint.upper:g}. Near a singularity a slower path may help",
            )
        return setpoint

    def _setpoint(self, t: float, seed: Array) -> Setpoint:
        """q by inverse kinematics; J dq = twist and J ddq = acceleration - J' dq."""
        motion = self.path(t)
        q = self._solution(t, seed)
        dq, ddq = np.zeros(q.size), np.zeros(q.size)
        J = self.mechanism.jacobian(q)[:, self._moving]
        dq[self._moving] = self._rates(J, motion.twist, t, "velocity")
        drift = self.mechanism.jacobian_dot(q, dq)[:, self._moving] @ dq[self._moving]
        ddq[self._moving] = self._rates(J, motion.acceleration - drift, t, "acceleration")
        return Setpoint(q, dq, ddq)

    def _rates(self, J: Array, twist: Array, t: float, what: str) -> Array:
        rates, *_ = np.linalg.lstsq(J, twist, rcond=1e-12)
        left = float(np.abs(J @ rates - twist).max())
        if left > 1e-6 * max(1.0, float(np.abs(twist).max())):
            raise LeavesReach(t, f"{self.mechanism.arm.name} cannot produce the requested {what} here")
        return rates

    def _solution(self, t: float, seed: ArrayLike | None, first: bool = False) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NearSingular)
            warnings.simplefilter("ignore", NearLimit)
            T = self.path(t).T
            if first or len(self._moving) == self.mechanism.arm.tip_joints:
                try:
                    return self.mechanism.inverse_kinematics(T, seed)
                except Unreachable as error:
                    raise LeavesReach(t, error.reason) from None
            return self._newton(t, T, np.array(seed, dtype=float))

    def _newton(self, t: float, T: Array, q: Array) -> Array:
        """Solution near q with the held joint fixed."""
        for _ in range(20):
            error = pose_error(T, self.mechanism.forward_kinematics(q))
            if np.abs(error).max() < 1e-13:
                break
            q = q.copy()
            q[self._moving] += np.linalg.lstsq(self.mechanism.jacobian(q)[:, self._moving], error, rcond=1e-12)[0]
            if np.abs(error).max() < 1e-9:  # convergence is quadratic, so the rest is rounding
                break
        else:
            name = self.mechanism.arm.joint_names[HELD]
            raise LeavesReach(t, f"no solution with joint {HELD + 1} ({name}) held at {q[HELD]:.6g}")
        if outside := self.mechanism.arm.violation(q):
            raise LeavesReach(t, outside)
        return q


def through(
    mechanism: ArmKinematics, path: CartesianPath, q_seed: ArrayLike | None = None, *, step: float = 0.02
) -> Following:
    """Joint motion (a reference) that carries the tip along a path.

    Positions come from inverse kinematics, velocities and accelerations from J and its time derivative; all are exact
    at every time, not interpolated. The jaw keeps the seed's value. On the redundant MTM the wrist platform keeps the
    angle of the first solution. An ECM, with four joints, only follows poses on its manifold.

    Args:
        q_seed: (n,) seed of the first solution [rad, m]. Default: home. Every solution is the seed of the next.
        step: interval [s] at which the branch is followed in advance.

    Raises LeavesReach, with the time, if the path leaves the workspace or a joint limit. Warns NearSingular.
    """
    check_type("mechanism", mechanism, ArmKinematics, "a mechanism, such as load_mechanism('PSM')")
    check_type("path", path, CartesianPath, "a path of the tip, such as line, circle or screw")
    return Following(mechanism, path, q_seed, checks.positive("step", step))
