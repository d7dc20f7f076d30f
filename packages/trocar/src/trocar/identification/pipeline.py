"""Identification of a physically consistent parameter set from a recording, and its recalibration from another.

Friction of cables and the bias of the measured effort change from day to day; masses, rotors, springs and constant
forces do not and are held fixed. Friction elements, viscous terms and biases are refitted, regularised towards their
old values as strongly as the recipe regularises them towards zero.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import Arm, gravity_vector
from trocar.arms.arm import CONTROL_RATE
from trocar.arms.parameters import Parameters
from trocar.errors import TrocarError, check_type
from trocar.identification.cross_validation import Validation, bins, cross_validated, period
from trocar.identification.design import Design, design, with_values
from trocar.identification.effort_bias import measured_bias, with_known_bias
from trocar.identification.estimators import consistent, disturbance, expanded
from trocar.identification.recipes.recipe import Recipe, load_recipe
from trocar.identification.signals import (
    MIN_DURATION,
    Signals,
    check,
    check_excitation,
    efforts,
    prepare,
    regressor,
    relative_error,
    root_mean_square,
    shifted,
)
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES, barycentric, pseudo_inertia
from trocar.mechanics.static_friction import RESOLVED, presliding_frequency
from trocar.recording import Recording
from trocar.recording.filters import averaged
from trocar.recording.motor_columns import joint_from_columns
from trocar.spatial import Array

UNEXPLAINED = 0.4  # smallest residual, relative to the standard deviation of the effort, of a joint not explained
MIN_EXPLAINED = 0.25  # fraction of the joints that a usable fit explains
MAX_RATE = 400.0  # rows per second that are fitted [Hz]
REFITTED = ("Fv", "Fc", "Fx", "mu", "Fo", "hysteresis")  # terms of drives
PERIOD = 1.0 / CONTROL_RATE  # [s]; an identified arm can be simulated with it
LOAD_ROUNDS = 3  # friction that grows with load is linear for a known load: each round has the gravity of the last


@dataclass(frozen=True, kw_only=True)
class Identified:
    """An identified arm with its errors on the recording.

    Attributes:
        parameters: the set, as `load_mechanism` and `Simulator` read it from its file.
        columns: joints or motors of the effort columns.
        train_relative_error, cv_relative_error, raw_relative_error: (n,) on the fitted rows; on held-out rows; on the
            unfiltered effort. train_rms: (n,) [N m, N]. validation: the folds of cv_relative_error, or None.
        unexplained: columns whose effort the model does not explain, where fitted.
        names, covariance: of the non-zero parameters, (k,) and (k, k).
        status: solver status. seconds: wall time.
    """

    recipe: Recipe
    parameters: Parameters
    columns: tuple[str, ...]
    signals: Signals
    predicted: Array
    train_relative_error: Array
    cv_relative_error: Array
    raw_relative_error: Array
    train_rms: Array
    unexplained: tuple[str, ...]
    names: tuple[str, ...]
    covariance: Array
    status: str
    seconds: float
    validation: Validation | None

    def mechanism(self) -> Mechanism:
        """The equations of the recorded arm with the identified parameters."""
        return self.recipe.mechanism(self.parameters)

    def prepared(self, recording: Recording) -> Signals:
        """Another recording, filtered like the fitted one."""
        return prepared(self.recipe, recording)

    def efforts(self, recording: Recording) -> Array:
        """Predicted effort at every row of another recording, in its columns [N m, N].

        It is not delayed; `recorded_efforts` includes the delay of recorded efforts that the recipe assumes.
        """
        T = joint_from_columns(self.recipe.arm, tuple(recording.joints))
        return efforts(self.mechanism(), T, self.prepared(recording))

    def recorded_efforts(self, recording: Recording) -> Array:
        """Predicted effort at every row as it would be recorded, the recipe's delay included [N m, N]."""
        return shifted(self.prepared(recording).t, self.efforts(recording), -self.recipe.delay)

    def relative_error(self, recording: Recording) -> Array:
        """Relative error (n,) on another recording: filtered effort, ends cut off."""
        check(recording, self.recipe.arm)
        signals = self.prepared(recording)
        return relative_error(signals.tau[signals.used], self.efforts(recording)[signals.used])

    @property
    def rotor_inertia(self) -> dict[str, float]:
        """Rotor inertias by drive [kg m^2]."""
        return {d.name: d.Im for d in self.parameters.drives if "Im" in d.terms}

    @property
    def min_pseudo_inertia_eigenvalue(self) -> float:
        """Smallest eigenvalue over all links; positive if every body is physical."""
        return min(
            float(np.linalg.eigvalsh(pseudo_inertia(barycentric(body)))[0])
            for body in self.parameters.inertias.values()
        )

    @property
    def largest_link_inertia(self) -> float:
        """Largest principal moment of any link about its centre of mass [kg m^2]."""
        return max(float(np.linalg.eigvalsh(body.I)[-1]) for body in self.parameters.inertias.values())


