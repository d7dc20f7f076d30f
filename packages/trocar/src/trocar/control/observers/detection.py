"""Detection of collisions and contacts: residuals of a healthy arm, and alarms where new ones leave them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.lib.stride_tricks import sliding_window_view
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


BLOCK, MEMORY, WINDOW = 0.02, 0.3, 0.1  # [s] averaging time, memory of the prediction, search window of a step's start
FOLDS = 8
RIDGE = 1e-6  # relative to the variance of the efforts; without noise the regressors are nearly collinear


class ContactDetector(Detector):
    """Raises an alarm if the external effort of a joint steps by more than it does without contact.

    Model errors vary with the motion: they are smooth, and an autoregressive model of the effort predicts them. The
    prediction error is white. A step of the effort has a known signature in it, and a generalised likelihood ratio test
    searches for this signature, of any size, starting at any time within the last tenth of a second.

    Efforts are averaged over `BLOCK`. The statistic of a joint is the size of the step found within the last `WINDOW`,
    divided by its standard deviation. The margin of the threshold above the largest contact-free statistic is found
    by cross-validation: a detector fitted to the other parts of the motion must raise no alarm on a held-out part. The
    margin is at least `MARGIN`.

    Args:
        efforts: (N, n) `external_effort` of similar motions without contact [N m, N].
        dt: time step [s]. joints: columns to monitor. Default: all.
        folds: (N,) part of each row. Default: eighths of the recording. For a periodic motion, use parts of its
            phase.
        least: largest step that is not a contact, one number or (k,) [N m, N]; needed for data without noise.

    Attributes:
        margin: threshold over the largest statistic without contact; found by cross-validation, `MARGIN` at least.
        crossed: margin from cross-validation alone. threshold: (k,).
        smallest: (k,) smallest step [N m, N] that exceeds the threshold within `WINDOW` without other disturbances.
    """

    def __init__(
        self,
        efforts: ArrayLike,
        dt: float,
        joints: tuple[int, ...] | None = None,
        folds: ArrayLike | None = None,
        least: ArrayLike = 0.0,
    ) -> None:
        tau = np.asarray(efforts, dtype=float)
        if tau.ndim != 2 or not np.isfinite(tau).all():
            raise TrocarError(f"efforts must be finite numbers (N, n), got shape {tau.shape}")
        if not (np.isfinite(dt) and 0 < dt <= BLOCK):
            raise TrocarError(f"dt must be positive and at most {BLOCK:g} s, got {dt!r}")
        self.joints = tuple(range(tau.shape[1])) if joints is None else tuple(joints)
        self.dt, self.rows = float(dt), max(1, round(BLOCK / dt))
        self._order, self._length = round(MEMORY / BLOCK), round(WINDOW / BLOCK)
        x = self._blocks(tau)
        if len(x) < FOLDS * 2 * (self._order + self._length):
            least = FOLDS * 2 * (self._order + self._length) * BLOCK
            raise TrocarError(
                f"{len(x) * BLOCK:.3g} s without contact are too short to fit the detector; use at least {least:.3g} s"
            )
        part = np.arange(len(tau)) * FOLDS // len(tau) if folds is None else np.asarray(folds)
        if part.shape != (len(tau),):
            raise TrocarError(f"folds must be one number for each of {len(tau)} rows, got shape {part.shape}")
        part = part[self.rows - 1 :: self.rows][: len(x)][self._order :]
        self.crossed = 1.0
        for fold in np.unique(part):
            self._fit(x, part != fold)
            seen = self._statistics(x)[self._order :]
            self.crossed = max(self.crossed, float((seen[part == fold].max(0) / seen[part != fold].max(0)).max()))
        self._fit(x, np.ones(len(part), dtype=bool))
        self.margin = max(self.crossed, MARGIN)
        per_effort = np.linalg.norm(self._mark, axis=0) / self._deviation
        self.threshold = np.maximum(self.margin * self._statistics(x).max(0), np.asarray(least) * per_effort)
        self.smallest = self.threshold / per_effort
        self.reset()

    def reset(self) -> None:
        """Clear the memory of `update`; the next alarm is possible after `MEMORY`."""
        self._sum, self._count = np.zeros(len(self.joints)), 0
        self._past: list[Array] = []

    def update(self, effort: ArrayLike) -> bool:
        """Process the external effort (n,) of one step, `MomentumObserver.raw` [N m, N]; True if there is an alarm."""
        self._sum = self._sum + np.asarray(effort, dtype=float)[list(self.joints)]
        self._count += 1
        if self._count == self.rows:
            self._past = [*self._past, self._sum / self.rows][-(self._order + self._length) :]
            self._sum, self._count = np.zeros(len(self.joints)), 0
        if len(self._past) <= self._order:
            return False
        return bool((self._statistics(np.array(self._past))[-1] > self.threshold).any())

    def statistics(self, efforts: ArrayLike) -> Array:
        """Statistics (N, k) at each row of efforts (N, n), from completed blocks; zero until `MEMORY` is full."""
        tau = np.asarray(efforts, dtype=float)
        known = np.repeat(self._statistics(self._blocks(tau)), self.rows, axis=0)
        ahead = np.zeros((self.rows - 1, len(self.joints)))
        return np.vstack([ahead, known, known[-1:].repeat(self.rows, axis=0)])[: len(tau)]

    def alarms(self, efforts: ArrayLike) -> Array:
        return np.asarray((self.statistics(efforts) > self.threshold).any(-1))

    def _blocks(self, tau: Array) -> Array:
        """(B, k) means over whole blocks."""
        count = len(tau) // self.rows
        if count <= self._order:
            raise TrocarError(
                f"{len(tau) * self.dt:.3g} s are too short; contact detection needs more than {MEMORY:g} s of history"
            )
        return np.asarray(tau[: count * self.rows, list(self.joints)].reshape(count, self.rows, -1).mean(1))

    def _fit(self, x: Array, chosen: Array) -> None:
        """Autoregression of each joint from chosen rows of x[order:], its deviation, and the signature of a step."""
        p, k = self._order, x.shape[1]
        self._weights, self._constant, self._deviation = np.empty((p, k)), np.empty(k), np.empty(k)
        for j in range(k):
            past = sliding_window_view(x[:-1, j], p)[chosen, ::-1]  # the latest first
            now, centre = x[p:, j][chosen], past.mean(0)
            A = past - centre
            a = np.linalg.solve(A.T @ A + RIDGE * len(A) * x[:, j].var() * np.eye(p), A.T @ (now - now.mean()))
            self._weights[:, j], self._constant[j] = a, now.mean() - a @ centre
            self._deviation[j] = (now - self._constant[j] - past @ a).std()
        if not (self._deviation > 0).all():
            raise TrocarError("some efforts are constant, so no detector can be fitted to them")
        absorbed = np.vstack([np.zeros(k), np.cumsum(self._weights, axis=0)])
        self._mark = 1.0 - absorbed[np.minimum(np.arange(self._length), p)]

    def _statistics(self, x: Array) -> Array:
        """Statistics (B, k) of blocks x (B, k)."""
        p, spread = self._order, np.zeros_like(x)
        for j in range(x.shape[1]):
            foretold = sliding_window_view(x[:-1, j], p)[:, ::-1] @ self._weights[:, j] + self._constant[j]
            white = (x[p:, j] - foretold) / self._deviation[j]
            for begun in range(1, self._length + 1):  # number of blocks since the step began, including the current one
                mark = self._mark[:begun, j]
                size = scipy.signal.lfilter(mark[::-1], [1.0], white) / np.linalg.norm(mark)
                np.maximum(spread[p:, j], np.abs(size), out=spread[p:, j])
        return spread
