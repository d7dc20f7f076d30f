"""Hysteresis or lag? One path at two speeds decides: path memory does not depend on speed, a delay does.

Both models are fitted at full speed and evaluated on the same path at half speed, with 105 g on the insertion column.

    python -m tools.half_speed DATA
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from trocar.identification.pipeline import identify
from trocar.identification.recipes.recipe import Recipe, load_recipe
from trocar.recording import load_recording
from trocar_reproductions.wang2019.recordings import HALF_SPEED, INSERTION, listed

DELAYS = (0.0, 0.02, 0.04, 0.05, 0.06)  # [s]


def half_speed(data: Path) -> list[str]:
    """Errors of J4 to J7, where fitted and at half speed, of hysteresis and of Coulomb friction with the best lag."""
    rates = zip((data / INSERTION, data / HALF_SPEED), (200.0, 100.0), strict=True)
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
        means = f"mean {fitted.mean():.3f} and {at_half.mean():.3f}"
        lines.append(f"{label}: {listed(fitted, '.3f')}; at half speed {listed(at_half, '.3f')} ({means})")
    return lines


def coulomb(recipe: Recipe, delay: float) -> Recipe:
    """The recipe with Coulomb friction instead of hysteresis, and efforts with a delay [s]."""
    drives = tuple(
        replace(drive, hysteresis=(), terms=(*drive.terms, "Fc")) if drive.hysteresis else drive
        for drive in recipe.template.drives
    )
    return replace(recipe, delay=delay, template=replace(recipe.template, drives=drives))


if __name__ == "__main__":
    print(*half_speed(Path(sys.argv[1])), sep="\n")
