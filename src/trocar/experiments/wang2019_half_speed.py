"""Hysteresis or lag? The same path at two speeds tells: memory of the path does not change with speed, a delay does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from trocar.arms.parameters import Drive
from trocar.identification.identify import identify
from trocar.identification.recipe import Recipe, load_recipe
from trocar.recording import load_recording
from trocar.report import Claim

FULL = "one_results_1.0_scale_105_grams_insertion.csv"
HALF = "one_results_0.5_scale_105_grams_insertion.csv"  # sampled at 100 Hz
DELAYS = (0.0, 0.02, 0.04, 0.05, 0.06)  # [s]


def half_speed(folder: Path | None) -> tuple[Claim, list[str]]:
    """Fit each model at full speed, judge it at half speed: the mean error of J4 to J7, and all of it in words."""
    claim = Claim(
        id="wang2019/psm/half speed, hysteresis against lag",
        published=None,
        ours=None,
        unit="",
        relation="at_most",
        tolerance=0.0,
        source="recordings of Wang et al. 2019 at two speeds",
        note="not run: the recordings at full and half speed are not in the data folder",
    )
    if folder is None or not all(path.is_file() for path in _files(folder)):
        return claim, []
    full, half = (
        load_recording(path, "PSM", as_recorded=True, rate=rate)
        for path, rate in zip(_files(folder), (200.0, 100.0), strict=True)
    )
    recipe = load_recipe("PSM")
    hysteresis = identify(full, recipe=recipe, cross_validate=False)
    lags = [identify(full, recipe=coulomb(recipe, delay), cross_validate=False) for delay in DELAYS]
    # The delay that fits the wrist best at full speed.
    best = min(lags, key=lambda found: float(found.train_relative_error[3:].mean()))
    lines, means = [], []
    for name, found in (("hysteresis", hysteresis), (f"Coulomb with a lag of {1e3 * best.recipe.delay:.0f} ms", best)):
        at_half = found.relative_error(half)
        means.append(float(np.mean(at_half[3:])))
        lines.append(
            f"{name}: J4 to J7 "
            + " ".join(f"{x:.3f}" for x in found.train_relative_error[3:])
            + " where fitted, "
            + " ".join(f"{x:.3f}" for x in at_half[3:])
            + f" at half speed (mean {np.mean(found.train_relative_error[3:]):.3f} and {np.mean(at_half[3:]):.3f})"
        )
    note = "fitted at full speed; mean relative error of J4 to J7 at half speed; bound: Coulomb friction with a lag"
    return replace(claim, published=means[1], ours=means[0], note=note), [
        "Hysteresis or lag: both models fitted to the wrist at full speed and judged on the same path at half speed, "
        "with 105 g on the insertion column. " + "; ".join(lines) + "."
    ]


def _files(folder: Path) -> list[Path]:
    return [folder / "psm_simplified" / "measured_trajectory" / name for name in (FULL, HALF)]


def coulomb(recipe: Recipe, delay: float) -> Recipe:
    """The recipe with Coulomb friction in place of hysteresis, and efforts that are late."""
    return replace(
        recipe,
        delay=delay,
        template=replace(recipe.template, drives=tuple(_coulomb(d) for d in recipe.template.drives)),
    )


def _coulomb(drive: Drive) -> Drive:
    return replace(drive, hysteresis=(), terms=(*drive.terms, "Fc")) if drive.hysteresis else drive
