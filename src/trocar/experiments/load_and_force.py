"""Payload, tip force and collisions on the recordings of Wang et al. 2019, with the model of another recording."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.optimize import root_scalar

from trocar.arms.parameters import Parameters
from trocar.control.observers import (
    CollisionDetector,
    ContactDetector,
    MomentumObserver,
    PayloadEstimate,
    PayloadObserver,
    PointMass,
    ResidualStatistics,
    estimate_payload,
    external_effort,
    sudden_effort,
    wrist_force,
)
from trocar.errors import TrocarError
from trocar.experiments.experiment import Context
from trocar.experiments.load_and_force_contact import steps_found
from trocar.identification.cross_validation import FOLDS, period
from trocar.identification.identify import identify, prepared
from trocar.identification.prediction import efforts
from trocar.identification.recalibration import recalibrate
from trocar.identification.recipe import Recipe, load_recipe
from trocar.mechanics import Mechanism
from trocar.recording import Recording, load_recording
from trocar.recording.motor_columns import joint_from_columns
from trocar.report import Claim, Relation
from trocar.spatial import Array

DATA = Path("dvrk_dynamics_identification")
ONE = DATA / "psm" / "measured_trajectory" / "one_results.csv"
NO_WEIGHT = DATA / "psm" / "measured_trajectory" / "one_no_weight_results.csv"
INSERTION = DATA / "psm_simplified" / "measured_trajectory" / "one_results_1.0_scale_105_grams_insertion.csv"
HALF_SPEED = DATA / "psm_simplified" / "measured_trajectory" / "one_results_0.5_scale_105_grams_insertion.csv"
PARALLEL = DATA / "psm" / "measured_trajectory" / "one_105_grams_parallel_results.csv"

WEIGHT = 105.0  # [g], as the recordings are named
ARM = [0, 1, 2]  # joints that feel a load
# Where the weights are: the insertion column is part of the end link, 53.5 cm above the remote centre; on the bar of
# the parallelogram only its height over the lower bar matters, for the bar does not turn in pitch.
COLUMN, COLUMN_AT_ZERO = "end", (0.0, 0.0, 0.535)
BAR, BAR_POINT = "bottom", (0.26, -0.058, 0.0)
FORCE_BANDWIDTH, PAYLOAD_BANDWIDTH = 2.0 * np.pi, 18.8  # [rad/s]
DEPTH = 0.1  # [m] of the wrist from which on forces are judged
RECALIBRATION = 10.0  # [s]


@dataclass(frozen=True)
class Measured:
    """A recording in the columns of its file, and in joints with its efforts unfiltered."""

    columns: Recording
    joints: Recording


def measured(path: Path, recipe: Recipe, rate: float = 200.0) -> Measured:
    """A recording of Wang et al.: a table in joints and, at the wrist, motors."""
    arm = recipe.mechanism().arm
    columns = load_recording(path, arm.name, as_recorded=True, rate=rate)
    return Measured(columns, columns.in_joints(arm))


def unexplained(recipe: Recipe, parameters: Parameters, recording: Measured) -> tuple[Array, Array, Array, Array]:
    """q, dq, ddq (N, n) of the joints and measured less modelled effort (N, 3) of the arm, all filtered, ends cut."""
    mechanism = _mechanism(recipe, parameters)
    T = joint_from_columns(mechanism.arm, tuple(recording.columns.joints))
    signals = prepared(recipe, recording.columns)
    residual = (signals.tau - efforts(mechanism, T, signals)) @ np.linalg.inv(T)
    q, dq, ddq = (x @ T.T for x in (signals.q, signals.dq, signals.ddq))
    used = signals.used
    return q[used], dq[used], ddq[used], residual[used][:, ARM]


class Twin:
    """The model of the recording 'one', and its residuals on it."""

    def __init__(self, data: Path, parameters: Parameters | None = None) -> None:
        self.data, self.recipe = data, load_recipe("PSM")
        one = self.measured(ONE)
        self.parameters = parameters or identify(one.columns, "PSM", cross_validate=False).parameters
        self.mechanism = _mechanism(self.recipe, self.parameters)
        *_, residual = unexplained(self.recipe, self.parameters, one)
        self.covariance = np.cov(residual.T)
        self.one = one

    def measured(self, name: Path, rate: float = 200.0) -> Measured:
        return measured(self.data / name, self.recipe, rate)

    def recalibrated(self, recording: Measured) -> Parameters:
        return recalibrate(self.parameters, recording.columns, RECALIBRATION).parameters

    def recalibrated_under(self, point: PointMass, recording: Measured) -> Parameters:
        """Friction and offsets of the first 10 s of a recording with a mass at a point, fitted together with the mass.

        The mass is the one that is found again with the friction that was fitted with it taken off.
        """
        start = float(recording.columns.t[0])
        early = Measured(*(x.between(start, start + RECALIBRATION) for x in (recording.columns, recording.joints)))
        T = joint_from_columns(self.mechanism.arm, tuple(early.columns.joints))
        signals = prepared(self.recipe, early.columns)
        unit = point.effort(*(x @ T.T for x in (signals.q, signals.dq, signals.ddq))) @ T
        assert early.columns.tau is not None
        tau = early.columns.tau

        def fitted(mass: float) -> Parameters:
            return recalibrate(self.parameters, replace(early.columns, tau=tau - mass * unit)).parameters

        def gap(mass: float) -> float:
            return self.payload(early, point, fitted(mass)).mass - mass

        first_guess = self.payload(early, point, self.parameters).mass
        found = root_scalar(gap, x0=first_guess, x1=first_guess + 0.01, xtol=1e-4, maxiter=12)
        if not found.converged:
            raise TrocarError(f"mass and friction do not settle together: {found.flag}")
        return fitted(found.root)

    def payload(
        self, recording: Measured, point: PointMass, parameters: Parameters, after: float = 0.0
    ) -> PayloadEstimate:
        """The mass at a point, of the rows later than `after` [s] from the first; windows of 1 s."""
        q, dq, ddq, residual = unexplained(self.recipe, parameters, recording)
        rate = 1.0 / float(np.diff(recording.columns.t).mean())
        late = slice(max(0, round((after - self.recipe.trim) * rate)), None)  # the first rows are cut
        unit = point.effort(q, dq, ddq)[:, ARM]
        return estimate_payload(residual[late], unit[late], self.covariance, window=round(rate))


def payload_claims(context: Context, parameters: Parameters | None = None) -> list[Claim]:
    """Weights on the arm, estimated with the model of 'one' (or with `parameters`)."""
    twin = _twin(context, parameters)
    cases = (
        ("105 g on the insertion column", INSERTION, 200.0, COLUMN, WEIGHT),
        ("105 g on the insertion column, half speed", HALF_SPEED, 100.0, COLUMN, WEIGHT),
        ("no weight, as on the insertion column", NO_WEIGHT, 200.0, COLUMN, 0.0),
        ("105 g on the parallelogram bar", PARALLEL, 200.0, BAR, WEIGHT),
    )
    found: list[Claim] = []
    for name, path, rate, body, weight in cases:
        context.progress(f"payload: {name}")
        missing = _missing(twin, path)
        if isinstance(twin, str) or missing:
            found.append(_claim(f"payload/{name}", weight, None, "g", "equal", 5.0, missing))
            continue
        recording = twin.measured(path, rate)
        point = _place(twin.mechanism, body)
        fit = twin.payload(recording, point, twin.parameters)
        scatter = 1e3 * float(fit.windows.std(ddof=1))
        note = (
            f"± {1e3 * fit.deviation:.1f} g; R2 {fit.explained:.2f}; windows of 1 s scatter by {scatter:.1f} g, "
            f"farthest {1e3 * np.abs(fit.windows - weight / 1e3).max():.1f} g off"
        )
        if body == BAR:
            note = f"consistency check, for the height on the bar was chosen after the fact; {note}"
            found.append(_claim(f"payload/{name}", weight, 1e3 * fit.mass, "g", "equal", 15.0, note))
            continue
        adapted = twin.recalibrated_under(point, recording)
        along = twin.payload(recording, point, adapted, RECALIBRATION)
        farthest = 1e3 * float(np.abs(along.windows - weight / 1e3).max())
        beyond = int((np.abs(1e3 * along.windows - weight) > 5.0).sum())
        later = (
            f"friction and mass fitted together to the first {RECALIBRATION:g} s, judged on the rest: windows of 1 s "
            f"scatter by {1e3 * along.windows.std(ddof=1):.1f} g, farthest {farthest:.1f} g off, {beyond} of "
            f"{len(along.windows)} more than 5 g off"
        )
        what = f"payload/{name}, friction fitted along"
        if weight == 0.0:
            found.append(_claim(f"payload/{name}", 0.0, abs(1e3 * fit.mass), "g", "at_most", 8.0, note))
            found.append(_claim(what, 0.0, abs(1e3 * along.mass), "g", "at_most", 8.0, later))
            continue
        slow = rate < 200.0
        found.append(_claim(f"payload/{name}", weight, 1e3 * fit.mass, "g", "equal", 10.0 if slow else 5.0, note))
        found.append(_claim(what, weight, 1e3 * along.mass, "g", "equal", 10.0 if slow else 5.0, later))
        if not slow:
            what = "standard deviation of windows of 1 s about their mean"
            found.append(_claim(f"payload/{name}, windows of 1 s", 0.0, scatter, "g", "at_most", 5.0, what))
            worst = f"payload/{name}, friction fitted along, farthest window of 1 s"
            found.append(_claim(worst, 0.0, farthest, "g", "at_most", 5.0, later))
            masses = _online(twin, twin.mechanism, recording, point, 2.0)
            note = f"momentum observer at 3 Hz on unfiltered signals, forgetting in 1 s: scatter {masses.std():.1f} g"
            found.append(_claim(f"payload/{name}, online", weight, masses.mean(), "g", "equal", 5.0, note))
            masses = _online(twin, _mechanism(twin.recipe, adapted), recording, point, RECALIBRATION)
            note = (
                f"the same with friction fitted along: {masses.mean():.1f} g, scatter {masses.std():.1f} g; forgetting "
                "in 1 s, it remembers more than a window of 1 s does"
            )
            worst, off = f"payload/{name}, online, friction fitted along, farthest", np.abs(masses - weight).max()
            found.append(_claim(worst, 0.0, off, "g", "at_most", 5.0, note))
    return found


def tip_force_claims(context: Context, parameters: Parameters | None = None) -> list[Claim]:
    """Force seen at the wrist where there is none, and false alarms, on another recording than the model's."""
    context.progress("tip force without contact")
    twin = _twin(context, parameters)
    missing = _missing(twin, NO_WEIGHT)
    names = (
        "tip force/no contact, model of one",
        "tip force/no contact, recalibrated",
        "collision/false alarms",
        "contact/false alarms on the real arm",
    )
    if isinstance(twin, str) or missing:
        return [_claim(name, 0.0, None, "", "at_most", 0.0, missing) for name in names]
    recording = twin.measured(NO_WEIGHT)
    new = _mechanism(twin.recipe, twin.recalibrated(recording))
    found = []
    for name, mechanism, bound in ((names[0], twin.mechanism, 1.4), (names[1], new, 0.7)):
        F, deep = _force(mechanism, recording.joints, twin.covariance)
        note = (
            f"95 % of |F| lie below, 1 Hz, wrist deeper than {DEPTH:g} m ({deep.mean():.0%} of the rows); "
            f"rms x y z {' '.join(f'{v:.2f}' for v in np.sqrt(np.mean(F[deep] ** 2, axis=0)))} N"
        )
        size = float(np.percentile(np.linalg.norm(F[deep], axis=1), 95))
        found.append(_claim(name, 0.0, size, "N", "at_most", bound, note))
    detector = contact_detector(twin)
    r = _sudden(new, recording.joints)
    largest, limits = detector.statistics.excess(r).max(), " ".join(f"{v:.2f}" for v in detector.threshold)
    note = (
        f"thresholds {limits} N m, N m, N from 'one', {detector.margin:g} times its largest residuals; recalibrated "
        f"here they reach {largest:.2f} times"
    )
    found.append(_claim(names[2], 0.0, float(detector.alarms(r).sum()), "rows", "at_most", 0.0, note))
    watch = step_detector(twin)
    tau = _external(new, recording.joints)
    J, dt = new.jacobian(recording.joints.q[-len(tau) :], "tip")[:, :3, :3], watch.dt
    shares = [f"{steps_found(watch, lambda x: x, tau, J, F, dt):.0%} of {F:g} N" for F in (1.0, 1.5, 2.0)]
    note = (
        f"thresholds {' '.join(f'{v:.2f}' for v in watch.smallest)} N m, N m, N from 'one': cross-validation asks for "
        f"{watch.crossed:.2f} times its largest, {watch.margin:.2f} is taken; recalibrated here they reach "
        f"{(watch.statistics(tau) / watch.threshold).max():.2f} of them; steps added to what was measured and found "
        f"within 0.1 s: {', '.join(shares)}"
    )
    found.append(_claim(names[3], 0.0, float(watch.alarms(tau).sum()), "rows", "at_most", 0.0, note))
    return found


