"""Validation of our identification: errors on held-out rows, and hysteresis against lag at two speeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from trocar.experiments.experiment import data_file
from trocar.experiments.wang2019.recordings import HALF_SPEED, INSERTION, TABLE
from trocar.identification.cross_validation import bins, folds, period
from trocar.identification.estimators import expanded
from trocar.identification.pipeline import Identified, identify, problem_of
from trocar.identification.recipes.recipe import Recipe, load_recipe
from trocar.recording import load_recording
from trocar.recording.motor_columns import joint_from_columns
from trocar.report import Claim
from trocar.spatial import Array

DELAYS = (0.0, 0.02, 0.04, 0.05, 0.06)  # [s]


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


def half_speed_claim(data: Path | None) -> tuple[Claim, list[str]]:
    """Hysteresis or lag? One path at two speeds decides: path memory does not depend on speed, a delay does.

    Each model is fitted at full speed and evaluated at half speed; returns the mean error of J4 to J7, and a summary.
    """
    name, files = "psm/half speed, hysteresis against lag", [data_file(data, path) for path in (INSERTION, HALF_SPEED)]
    if any(isinstance(file, str) for file in files):
        return TABLE.claim(name, "not run: the recordings at full and half speed are not in the data folder"), []
    full, half = (
        load_recording(path, "PSM", as_recorded=True, rate=rate)
        for path, rate in zip(files, (200.0, 100.0), strict=True)
    )
    recipe = load_recipe("PSM")
    hysteresis = identify(full, recipe=recipe, cross_validate=False)
    lags = [identify(full, recipe=coulomb(recipe, delay), cross_validate=False) for delay in DELAYS]
    # The delay that fits the wrist best at full speed.
    best = min(lags, key=lambda identified: float(identified.train_relative_error[3:].mean()))
    lines, means = [], []
    lagging = f"Coulomb with a lag of {1e3 * best.recipe.delay:.0f} ms"
    for label, identified in (("hysteresis", hysteresis), (lagging, best)):
        fitted, at_half = identified.train_relative_error[3:], identified.relative_error(half)[3:]
        means.append(float(np.mean(at_half)))
        listed = [" ".join(f"{x:.3f}" for x in errors) for errors in (fitted, at_half)]
        lines.append(
            f"{label}: J4 to J7 {listed[0]} on the fitted recording, {listed[1]} at half speed "
            f"(mean {np.mean(fitted):.3f} and {means[-1]:.3f})"
        )
    return TABLE.claim(name, means[0], published=means[1]), [
        "Hysteresis or lag: both models fitted to the wrist at full speed and tested on the same path at half speed, "
        "with 105 g on the insertion column. " + "; ".join(lines) + "."
    ]


def coulomb(recipe: Recipe, delay: float) -> Recipe:
    """The recipe with Coulomb friction instead of hysteresis, and efforts with a delay [s]."""
    drives = tuple(
        replace(drive, hysteresis=(), terms=(*drive.terms, "Fc")) if drive.hysteresis else drive
        for drive in recipe.template.drives
    )
    return replace(recipe, delay=delay, template=replace(recipe.template, drives=drives))