def identify(
    recording: Recording,
    arm: str | Arm = "PSM",
    *,
    parameters: str | Path | Parameters | None = None,
    recipe: Recipe | None = None,
    gravity: ArrayLike | None = None,
    cross_validate: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Identified:
    """Identify an arm from a recording, with a recipe.

    If the recording also has the commanded effort (`commands["tau"]`), the bias of the measured effort is the mean
    difference, and a constant effort beyond it is a force. Otherwise the recipe decides between the two.

    Args:
        arm: name of the arm, or a custom `Arm`. parameters: known set of a custom arm.
        recipe: recipe to use. Default: the built-in one of the arm.
        gravity: (3,) in base axes while the arm was recorded [m/s^2]. Default: that of the recipe, which for the
            built-in ones is that of the arm's usual mounting.
        cross_validate: False leaves cv_relative_error NaN and saves time.
        progress: called with the completed fraction.
    """
    start = time.perf_counter()
    tell = progress or (lambda fraction: None)
    recipe = recipe or load_recipe(arm, parameters=parameters)
    if gravity is not None:
        recipe = replace(recipe, gravity=tuple(gravity_vector(recipe.arm, gravity).tolist()))
    mechanism, T, signals = checked(recipe, recording)
    check_excitation(recording, signals)
    tell(0.1)
    repeats = period(signals)
    bin_of_row, fitted = bins(signals, repeats), signals.faster_than(recipe.slower_than)
    bias = measured_bias(recording)
    rounds = LOAD_ROUNDS if mechanism.drives.loaded else 1
    k = 0
    while k < rounds:
        problem = problem_of(recipe, mechanism, T, signals)
        if bias is not None:
            problem = with_known_bias(problem, mechanism, T, bias)
        grams = problem.grams(bin_of_row, fitted)
        G, h = np.sum([G for G, _ in grams], axis=0), np.sum([h for _, h in grams], axis=0)
        theta, status = consistent(problem, recipe.priors, recipe.weights.prior, recipe.least_rotors, G, h)
        fit = with_values(recipe.template, problem.names, problem.M @ theta)
        recipe, simulable = _softened(recipe, fit)
        k += simulable
        mechanism = recipe.mechanism(_loaded(recipe.template, fit))
        tell(0.1 + 0.5 * k / rounds)
    validation = None
    if cross_validate:
        validation = cross_validated(problem, bin_of_row, grams, repeats is not None, lambda f: tell(0.6 + 0.35 * f))
    predicted = problem.predicted(theta)
    used = signals.used
    unexplained = _unexplained(recording.joints, signals.tau[used], predicted, fitted)
    names, covariance = _covariance(problem, theta, G, fitted, signals.rate)
    tell(1.0)
    return Identified(
        recipe=recipe,
        parameters=fit,
        columns=tuple(recording.joints),
        signals=signals,
        predicted=predicted,
        train_relative_error=relative_error(signals.tau[used], predicted),
        cv_relative_error=validation.error if validation else np.full(len(recording.joints), np.nan),
        raw_relative_error=relative_error(signals.raw[used], predicted),
        train_rms=root_mean_square(signals.tau[used], predicted),
        unexplained=unexplained,
        names=names,
        covariance=covariance,
        status=status,
        seconds=time.perf_counter() - start,
        validation=validation,
    )


def _softened(recipe: Recipe, fit: Parameters) -> tuple[Recipe, bool]:
    """The recipe, and whether the robot's 1500 Hz can simulate the fit; if not, its stiffest drive has longer elements.

    The shortest element of that drive is then as long as if all its friction were in it, and shorter ones are left out.
    """
    if not any(drive.hysteresis for drive in fit.drives):
        return recipe, True
    mechanism = recipe.mechanism(fit)
    frequency, element = presliding_frequency(mechanism)
    excess = frequency * PERIOD / RESOLVED
    if excess <= 1.0:
        return recipe, True
    drives = mechanism.drives
    owner = drives.owner[element]
    own = drives.owner == owner
    F, delta = drives.F[own], drives.delta[own]
    shortest = 1.05 * excess**2 * float(F.sum() / (F / delta).sum())
    softer = list(recipe.template.drives)
    drive = softer[owner]
    longer = [dahl for dahl in drive.hysteresis if dahl.delta > shortest]
    softer[owner] = replace(drive, hysteresis=(replace(drive.hysteresis[0], delta=shortest), *longer))
    return replace(recipe, template=replace(recipe.template, drives=tuple(softer))), False


def _unexplained(joints: Sequence[str], tau: Array, predicted: Array, fitted: Array) -> tuple[str, ...]:
    """Columns with a large residual. An error if nearly all columns have one."""
    residual = np.sqrt(((tau - predicted) ** 2).mean(0, where=fitted)) / tau.std(0, where=fitted)
    unexplained = tuple(name for name, share in zip(joints, residual, strict=True) if share > UNEXPLAINED)
    if len(unexplained) > (1.0 - MIN_EXPLAINED) * len(joints):
        raise TrocarError(
            f"the efforts are not those of this motion: no parameters explain {', '.join(unexplained)}. Check that "
            "they belong to this arm, their sign and columns, that they are not single samples of efforts that ripple "
            "with a script's set-points (trocar run --record writes means), and that gravity is that of this arm: a "
            "tilted one needs gravity=, in the axes of its base"
        )
    return unexplained


def prepared(recipe: Recipe, recording: Recording) -> Signals:
    """A recording filtered by the recipe."""
    return prepare(recording, recipe.motion_cutoffs, recipe.effort_cutoff, recipe.trim, delay=recipe.delay)


def checked(recipe: Recipe, recording: Recording) -> tuple[Mechanism, Array, Signals]:
    """The recipe's mechanism, T (n, n) with q = T q_columns, and the filtered signals of a recording that fits them.

    A recording with more than 400 rows per second is averaged first: filters keep no more than 40 Hz of it.
    """
    check_type("recording", recording, Recording, "a Recording (tr.load_recording)")
    mechanism, recording = recipe.mechanism(), averaged(recording, MAX_RATE)
    check(recording, mechanism.arm)
    return mechanism, joint_from_columns(mechanism.arm, tuple(recording.joints)), prepared(recipe, recording)


def problem_of(recipe: Recipe, mechanism: Mechanism, T: Array, signals: Signals) -> Design:
    """The linear problem of a recipe: its regressor along the used rows, and their efforts."""
    Y = regressor(mechanism, T, signals)[signals.used]
    s = (signals.q @ T.T @ mechanism.drives.A.T)[signals.used]
    return design(mechanism, recipe.priors, recipe.weights, Y, signals.tau[signals.used], s)


def _loaded(template: Parameters, known: Parameters) -> Parameters:
    """The template with the potentials of a set, which are the load of its drives."""
    drives = {drive.name: drive for drive in known.drives}
    own = [replace(d, **{x: getattr(drives[d.name], x) for x in ("K0", "K", "K2")}) for d in template.drives]
    return replace(template, inertias=known.inertias, drives=tuple(own), elastics=known.elastics)


def _covariance(problem: Design, theta: Array, G: Array, fitted: Array, rate: float) -> tuple[tuple[str, ...], Array]:
    """Names and covariance of the parameters not at zero; the residual of each column is treated as stationary noise.

    G: X'X over the fitted rows and columns (N, n); rate: of the rows [Hz].
    """
    free = np.flatnonzero(~problem.positive | (theta > 1e-9))
    X, residual = problem.X[..., free], problem.tau - problem.X @ theta
    V = sum(disturbance(X[:, j], residual[:, j], fitted[:, j], rate) for j in range(residual.shape[1]))
    inverse = np.linalg.inv((G + problem.curvature(theta))[np.ix_(free, free)])
    M = problem.M[:, free]
    covariance = M @ (inverse @ V @ inverse) @ M.T
    seen = np.flatnonzero(np.abs(M).any(1))
    return tuple(problem.names[i] for i in seen), covariance[np.ix_(seen, seen)]


# -- recalibration -----------------------------------------------------------------------------------------------------


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
    _, T, signals = checked(recipe, recording)
    first = float(signals.t[0])
    if seconds is not None and seconds < MIN_DURATION:
        raise TrocarError(f"{seconds:g} s are too few to recalibrate from; use {MIN_DURATION:g} s or more")
    early = signals.t - first <= (np.inf if seconds is None else seconds)
    fitted, later = signals.used & early, signals.used & ~early
    mechanism, fitted_signals = recipe.mechanism(_loaded(recipe.template, base)), replace(signals, used=fitted)
    problem = problem_of(recipe, mechanism, T, fitted_signals)
    values = _values(base, recipe, problem.names)
    known = np.linalg.solve(problem.M, values)
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
    theta[free] = expanded(rest, *rest.gram(fitted_signals.faster_than(recipe.slower_than)))
    # What is not refitted keeps its value to the last bit, which M @ solve(M, values) does not on every processor.
    phi = np.where(problem.M[:, free].any(axis=1), problem.M @ theta, values)
    parameters = with_values(recipe.template, problem.names, phi)
    parameters = replace(parameters, name=base.name, inertias=base.inertias)
    rows = later if later.any() else fitted
    predicted = [efforts(recipe.mechanism(p), T, signals)[rows] for p in (base, parameters)]
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
