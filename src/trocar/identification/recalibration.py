"""Recalibration: friction and offsets of a known arm, refitted to a few seconds of a new recording.

Friction of cables changes from day to day; masses, rotors and springs do not. They are held. Friction elements, viscous
terms and offsets are fitted anew, held to their old values as strongly as the recipe holds them to zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trocar.arms.parameters import Drive, Parameters
from trocar.errors import TrocarError
from trocar.identification.design import design, with_values
from trocar.identification.estimators import expanded
from trocar.identification.identify import prepared
from trocar.identification.prediction import efforts, regressor, relative_error, root_mean_square
from trocar.identification.recipe import Recipe, load_recipe
from trocar.identification.recording_checks import SHORTEST, check
from trocar.mechanics.inertia import NAMES, barycentric
from trocar.recording import Recording
from trocar.recording.motor_columns import joint_from_columns
from trocar.spatial import Array


@dataclass(frozen=True, kw_only=True)
class Recalibrated:
    """A set with new friction, and its errors on the new recording before and after.

    Attributes:
        before, after: (n,) relative errors on the rows after the ones that were fitted; where all were, on those.
        rms_before, rms_after: (n,) the same as root mean square [N m, N]. judged: whether on rows not fitted.
    """

    parameters: Parameters
    columns: tuple[str, ...]
    before: Array
    after: Array
    rms_before: Array
    rms_after: Array
    judged: bool


def recalibrate(
    base: Parameters, recording: Recording, seconds: float | None = None, recipe: Recipe | None = None
) -> Recalibrated:
    """Refit friction and offsets of a set to the first `seconds` of a recording [s], None for all of it.

    Args:
        recipe: that the set was identified by; None for the arm's own.
    """
    recipe = recipe or load_recipe(base.arm)
    _check_structure(recipe, base)
    mechanism = recipe.mechanism()
    check(recording, mechanism.arm)
    T = joint_from_columns(mechanism.arm, tuple(recording.joints))
    signals = prepared(recipe, recording)
    first = float(signals.t[0])
    if seconds is not None and seconds < SHORTEST:
        raise TrocarError(f"{seconds:g} s are too few to recalibrate from; take {SHORTEST:g} s or more")
    early = signals.t - first <= (np.inf if seconds is None else seconds)
    fitted, later = signals.used & early, signals.used & ~early
    s = (signals.q @ T.T @ mechanism.drives.A.T)[fitted]
    Y = regressor(mechanism, T, signals)[fitted]
    problem = design(mechanism, recipe.priors, recipe.weights, Y, signals.tau[fitted], s)
    known = np.linalg.solve(problem.M, _values(base, recipe, problem.names))
    free = np.array([_refitted(problem.names, column) for column in problem.M.T])
    rest = replace(
        problem,
        X=problem.X[..., free],
        tau=problem.tau - problem.X[..., ~free] @ known[~free],
        theta_prior=known[free],
        positive=problem.positive[free],
        friction=problem.friction[free],
        terms=tuple(term for term, is_free in zip(problem.terms, free, strict=True) if is_free),
        penalty=problem.penalty[free],
    )
    theta = known.copy()
    theta[free] = expanded(rest, *rest.gram(np.ones(len(rest.tau), dtype=bool)))
    parameters = replace(with_values(recipe.template, problem.names, problem.M @ theta), name=base.name)
    parameters = replace(parameters, inertias=base.inertias)
    rows = later if later.any() else fitted
    found = [efforts(replace(recipe, template=p).mechanism(), T, signals)[rows] for p in (base, parameters)]
    tau = signals.tau[rows]
    return Recalibrated(
        parameters=parameters,
        columns=tuple(recording.joints),
        before=relative_error(tau, found[0]),
        after=relative_error(tau, found[1]),
        rms_before=root_mean_square(tau, found[0]),
        rms_after=root_mean_square(tau, found[1]),
        judged=bool(later.any()),
    )


def _refitted(names: tuple[str, ...], column: Array) -> bool:
    """Whether a coordinate belongs to friction or an offset."""
    owners = [names[i].split(".", 1)[1] for i in np.flatnonzero(column)]
    return all(term in ("Fv", "Fc", "Fo") or term.startswith("hysteresis") for term in owners)


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
    def structure(drive: Drive) -> tuple[str, tuple[str, ...]]:
        return drive.name, tuple(drive.terms)

    known = {dahl.delta for drive in recipe.template.drives for dahl in drive.hysteresis}
    strange = {dahl.delta for drive in base.drives for dahl in drive.hysteresis} - known
    same = [structure(d) for d in base.drives] == [structure(d) for d in recipe.template.drives]
    if strange or not same or set(base.inertias) != set(recipe.template.inertias):
        raise TrocarError(
            f"'{base.name}' ({base.path}) was not identified by this recipe, so its friction cannot be refitted; "
            "identify the arm once (trocar identify TRAIN -o BASE.toml) and recalibrate that, or name the recipe it "
            "was identified by (--recipe)"
        )
