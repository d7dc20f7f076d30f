"""Our identification: errors on held-out rows, and an optimised excitation."""

from __future__ import annotations

import numpy as np

from trocar.identification.cross_validation import bins, folds, period
from trocar.identification.estimators import expanded
from trocar.identification.excitation.criterion import Criterion
from trocar.identification.excitation.limits import excitation_limits
from trocar.identification.excitation.search import SAMPLES, excite, sampled
from trocar.identification.pipeline import Identified, problem_of
from trocar.mechanics import load_mechanism
from trocar.recording.motor_columns import joint_from_columns
from trocar.report import Claim
from trocar.spatial import Array
from trocar_reproductions.experiment import Context
from trocar_reproductions.wang2019.recordings import TABLE

HARMONICS, FREQUENCY = 6, 0.18  # [Hz], as designed by Wang et al.


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


def excitation_claims(context: Context) -> list[Claim]:
    """Run one start of the search with the authors' limits, order and frequency, at most 64 iterations."""
    context.progress("excitation: one start of at most 64 iterations")
    mechanism = load_mechanism("PSM")
    reduced, full = Criterion(mechanism, mechanism.arm.excitation.redundant_links), Criterion(mechanism)
    excitation = excite(
        reduced, excitation_limits(mechanism.arm), harmonics=HARMONICS, frequency=FREQUENCY, starts=1, iterations=0.4
    )
    states = sampled(excitation.motion, HARMONICS * SAMPLES + 1)
    return [
        TABLE.claim(
            "excitation/condition number",
            excitation.condition_number,
            parameters=excitation.parameters,
            iterations=excitation.iterations,
            all=len(full),
            full=full.condition_number(*states),
        ),
        TABLE.claim("excitation/excess over a limit", max(excitation.violation, 0.0)),
    ]
