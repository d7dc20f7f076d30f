"""Collisions: residuals farther out than they ever are without contact."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from trocar.control.controller import checked_positive
from trocar.control.observers.residuals import ResidualStatistics
from trocar.spatial import Array

MARGIN = 1.3  # times the largest residual without contact


class Detector(ABC):
    """Alarms along efforts or residuals."""

    @abstractmethod
    def alarms(self, efforts: ArrayLike) -> Array:
        """(N,) True where rows (N, n) of efforts [N m, N] are alarms."""

    def first(self, t: ArrayLike, efforts: ArrayLike) -> float | None:
        """Time [s] of the first alarm along efforts (N, n) at times t (N,); None if there is none."""
        found = np.flatnonzero(self.alarms(efforts))
        return float(np.asarray(t)[found[0]]) if found.size else None


class CollisionDetector(Detector):
    """Alarm where the residual of a joint is larger than any without contact, by a margin.

    Args:
        statistics: of residuals along motions like those to be watched, at the same bandwidth, without contact.
        margin: threshold as a multiple of their largest.

    Attributes:
        threshold: (k,) of the joints looked at, from the mean [N m, N].
    """

    def __init__(self, statistics: ResidualStatistics, margin: float = MARGIN) -> None:
        self.statistics, self.margin = statistics, checked_positive(margin, "margin", "")
        self.threshold = self.margin * statistics.largest

    def alarms(self, efforts: ArrayLike) -> Array:
        return np.asarray((self.statistics.excess(efforts) > self.margin).any(-1))
