"""Cross-validated errors of our identification on the rows of a published figure."""

from __future__ import annotations

import numpy as np

from trocar.identification.cross_validation import bins, folds, period
from trocar.identification.estimators import expanded
from trocar.identification.pipeline import Identified, problem_of
from trocar.recording.motor_columns import joint_from_columns
from trocar.spatial import Array


def left_out_error(identified: Identified, rows: int) -> Array:
    """Relative error of effort (n,) on the first used rows, with the folds of `Identified.cv_relative_error`."""
    recipe, signals = identified.recipe, identified.signals
    mechanism = recipe.mechanism()
    problem = problem_of(recipe, mechanism, joint_from_columns(mechanism.arm, identified.columns), signals)
    repeats = period(signals)
    bin_of_row = bins(signals, repeats)
    grams = problem.grams(bin_of_row, signals.faster_than(recipe.slower_than))
    square, total = np.zeros((2, problem.tau.shape[1]))
    for fitted, judged in folds(bin_of_row, repeats is not None):
        inside = np.unique(bin_of_row[fitted])
        theta = expanded(problem, sum(grams[b][0] for b in inside), sum(grams[b][1] for b in inside))
        first = np.flatnonzero(judged[:rows])
        tau = problem.tau[first]
        square += ((tau - problem.X[first] @ theta) ** 2).sum(0)
        total += (tau**2).sum(0)
    return np.asarray(np.sqrt(square / total))
