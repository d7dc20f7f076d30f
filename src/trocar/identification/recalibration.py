"""Recalibration: friction and effort bias of a known arm, refitted to a few seconds of a new recording.

Friction of cables and the bias of the measured effort change from day to day; masses, rotors, springs and constant
forces do not and are held fixed. Friction elements, viscous terms and biases are refitted, regularised towards their
old values as strongly as the recipe regularises them towards zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trocar.arms.parameters import Parameters
from trocar.errors import TrocarError
from trocar.identification.design import with_values
from trocar.identification.estimators import expanded
from trocar.identification.pipeline import checked, problem_of
from trocar.identification.recipes.recipe import Recipe, load_recipe
from trocar.identification.recording_checks import MIN_DURATION
from trocar.identification.signals import efforts, relative_error, root_mean_square
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES, barycentric
from trocar.recording import Recording
from trocar.spatial import Array

REFITTED = ("Fv", "Fc", "Fo", "hysteresis")  # terms of drives


@dataclass(frozen=True, kw_only=True)
class Recalibrated:
    """A set with new friction, and its errors on the new recording before and after.

    Attributes:
        before, after: (n,) relative errors on the rows after the fitted ones; if all rows were fitted, on those.
        rms_after: (n,) the latter as root mean square [N m, N]. judged: True if the errors are on held-out rows.
    """

    parameters: Parameters
    columns: tuple[str, ...]
    before: Array
    after: Array
    rms_after: Array
    judged: bool


def recalibrate(
    base: Parameters, recording: Recording, seconds: float | None = None, recipe: Recipe | None = None
) -> Recalibrated:
    """Refit friction and effort bias of a set to the first `seconds` of a recording [s]. Default: all of it.

    Args:
        recipe: recipe with which the set was identified. Default: the arm's built-in recipe.
    """
    recipe = recipe or load_recipe(base.arm)
    _check_structure(recipe, base)
    mechanism, T, signals = checked(recipe, recording)
    first = float(signals.t[0])
    if seconds is not None and seconds < MIN_DURATION:
        raise TrocarError(f"{seconds:g} s are too few to recalibrate from; use {MIN_DURATION:g} s or more")
    early = signals.t - first <= (np.inf if seconds is None else seconds)
    fitted, later = signals.used & early, signals.used & ~early
    problem = problem_of(recipe, mechanism, T, replace(signals, used=fitted))
    known = np.linalg.solve(problem.M, _values(base, recipe, problem.names))
    free = np.array([term.partition(".")[2] in REFITTED for term in problem.terms])
    rest = replace(
        problem,
        X=problem.X[..., free],
        tau=problem.tau - problem.X[..., ~free] @ known[~free],
        theta_prior=known[free],
        terms=tuple(term for term, is_free in zip(problem.terms, free, strict=True) if is_free),
        penalty=problem.penalty[free],
    )
    theta = known.copy()
    theta[free] = expanded(rest, *rest.gram(np.ones(len(rest.tau), dtype=bool)))
    parameters = with_values(recipe.template, problem.names, problem.M @ theta)
    parameters = replace(parameters, name=base.name, inertias=base.inertias)
    rows = later if later.any() else fitted
    predicted = [efforts(Mechanism(recipe.arm, p), T, signals)[rows] for p in (base, parameters)]
    tau = signals.tau[rows]
    return Recalibrated(
        parameters=parameters,
        columns=tuple(recording.joints),
        before=relative_error(tau, predicted[0]),
        after=relative_error(tau, predicted[1]),
        rms_after=root_mean_square(tau, predicted[1]),
        judged=bool(later.any()),
    )


def _values(base: Parameters, recipe: Recipe, names: tuple[str, ...]) -> Array:
    """Parameters (p,) of a set in the structure of the recipe."""
    value: dict[str, float] = {}
    for link, body in base.inertias.items():
        value |= {f"{link}.{x}": v for x, v in zip(NAMES, barycentric(body), strict=True)}
    drives = {drive.name: drive for drive in base.drives}
    for template in recipe.template.drives:
        drive = drives[template.name]
        value |= {f"{drive.name}.{term}": getattr(drive, term) for term in template.terms}
        by_delta = {dahl.delta: dahl for dahl in drive.hysteresis}
        for k, place in enumerate(template.hysteresis):
            dahl = by_delta.get(place.delta)
            value[f"{drive.name}.hysteresis[{k}].F"] = dahl.F if dahl else 0.0
            value[f"{drive.name}.hysteresis[{k}].slope"] = dahl.slope if dahl else 0.0
    value |= {f"{e.name}.amplitude": e.amplitude for e in base.elastics}
    return np.array([value[name] for name in names])


def _check_structure(recipe: Recipe, base: Parameters) -> None:
    theirs, ours = ([(d.name, tuple(d.terms)) for d in p.drives] for p in (base, recipe.template))
    used, known = ({dahl.delta for d in p.drives for dahl in d.hysteresis} for p in (base, recipe.template))
    if theirs != ours or not used <= known or set(base.inertias) != set(recipe.template.inertias):
        raise TrocarError(
            f"'{base.name}' ({base.path}) was not identified with this recipe, so its friction cannot be refitted; "
            "identify the arm once (trocar identify TRAIN -o BASE.toml) and recalibrate that, or give the recipe "
            "it was identified with"
        )
