"""Cross-validation by phase: a recording that repeats its motion must not be tested on motion it was fitted to.

The period is divided into intervals; one of them, in all its repetitions, is held out with a guard gap on both sides
(memory of filters and friction), and predicted from the rest. Each of `FOLDS` intervals is tried from `SHIFTS` starting
points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trocar.identification.design import Design
from trocar.identification.estimators import expanded
from trocar.identification.signals import Signals
from trocar.spatial import Array

FOLDS, SHIFTS = 8, 3
REPEATS_WITHIN = 0.05  # largest difference of repetitions, relative to the spread of the motion


def period(signals: Signals) -> int | None:
    """Period of the motion in rows, or None if it does not repeat."""
    q = signals.q - signals.q.mean(0)
    spread = q.std(0)
    q = q[:, spread > 1e-9] / spread[spread > 1e-9]
    rows = len(q)
    longest = round(0.75 * rows)
    if q.size == 0:
        return None
    # |q(t + lag) - q(t)|^2 over the overlap, for all lags at once
    power = np.concatenate([[0.0], np.cumsum((q**2).sum(1))])
    length = 2 * rows
    product = np.fft.irfft((np.abs(np.fft.rfft(q, length, axis=0)) ** 2).sum(1), length)[:rows]
    lags = np.arange(rows)
    overlap = rows - lags
    distance = (power[overlap] + power[-1] - power[lags] - 2 * product) / (overlap * q.shape[1])
    far = np.flatnonzero(distance[:longest] > 0.5)  # lags at which the motion is clearly different
    start = int(far[0]) if far.size else longest
    near = start + np.flatnonzero(distance[start:longest] < 2 * REPEATS_WITHIN**2)
    if near.size == 0:
        return None
    first = near[near <= near[0] + np.argmax(np.append(np.diff(near) > 1, True))]
    return int(first[np.argmin(distance[first])])


def bins(signals: Signals, repeats: int | None) -> Array:
    """(N,) phase bin of each used row, 0 to FOLDS * SHIFTS - 1, of a motion with this period in rows.

    A motion that does not repeat counts as one period.
    """
    rows = np.flatnonzero(signals.used)
    span = repeats if repeats is not None else rows[-1] - rows[0] + 1
    phase = rows % span if repeats is not None else rows - rows[0]
    return np.asarray(phase * (FOLDS * SHIFTS) // span)


def folds(bin_of_row: Array, periodic: bool) -> Iterator[tuple[Array, Array]]:
    """(fitted, held-out) rows of every fold; a guard of one bin on each side of the held-out bins is in neither."""
    count = FOLDS * SHIFTS
    for start in range(count if periodic else count - SHIFTS + 1):
        left_out = start + np.arange(-1, SHIFTS + 1)
        left_out = left_out % count if periodic else left_out
        yield ~np.isin(bin_of_row, left_out), np.isin(bin_of_row, left_out[1:-1])


@dataclass(frozen=True, kw_only=True)
class Validation:
    """Prediction errors on held-out rows.

    Attributes:
        square, total: (FOLDS, n) squared error and squared effort of each interval of the motion.
    """

    square: Array
    total: Array

    @property
    def error(self) -> Array:
        """Relative error (n,) of every column."""
        return np.asarray(np.sqrt(self.square.sum(0) / self.total.sum(0)))

    @property
    def mean(self) -> float:
        """Mean of the errors over the columns."""
        return float(self.error.mean())

    @property
    def standard_errors(self) -> Array:
        """Standard error (n,) of `error`, by leaving out one interval at a time (jackknife)."""
        return _jackknife(self._without_each())

    @property
    def standard_error(self) -> float:
        """Standard error of `mean`, computed in the same way."""
        return float(_jackknife(self._without_each().mean(1)))

    def _without_each(self) -> Array:
        return np.asarray(np.sqrt((self.square.sum(0) - self.square) / (self.total.sum(0) - self.total)))


def _jackknife(values: Array) -> Array:
    count = len(values)
    return np.asarray(np.sqrt((count - 1) / count * ((values - values.mean(0)) ** 2).sum(0)))


def cross_validated(
    problem: Design,
    bin_of_row: Array,
    grams: Sequence[tuple[Array, Array]],
    periodic: bool,
    progress: Callable[[float], None] | None = None,
) -> Validation:
    """Held-out errors of a problem; `grams` are those of the bins (Design.grams)."""
    count = FOLDS * SHIFTS
    square = np.zeros((FOLDS, problem.tau.shape[1]))
    total = np.zeros_like(square)
    for number, (fitted, judged) in enumerate(folds(bin_of_row, periodic)):
        inside = np.unique(bin_of_row[fitted])
        theta = expanded(problem, sum(grams[b][0] for b in inside), sum(grams[b][1] for b in inside))
        tau = problem.tau[judged]
        error = tau - problem.X[judged] @ theta
        interval = bin_of_row[judged] // SHIFTS
        for k in np.unique(interval):
            square[k] += (error[interval == k] ** 2).sum(0)
            total[k] += (tau[interval == k] ** 2).sum(0)
        if progress is not None:
            progress((number + 1) / count)
    return Validation(square=square, total=total)
