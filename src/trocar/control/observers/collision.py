"""Residuals of a healthy arm, and detection of collisions by their statistics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError
from trocar.spatial import Array


@dataclass(frozen=True, eq=False)
class ResidualStatistics:
    """Residuals of some joints without load, contact or fault.

    Attributes:
        joints: monitored columns of the residuals. mean: (k,). covariance: (k, k).
        largest: (k,) largest distance from the mean [N m, N].
    """

    joints: tuple[int, ...]
    mean: Array
    covariance: Array
    largest: Array

    @classmethod
    def of(cls, residuals: ArrayLike, joints: ArrayLike | None = None) -> ResidualStatistics:
        """Statistics of residuals (N, n). joints: the columns to use. Default: all."""
        r = np.asarray(residuals, dtype=float)
        if r.ndim != 2 or len(r) < 2 or not np.isfinite(r).all():
            raise TrocarError(f"residuals must be finite numbers (N, n) with N >= 2, got shape {r.shape}")
        chosen = tuple(range(r.shape[1])) if joints is None else tuple(int(j) for j in np.atleast_1d(joints))
        r = r[:, chosen]
        mean, covariance = r.mean(0), np.atleast_2d(np.cov(r.T))
        largest = np.abs(r - mean).max(0)
        if not (largest > 0).all():
            raise TrocarError("some residuals are constant, so they have no statistics to compare with")
        return cls(chosen, mean, covariance, largest)

    def excess(self, residuals: ArrayLike) -> Array:
        """(..., k) distance of residuals (..., n) from the mean, as a multiple of the largest."""
        return np.abs(np.asarray(residuals, dtype=float)[..., self.joints] - self.mean) / self.largest


MARGIN = 1.3  # threshold relative to the largest contact-free residual


class Detector(ABC):
    """Detector of alarms along efforts or residuals."""

    @abstractmethod
    def alarms(self, efforts: ArrayLike) -> Array:
        """Mask (N,) of alarms along efforts (N, n) [N m, N]."""

    def first(self, t: ArrayLike, efforts: ArrayLike) -> float | None:
        """Time [s] of the first alarm along efforts (N, n) at times t (N,); None if there is none."""
        alarms = np.flatnonzero(self.alarms(efforts))
        return float(np.asarray(t)[alarms[0]]) if alarms.size else None


class CollisionDetector(Detector):
    """Raises an alarm if the residual of a joint exceeds the largest contact-free one by a margin.

    Args:
        statistics: of contact-free residuals along similar motions, at the same bandwidth.
        margin: threshold as a multiple of the largest of them.

    Attributes:
        threshold: (k,) of the monitored joints, relative to the mean [N m, N].
    """

    def __init__(self, statistics: ResidualStatistics, margin: float = MARGIN) -> None:
        self.statistics, self.margin = statistics, checks.positive("margin", margin, "")
        self.threshold = self.margin * statistics.largest

    def alarms(self, efforts: ArrayLike) -> Array:
        return np.asarray((self.statistics.excess(efforts) > self.margin).any(-1))
