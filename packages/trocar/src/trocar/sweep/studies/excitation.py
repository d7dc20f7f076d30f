"""Condition number of excitations over starts and frequencies.

Each row searches for a motion of the ECM from one random start at one base frequency: the search of `trocar excite`,
split into independent parts. The best row shows where a longer search should start:
`trocar excite --arm ECM --harmonics 4 --frequency F --starts 1 --seed START`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trocar.identification.excitation.criterion import Criterion
from trocar.identification.excitation.limits import ExcitationLimits, excitation_limits
from trocar.identification.excitation.search import excite
from trocar.mechanics import load_mechanism
from trocar.sweep.results import Figures, Results
from trocar.sweep.table import grid

ROWS = 60
FREQUENCIES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6)  # [Hz]


def table(rows: int, seed: int) -> dict[str, Any]:
    starts = max(1, round(rows / len(FREQUENCIES)))
    return grid(arm=["ECM"], harmonics=[4], iterations=[0.3], frequency=FREQUENCIES, start=seed + np.arange(starts))


def run(arm: str, harmonics: int, frequency: float, start: int, iterations: float) -> dict[str, Any]:
    """Condition number of the motion found from one start. iterations: fraction of a full search."""
    criterion, limits = _problem(arm)
    options: Any = {"harmonics": harmonics, "frequency": frequency, "iterations": iterations}
    motion = excite(criterion, limits, starts=1, seed=start, **options)
    share = motion.effort / np.asarray(criterion.mechanism.arm.motors.effort)
    results = {"condition_number": motion.condition_number, "violation": motion.violation}
    return results | {"peak_effort": float(share.max()), "iterations_spent": motion.iterations}


@cache
def _problem(arm: str) -> tuple[Criterion, ExcitationLimits]:
    mechanism = load_mechanism(arm)
    return Criterion(mechanism), excitation_limits(mechanism.arm)


def findings(results: Results) -> list[tuple[str, str]]:
    condition, frequency = results["condition_number"], results["frequency"]
    best = int(np.argmin(condition))
    text = f"{condition[best]:.1f} at {frequency[best]:g} Hz, start {results['start'][best]}"
    lines = [("best condition number", text)]
    for f in np.unique(frequency):
        at = condition[frequency == f]
        lines.append((f"{f:g} Hz", f"best {at.min():.1f}, median {np.median(at):.1f} of {len(at)} starts"))
    return lines


def figures(results: Results) -> Figures:
    from trocar.plots import panels

    figure, axes = panels((7.0, 3.2))
    axes.semilogy(results["frequency"], results["condition_number"], "o", alpha=0.6)
    axes.set(xlabel="base frequency [Hz]", ylabel="condition number")
    return [(figure, "Condition number of the regressor, one point per start.")]
