"""Joint axes from the relative motion of two links (Gondokaryono et al. 2019, section 2.4).

A point on the axis is fixed in both links: R_i g_b + p_i = g_a for every pose (R_i, p_i) of link b in link a. These are
the equations of pivot calibration; for a revolute joint they do not determine the position along the axis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.errors import TooLittleMotion, TrocarError
from trocar.spatial import Array, unit

MIN_ROWS = 10
MIN_TURN = 0.15  # [rad] of relative motion, below which noise dominates the axis
MIN_SLIDE = 0.02  # [m] likewise for a sliding joint
FAR = 8.0  # rows with errors this many times the median are outliers (swapped markers), not noise
FLOOR = 1e-6  # [m, rad] errors below this are never outliers
TRUSTED = 0.6  # fraction of the rows, the best ones, that define outliers
SAMPLE = 200  # number of rows used for that


class WrongSlide(TrocarError):
    """A link whose sliding distance differs from its joint value."""


class Jump(TrocarError):
    """Rows in which a tracked body jumps. `rows`: mask over the rows of the fit."""

    def __init__(self, message: str, rows: Array) -> None:
        self.rows = rows
        super().__init__(message)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """Axis about which link b turns in link a.

    Attributes:
        g_a, h_a: a point on it and its direction in the frame of a's markers [m, -]. g_b, h_b: in that of b's.
        turn: rotation range of b [rad]. rms: of the residual R g_b + p - g_a [m].
        covariance_a, covariance_b: (3, 3) of the points, from the noise of the rows [m^2].
    """

    g_a: Array
    h_a: Array
    g_b: Array
    h_b: Array
    turn: float
    rms: float
    covariance_a: Array
    covariance_b: Array

    def flipped(self) -> Axis:
        """The same line with the opposite direction."""
        return replace(self, h_a=-self.h_a, h_b=-self.h_b)


def revolute_axis(T_a_b: Array, what: str = "the links", *, checked: bool = False) -> Axis:
    """Axis from poses (N, 4, 4) of link b in link a; `what` names the two in errors. checked: they have no jumps."""
    if len(T_a_b) < MIN_ROWS:
        raise TooLittleMotion(f"{what} are seen together in {len(T_a_b)} rows only; at least {MIN_ROWS} are needed")
    mean, direction = _mean_and_spread(T_a_b[:, :3, :3])
    turn = float(np.ptp(_about(mean, T_a_b[:, :3, :3]) @ direction))
    if turn < MIN_TURN:
        raise TooLittleMotion(
            f"{what} rotate by {turn:.3f} rad relative to each other, too little to find their axis "
            f"(at least {MIN_TURN} rad): move the joint further"
        )
    if not checked and (jumps := _jumps(T_a_b)).any():
        raise Jump(f"{what} do not move like one joint in {jumps.sum()} of {len(jumps)} rows", jumps)
    return _fitted(T_a_b)


def _jumps(T: Array) -> Array:
    """Mask (N,) of rows far off the common axis (least trimmed squares, on a part of a long recording)."""
    part = T[:: max(1, len(T) // SAMPLE)]
    best: Array = np.arange(len(part))
    for _ in range(6):
        axis = _fitted(part[best])
        error = _misfit(axis, part[best], part)
        score = np.max(error / np.maximum(np.median(error, axis=0), FLOOR), axis=1)
        trusted = np.sort(np.argsort(score)[: max(MIN_ROWS, int(TRUSTED * len(part)))])
        if np.array_equal(trusted, best) or np.all(error <= FLOOR):
            break
        best = trusted
    error = _misfit(axis, part[best], T)
    usual = np.median(_misfit(axis, part[best], part[best]), axis=0)
    return np.any(error > np.maximum(FAR * usual, FLOOR), axis=1)


def _fitted(T: Array) -> Axis:
    """Least-squares axis of all the poses."""
    R, p = T[:, :3, :3], T[:, :3, 3]
    mean, h_b = _mean_and_spread(R)
    h_a = mean @ h_b
    B_a, B_b = across(h_a), across(h_b)
    # in the plane normal to the axis: circles about one centre, seen from both links
    A = np.concatenate([B_a.T @ R @ B_b, np.broadcast_to(-np.eye(2), (len(T), 2, 2))], axis=2).reshape(-1, 4)
    x = np.linalg.lstsq(A, -(p @ B_a).ravel(), rcond=None)[0]
    g_b = B_b @ x[:2]
    along = (R @ g_b + p) @ h_a
    g_a = B_a @ x[2:] + along.mean() * h_a
    left = R @ g_b + p - g_a
    variance = float(np.sum((left @ B_a) ** 2) / max(1, A.shape[0] - 4))
    covariance = variance * np.linalg.pinv(A.T @ A)
    return Axis(
        g_a=g_a,
        h_a=h_a,
        g_b=g_b,
        h_b=h_b,
        turn=float(np.ptp(_about(mean, R) @ h_b)),
        rms=float(np.sqrt(np.mean(np.sum(left**2, axis=1)))),
        covariance_a=B_a @ covariance[2:, 2:] @ B_a.T,
        covariance_b=B_b @ covariance[:2, :2] @ B_b.T,
    )


def _misfit(axis: Axis, fitted: Array, every: Array) -> Array:
    """Deviation (N, 2) of each pose from a rotation about an axis fitted to some poses [m, rad]."""
    mean = Rotation.from_matrix(fitted[:, :3, :3]).mean().as_matrix()
    v = _about(mean, every[:, :3, :3])
    off_axis = np.linalg.norm(v - np.outer(v @ axis.h_b, axis.h_b), axis=1)
    distance = np.linalg.norm(every[:, :3, :3] @ axis.g_b + every[:, :3, 3] - axis.g_a, axis=1)
    return np.stack([distance, off_axis], axis=1)


def _mean_and_spread(R: Array) -> tuple[Array, Array]:
    """Mean (3, 3) of rotations and the direction (3,) of their largest spread."""
    mean = Rotation.from_matrix(R).mean().as_matrix()
    return mean, np.linalg.svd(_about(mean, R), full_matrices=False)[2][0]


def _about(mean: Array, R: Array) -> Array:
    """Rotation vectors (N, 3) from a mean rotation [rad]."""
    return Rotation.from_matrix(mean.T @ R).as_rotvec()


def sliding_direction(T_a_b: Array, value: Array, what: str = "the links") -> Array:
    """Direction (3,) in link a along which link b slides with a joint's value (N,) [m]."""
    if len(T_a_b) < MIN_ROWS or np.ptp(value) < MIN_SLIDE:
        slide = float(np.ptp(value)) if len(value) else 0.0
        raise TooLittleMotion(
            f"{what} slide by {slide:.4f} m in {len(T_a_b)} rows, too little to find their direction "
            f"(at least {MIN_SLIDE} m in {MIN_ROWS} rows)"
        )
    v = value - value.mean()
    p = T_a_b[:, :3, 3] - T_a_b[:, :3, 3].mean(0)
    slope = v @ p / (v @ v)
    if abs(np.linalg.norm(slope) - 1.0) > 0.1:
        raise WrongSlide(
            f"{what} slide by {np.linalg.norm(slope):.3f} m per m of the joint's value, 1 expected: "
            "are the markers on another link, or the joint values in another unit?"
        )
    return slope / np.linalg.norm(slope)


def across(h: Array) -> Array:
    """(3, 2): an orthonormal basis e1, e2 of the plane normal to a unit vector, e1 x e2 = h."""
    first = unit(np.cross(h, np.eye(3)[int(np.argmin(np.abs(h)))]))
    return np.stack([first, np.cross(h, first)], axis=1)
