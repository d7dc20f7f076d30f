"""Pivot calibration: the fixed point of a rotating body (Gondokaryono et al. 2019, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trocar.calibration.axes import MIN_ROWS, TooLittleMotion
from trocar.spatial import Array

# Smallest allowed relative singular value of [R -1], per row. A turn of 0.15 rad about a second axis gives 0.03.
MIN_SPREAD = 0.02


@dataclass(frozen=True, kw_only=True)
class Pivot:
    """The fixed point of a motion.

    Attributes:
        post: (3,) in the reference frame, tip: (3,) in the body's frame [m] (their b_post and b_tip).
        points: (N, 3) R_i tip + p_i, the point in each row [m].
        covariance: (3, 3) of `post`, from the noise of the rows [m^2].
    """

    post: Array
    tip: Array
    points: Array
    covariance: Array

    @property
    def rms(self) -> Array:
        """(3,) root mean square of each coordinate about `post` [m].

        Their eq. (5) lacks the factor 1/n: as printed, the value grows with the square root of the number of rows.
        """
        return np.sqrt(np.mean((self.points - self.post) ** 2, axis=0))

    @property
    def spread(self) -> float:
        """Root mean square distance from `post` [m]."""
        return float(np.linalg.norm(self.rms))


def pivot(T: Array, what: str = "the body") -> Pivot:
    """Least-squares fixed point of poses (N, 4, 4): [R_i -1] [tip; post] = -p_i."""
    if len(T) < MIN_ROWS:
        raise TooLittleMotion(f"{what} is seen in {len(T)} rows only; at least {MIN_ROWS} are needed")
    R, p = T[:, :3, :3], T[:, :3, 3]
    A = np.concatenate([R, np.broadcast_to(-np.eye(3), R.shape)], axis=2).reshape(-1, 6)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    if s[-1] < MIN_SPREAD * np.sqrt(len(T)):
        raise TooLittleMotion(
            f"{what} rotates about one axis only, or hardly at all: a fixed point needs rotations about two axes "
            "(move yaw and pitch)"
        )
    x = Vt.T @ ((U.T @ -p.ravel()) / s)
    points = R @ x[:3] + p
    variance = float(np.sum((points - x[3:]) ** 2) / max(1, p.size - 6))
    covariance = variance * (Vt.T / s**2) @ Vt
    return Pivot(post=x[3:], tip=x[:3], points=points, covariance=covariance[3:, 3:])
