"""Paths of the tip in space: poses (4, 4) in the base as functions of time, with velocities and accelerations.

Six-vectors are linear first [m, rad per s, s^2], in base axes, at the tip origin, like `J dq`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.trajectories.reference import checked_time, vector
from trocar.errors import TrocarError, check_known
from trocar.spatial import Array, checked_pose, pose, rotation_vector, skew

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
    middle = vector(centre, "centre")
    if middle.shape != (3,):
        raise TrocarError(f"centre must be a position (3,) [m], got shape {middle.shape}")
    arm = T0[:3, 3] - middle
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
