"""What residuals are like when nothing is wrong: the yardstick of every alarm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.spatial import Array


@dataclass(frozen=True, eq=False)
class ResidualStatistics:
    """Mean and covariance of residuals without load or contact, and the farthest that they came.

    Attributes:
        mean: (k,). covariance: (k, k). farthest: largest `distance` seen. joints: columns of the residuals used.
    """

    mean: Array
    covariance: Array
    farthest: float
    joints: tuple[int, ...]

    @classmethod
    def of(cls, residuals: ArrayLike, joints: ArrayLike | None = None) -> ResidualStatistics:
        """Of residuals (N, n); joints: the columns to look at, all without."""
        r = np.asarray(residuals, dtype=float)
        if r.ndim != 2 or len(r) < 2 or not np.isfinite(r).all():
            raise TrocarError(f"residuals must be finite numbers (N, n) with N >= 2, got shape {r.shape}")
        chosen = tuple(range(r.shape[1])) if joints is None else tuple(int(j) for j in np.atleast_1d(joints))
        r = r[:, chosen]
        mean, covariance = r.mean(0), np.atleast_2d(np.cov(r.T))
        if np.linalg.eigvalsh(covariance)[0] <= 0:
            raise TrocarError("the residuals do not vary in every direction: too few rows, or a joint without noise")
        return cls(mean, covariance, float(_distance(r - mean, covariance).max()), chosen)

    @property
    def deviation(self) -> Array:
        """(k,) standard deviations."""
        return np.sqrt(np.diag(self.covariance))

    def distance(self, residuals: ArrayLike) -> Array:
        """Mahalanobis distance (...) of residuals (..., n) from the mean, in standard deviations."""
        r = np.asarray(residuals, dtype=float)[..., self.joints]
        return _distance(r - self.mean, self.covariance)


def _distance(r: Array, covariance: Array) -> Array:
    return np.sqrt(np.einsum("...i,...i->...", r, np.linalg.solve(covariance, r[..., None])[..., 0]))