def contact_detector(twin: Twin) -> CollisionDetector:
    """Thresholds from the residuals of 'one'."""
    return CollisionDetector(ResidualStatistics.of(_sudden(twin.mechanism, twin.one.joints), ARM))


def step_detector(twin: Twin) -> ContactDetector:
    """From the efforts that the model of 'one' leaves unexplained there, cross-validated by the phase of its motion."""
    joints = twin.one.joints
    efforts = _external(twin.mechanism, joints)
    repeats = period(prepared(twin.recipe, twin.one.columns)) or len(efforts)
    folds = np.arange(len(efforts)) % repeats * FOLDS // repeats
    return ContactDetector(efforts, float(np.diff(joints.t).mean()), folds=folds)


def _external(mechanism: Mechanism, recording: Recording) -> Array:
    """(N, 3) of the arm, without the first second: what friction remembers from before is not known."""
    return external_effort(mechanism, recording, held=False)[recording.t >= recording.t[0] + 1.0][:, ARM]


def _sudden(mechanism: Mechanism, recording: Recording) -> Array:
    return sudden_effort(mechanism, recording, held=False)[recording.t >= recording.t[0] + 1.0]


def _residuals(mechanism: Mechanism, recording: Recording, bandwidth: float) -> Array:
    """Of the momentum observer on unfiltered signals, without its first second."""
    r = MomentumObserver(mechanism, bandwidth).along(recording, held=False)
    return r[recording.t >= recording.t[0] + 1.0]


