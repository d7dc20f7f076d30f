"""Hysteresis or lag? One path at two speeds decides: path memory does not depend on speed, a delay does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from trocar.experiments.experiment import data_file
from trocar.experiments.wang2019.recordings import HALF_SPEED, INSERTION, TABLE
from trocar.identification.pipeline import identify
from trocar.identification.recipes.recipe import Recipe, load_recipe
from trocar.recording import load_recording
from trocar.report import Claim

DELAYS = (0.0, 0.02, 0.04, 0.05, 0.06)  # [s]


def half_speed_claim(data: Path | None) -> tuple[Claim, list[str]]:
    """Fit each model at full speed and evaluate it at half speed: the mean error of J4 to J7, and a summary."""
    name, files = "psm/half speed, hysteresis against lag", [data_file(data, path) for path in (INSERTION, HALF_SPEED)]
    if any(missing for _, missing in files):
        reason = "not run: the recordings at full and half speed are not in the data folder"
        return TABLE.claim(name, None, missing=reason), []
    full, half = (
        load_recording(path, "PSM", as_recorded=True, rate=rate)
        for (path, _), rate in zip(files, (200.0, 100.0), strict=True)
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
