"""Our identification: errors on held-out rows, hysteresis against lag at two speeds, and an optimised excitation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from trocar.control.trajectories import Fourier, fourier
from trocar.experiments.experiment import Context, data_file
from trocar.experiments.wang2019.recordings import HALF_SPEED, INSERTION, ONE, TABLE, listed, measured
from trocar.identification.cross_validation import bins, folds, period
from trocar.identification.estimators import expanded
from trocar.identification.excitation.criterion import Criterion
from trocar.identification.excitation.limits import excitation_limits
from trocar.identification.excitation.search import SAMPLES, excite, sampled
from trocar.identification.pipeline import Identified, identify, problem_of
from trocar.identification.recipes.recipe import Recipe, load_recipe
from trocar.mechanics import load_mechanism
from trocar.recording import Recording, load_recording
from trocar.recording.motor_columns import joint_from_columns
from trocar.report import Claim
from trocar.spatial import Array

DELAYS = (0.0, 0.02, 0.04, 0.05, 0.06)  # [s]
HARMONICS, FREQUENCY = 6, 0.18  # [Hz], as designed by Wang et al.
PLAYED = 30 / 35  # fraction of the designed speed


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


def half_speed(data: Path | None) -> list[str]:
    """Hysteresis or lag? One path at two speeds decides: path memory does not depend on speed, a delay does.

    Each model is fitted at full speed and evaluated at half speed; returns a summary of the errors of J4 to J7.
    """
    files = [data_file(data, path) for path in (INSERTION, HALF_SPEED)]
    if any(isinstance(file, str) for file in files):
        return []
    rates = zip(files, (200.0, 100.0), strict=True)
    full, half = (load_recording(path, "PSM", as_recorded=True, rate=rate) for path, rate in rates)
    recipe = load_recipe("PSM")
    hysteresis = identify(full, recipe=recipe, cross_validate=False)
    lags = [identify(full, recipe=coulomb(recipe, delay), cross_validate=False) for delay in DELAYS]
    # The delay that fits the wrist best at full speed.
    best = min(lags, key=lambda identified: float(identified.train_relative_error[3:].mean()))
    lines = []
    lagging = f"Coulomb with a lag of {1e3 * best.recipe.delay:.0f} ms"
    for label, identified in (("hysteresis", hysteresis), (lagging, best)):
        fitted, at_half = identified.train_relative_error[3:], identified.relative_error(half)[3:]
        means_of = {"mean_fitted": np.mean(fitted), "mean_half": np.mean(at_half)}
        errors = {"fitted": listed(fitted, ".3f"), "half": listed(at_half, ".3f")}
        lines.append(TABLE.text("model at half speed", label=label, **errors, **means_of))
    return [TABLE.text("half speed", models="; ".join(lines))]


def coulomb(recipe: Recipe, delay: float) -> Recipe:
    """The recipe with Coulomb friction instead of hysteresis, and efforts with a delay [s]."""
    drives = tuple(
        replace(drive, hysteresis=(), terms=(*drive.terms, "Fc")) if drive.hysteresis else drive
        for drive in recipe.template.drives
    )
    return replace(recipe, delay=delay, template=replace(recipe.template, drives=drives))


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
            recorded=recorded(context.data, reduced, full),
        ),
        TABLE.claim("excitation/excess over a limit", max(excitation.violation, 0.0)),
    ]


def recorded(data: Path | None, reduced: Criterion, full: Criterion) -> str:
    """Text on the condition numbers of the motion of 'one', as recorded and at its designed speed."""
    path = data_file(data, ONE)
    if isinstance(path, str):
        return "the authors' motion: no data"
    motion = fitted(measured(path, load_recipe("PSM")).joints)
    states = sampled(motion, HARMONICS * SAMPLES + 1)
    a, b = (criterion.condition_number(*states) for criterion in (reduced, full))
    return f"the authors' motion, as recorded and at the designed speed: {a:.0f} and {b:.0f}"


def fitted(recording: Recording) -> Fourier:
    """The Fourier series fitted to a recorded motion, with its frequency changed to the designed one."""
    inside = slice(400, -400)
    t, q = recording.t[inside], recording.q[inside]
    k = np.arange(1, HARMONICS + 1)

    def fit(f: float) -> tuple[float, np.ndarray]:
        phase = 2.0 * np.pi * f * np.outer(t, k)
        A = np.hstack([np.ones((len(t), 1)), np.sin(phase), -np.cos(phase)])
        x, *_ = np.linalg.lstsq(A, q, rcond=None)
        return float(np.square(A @ x - q)[:, 0].sum()), x

    near = FREQUENCY * PLAYED
    _, x = min((fit(f) for f in np.linspace(0.99 * near, 1.01 * near, 41)), key=lambda pair: pair[0])
    w = 2.0 * np.pi * FREQUENCY * k[:, None]
    return fourier(x[0], w * x[1 : HARMONICS + 1], w * x[HARMONICS + 1 :], FREQUENCY)