def _force(mechanism: Mechanism, recording: Recording, covariance: Array) -> tuple[Array, Array]:
    """Forces (N, 3) and which of them are deep enough to judge."""
    r = _residuals(mechanism, recording, FORCE_BANDWIDTH)
    q = recording.q[-len(r) :]
    depth = np.linalg.norm(mechanism.pose(q, "wrist_pitch")[:, :3, 3], axis=1)
    return wrist_force(mechanism, q, r, covariance).value, depth > DEPTH


def _online(twin: Twin, mechanism: Mechanism, recording: Measured, point: PointMass, after: float) -> Array:
    """Masses [g] online, later than `after` [s]; acceleration by the difference of one step."""
    observer = MomentumObserver(mechanism, PAYLOAD_BANDWIDTH)
    one = _residuals(twin.mechanism, twin.one.joints, PAYLOAD_BANDWIDTH)[:, ARM]
    payload = PayloadObserver(point, np.cov(one.T), PAYLOAD_BANDWIDTH)
    joints = recording.joints
    r, dt = observer.along(joints, held=False), float(np.diff(joints.t).mean())
    q, dq = 0.5 * (joints.q[:-1] + joints.q[1:]), 0.5 * (joints.dq[:-1] + joints.dq[1:])
    unit = point.effort(q, dq, np.diff(joints.dq, axis=0) / dt)
    masses = 1e3 * np.array([payload.advance(r[k + 1], unit[k], dt) for k in range(len(unit))])
    return np.asarray(masses[round(after / dt) :])


