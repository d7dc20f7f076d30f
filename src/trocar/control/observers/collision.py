"""Collision detection: residuals beyond the largest contact-free ones."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.observers.residuals import ResidualStatistics
from trocar.spatial import Array

MARGIN = 1.3  # threshold relative to the largest contact-free residual


class Detector(ABC):
    """Detector of alarms along efforts or residuals."""

    @abstractmethod
    def alarms(self, efforts: ArrayLike) -> Array:
        """Mask (N,) of alarms along efforts (N, n) [N m, N]."""

    def first(self, t: ArrayLike, efforts: ArrayLike) -> float | None:
        """Time [s] of the first alarm along efforts (N, n) at times t (N,); None if there is none."""
        found = np.flatnonzero(self.alarms(efforts))
        return float(np.asarray(t)[found[0]]) if found.size else None


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