def _place(mechanism: Mechanism, body: str) -> PointMass:
    return PointMass.at(mechanism, COLUMN, COLUMN_AT_ZERO) if body == COLUMN else PointMass(mechanism, BAR, BAR_POINT)


def _mechanism(recipe: Recipe, parameters: Parameters) -> Mechanism:
    return replace(recipe, template=parameters).mechanism()


def _twin(context: Context, parameters: Parameters | None) -> Twin | str:
    """The model of 'one', or why there is none."""
    if context.data is None:
        return "not run: no data folder (trocar fetch, --data or TROCAR_DATA)"
    if not (context.data / ONE).is_file():
        return f"not run: {ONE} is not in the data"
    return Twin(context.data, parameters)


def _missing(twin: Twin | str, path: Path) -> str:
    """Why a claim cannot be made, empty if it can."""
    if isinstance(twin, str):
        return twin
    return "" if (twin.data / path).is_file() else f"not run: {path} is not in the data"


def _claim(
    name: str, published: float, ours: float | None, unit: str, relation: Relation, tolerance: float, note: str
) -> Claim:
    """A known weight, or nothing where nothing is: how near it must be is ours."""
    return Claim(
        id=f"wang2019/{name}",
        published=published,
        ours=None if ours is None else float(ours),
        unit=unit,
        relation=relation,
        tolerance=tolerance,
        source="Wang et al. 2019, recordings with and without weights",
        note=note if ours is None else f"{note}; the tolerance is ours",
    )
