"""Payloads, tip force and alarms on recordings of Wang et al. 2019, with the model of another recording."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from trocar.control import observers
from trocar.control.observers import ContactDetector, PointMass
from trocar.identification.cross_validation import FOLDS, period
from trocar.identification.pipeline import prepared
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.report import Claim
from trocar.spatial import Array
from trocar_reproductions.experiment import Context, data_file
from trocar_reproductions.wang2019 import recordings
from trocar_reproductions.wang2019.recordings import ARM, RECALIBRATION, TABLE, IdentifiedArm, Measured, listed

# Positions of the weights: the insertion column is part of the end link, 53.5 cm above the remote centre. On the bar of
# the parallelogram only the height over the lower bar matters, because the bar does not turn in pitch.
COLUMN, COLUMN_AT_ZERO = "end", (0.0, 0.0, 0.535)
BAR, BAR_POINT = "bottom", (0.26, -0.058, 0.0)
BANDWIDTH = 18.8  # observer bandwidth [rad/s]
FORCE_BANDWIDTH = 2.0 * np.pi  # bandwidth of the force estimate [rad/s]
DEPTH = 0.1  # smallest depth of the wrist at which forces are evaluated [m]
WITHIN = 0.1  # longest time to detect a step [s]


class Weighed(NamedTuple):
    """A recording with a weight [g] on a body, sampled at a rate [Hz]; named like the recordings."""

    name: str
    path: Path
    rate: float
    body: str
    weight: float


CASES = (
    Weighed("105 g on the insertion column", recordings.INSERTION, 200.0, COLUMN, 105.0),
    Weighed("105 g on the insertion column, half speed", recordings.HALF_SPEED, 100.0, COLUMN, 105.0),
    Weighed("no weight, as on the insertion column", recordings.NO_WEIGHT, 200.0, COLUMN, 0.0),
    Weighed("105 g on the parallelogram bar", recordings.PARALLEL, 200.0, BAR, 105.0),
)


def payload_claims(context: Context, arm: IdentifiedArm | str) -> list[Claim]:
    """Estimate weights on the arm with the model of 'one'; `arm` may be the reason why the model is missing."""
    claims: list[Claim] = []
    for case in CASES:
        context.progress(f"payload: {case.name}")
        file = arm if isinstance(arm, str) else data_file(arm.data, case.path)
        if isinstance(arm, str) or isinstance(file, str):
            claims.append(TABLE.claim(f"payload/{case.name}", str(file)))
        else:
            claims += _case_claims(arm, case)
    return claims


def _case_claims(arm: IdentifiedArm, case: Weighed) -> list[Claim]:
    recording, point = arm.measured(case.path, case.rate), _place(arm.mechanism, case.body)
    fit = arm.payload(recording, point, arm.parameters)
    scatter = 1e3 * float(fit.windows.std(ddof=1))
    off = {"scatter": scatter, "farthest": 1e3 * np.abs(fit.windows - case.weight / 1e3).max()}
    text = TABLE.text("payload", deviation=1e3 * fit.deviation, explained=fit.explained, **off)
    name = f"payload/{case.name}"
    claims = [TABLE.claim(name, _compared(fit.mass, case), fit=text)]
    if case.body == BAR:
        return claims
    adapted = arm.recalibrated_under(point, recording)
    along = arm.payload(recording, point, adapted, RECALIBRATION)
    farthest = 1e3 * float(np.abs(along.windows - case.weight / 1e3).max())
    beyond = int((np.abs(1e3 * along.windows - case.weight) > 5.0).sum())
    off = {"scatter": 1e3 * along.windows.std(ddof=1), "farthest": farthest, "beyond": beyond}
    text = TABLE.text("payload with friction", seconds=RECALIBRATION, count=len(along.windows), **off)
    claims.append(TABLE.claim(f"{name}, friction fitted along", _compared(along.mass, case), along=text))
    if case.path != recordings.INSERTION:
        return claims
    covariance = np.cov(recordings.residuals(arm.mechanism, arm.one.joints, BANDWIDTH)[:, ARM].T)
    before = _online(arm.mechanism, recording, point, covariance, 2.0)
    after = _online(recordings.with_parameters(arm.recipe, adapted), recording, point, covariance, RECALIBRATION)
    worst, of_after = np.abs(after - case.weight).max(), {"mean": after.mean(), "scatter": after.std()}
    again, window = _repeated(arm, recording, along), f"{name}, friction fitted along, farthest window of 1 s"
    return [
        *claims,
        TABLE.claim(f"{name}, windows of 1 s", scatter),
        TABLE.claim(window, farthest, along=text, **again),
        TABLE.claim(f"{name}, online", before.mean(), scatter=before.std()),
        TABLE.claim(f"{name}, online, friction fitted along, farthest", worst, **of_after),
    ]


def _repeated(arm: IdentifiedArm, recording: Measured, estimate: observers.PayloadEstimate) -> dict[str, float]:
    """Windows of 1 s that are two periods [s] apart: RMS difference, and the match of the farthest window [g]."""
    signals = prepared(arm.recipe, recording.columns)
    rows = period(signals)
    assert rows is not None  # the recorded motion repeats
    again = round(2.0 * rows / signals.rate)
    masses = 1e3 * estimate.windows
    farthest = int(np.abs(masses - masses.mean()).argmax())
    like = farthest + again if farthest + again < len(masses) else farthest - again
    return {
        "again": again,
        "repeat": float(np.sqrt(np.mean((masses[again:] - masses[:-again]) ** 2))),
        "scatter": float(masses.std(ddof=1)),
        "first": float(masses[farthest]),
        "second": float(masses[like]),
    }


def _compared(mass: float, case: Weighed) -> float:
    """An estimate [kg] in grams; its absolute value if there is no weight."""
    return 1e3 * mass if case.weight else abs(1e3 * mass)


def _online(mechanism: Mechanism, recording: Measured, point: PointMass, covariance: Array, after: float) -> Array:
    """Masses [g] estimated online, later than `after` [s]; acceleration is the difference over one step.

    covariance: covariance (3, 3) of the observer's residuals without external force [N m, N].
    """
    observer = observers.MomentumObserver(mechanism, BANDWIDTH)
    payload = observers.PayloadObserver(point, covariance, BANDWIDTH)
    joints = recording.joints
    r, dt = observer.along(joints, held=False), float(np.diff(joints.t).mean())
    q, dq = 0.5 * (joints.q[:-1] + joints.q[1:]), 0.5 * (joints.dq[:-1] + joints.dq[1:])
    unit = point.effort(q, dq, np.diff(joints.dq, axis=0) / dt)
    masses = 1e3 * np.array([payload.advance(r[k + 1], unit[k], dt) for k in range(len(unit))])
    return np.asarray(masses[round(after / dt) :])


def _place(mechanism: Mechanism, body: str) -> PointMass:
    return PointMass.at(mechanism, COLUMN, COLUMN_AT_ZERO) if body == COLUMN else PointMass(mechanism, BAR, BAR_POINT)


# -- tip force without contact -----------------------------------------------------------------------------------------
def tip_force_claims(context: Context, arm: IdentifiedArm | str) -> list[Claim]:
    """Estimated wrist force without contact, and false alarms, on a recording that the model was not fitted to.

    arm: the identified arm, or the reason why it is missing.
    """
    context.progress("tip force without contact")
    file = arm if isinstance(arm, str) else data_file(arm.data, recordings.NO_WEIGHT)
    if isinstance(arm, str) or isinstance(file, str):
        alarms = ("collision/false alarms", "contact/false alarms on the real arm")
        forces = TABLE.claims("tip force/no contact, {row}", str(file))
        return [*forces, *(TABLE.claim(name, str(file)) for name in alarms)]
    recording = arm.measured(recordings.NO_WEIGHT)
    new = recordings.with_parameters(arm.recipe, arm.recalibrated(recording))
    sizes, rms, shares = [], [], []
    for mechanism in (arm.mechanism, new):
        F, deep = _force(mechanism, recording.joints, arm.covariance)
        sizes.append(np.percentile(np.linalg.norm(F[deep], axis=1), 95))
        rms.append(listed(np.sqrt(np.mean(F[deep] ** 2, axis=0)), ".2f"))
        shares.append(deep.mean())
    detector = observers.CollisionDetector(observers.ResidualStatistics.of(_sudden(arm.mechanism, arm.one.joints), ARM))
    r = _sudden(new, recording.joints)
    limits = {"limits": listed(detector.threshold, ".2f"), "margin": detector.margin}
    largest = detector.statistics.excess(r).max()
    return [
        *TABLE.claims("tip force/no contact, {row}", sizes, depth=DEPTH, share=shares, rms=rms),
        TABLE.claim("collision/false alarms", detector.alarms(r).sum(), largest=largest, **limits),
        _contact_claim(arm, new, recording.joints),
    ]


def _contact_claim(arm: IdentifiedArm, new: Mechanism, recording: Recording) -> Claim:
    detector, tau = step_detector(arm), _external(new, recording)
    J = new.jacobian(recording.q[-len(tau) :], "tip")[:, :3, :3]
    return TABLE.claim(
        "contact/false alarms on the real arm",
        detector.alarms(tau).sum(),
        limits=listed(detector.smallest, ".2f"),
        crossed=detector.crossed,
        margin=detector.margin,
        largest=(detector.statistics(tau) / detector.threshold).max(),
        shares=", ".join(f"{steps_found(detector, tau, J, F):.0%} of {F:g} N" for F in (1.0, 1.5, 2.0)),
    )


def step_detector(arm: IdentifiedArm) -> ContactDetector:
    """A detector with thresholds from the residual efforts of 'one', cross-validated by the phase of its motion."""
    joints = arm.one.joints
    efforts = _external(arm.mechanism, joints)
    repeats = period(prepared(arm.recipe, arm.one.columns)) or len(efforts)
    folds = np.arange(len(efforts)) % repeats * FOLDS // repeats
    return ContactDetector(efforts, float(np.diff(joints.t).mean()), folds=folds)


def steps_found(detector: ContactDetector, efforts: Array, J: Array, size: float, every: float = 1.0) -> float:
    """Share of steps of `size` [N] along x, y and z that an alarm follows within 0.1 s.

    The steps are added at regular intervals to efforts (N, 3) measured without contact. J (N, 3, 3): tip Jacobian.
    """
    past, watch = round(4.0 / detector.dt), round(WITHIN / detector.dt)
    alarms = []
    for start in range(past, len(efforts) - watch, round(every / detector.dt)):
        for force in (sign * size * axis for axis in np.eye(3) for sign in (-1.0, 1.0)):
            tau = efforts[start - past : start + watch].copy()
            tau[past:] += np.swapaxes(J[start : start + watch], 1, 2) @ force
            alarms.append(detector.alarms(tau)[past:].any())
    return float(np.mean(alarms))


def _external(mechanism: Mechanism, recording: Recording) -> Array:
    """Residuals (N, 3) of the arm, excluding the first second, in which the friction memory is unknown."""
    return observers.external_effort(mechanism, recording, held=False)[recording.t >= recording.t[0] + 1.0][:, ARM]


def _sudden(mechanism: Mechanism, recording: Recording) -> Array:
    return observers.sudden_effort(mechanism, recording, held=False)[recording.t >= recording.t[0] + 1.0]


def _force(mechanism: Mechanism, recording: Recording, covariance: Array) -> tuple[Array, Array]:
    """Forces (N, 3) and a mask of the rows deep enough to evaluate."""
    r = recordings.residuals(mechanism, recording, FORCE_BANDWIDTH)
    q = recording.q[-len(r) :]
    depth = np.linalg.norm(mechanism.pose(q, "wrist_pitch")[:, :3, 3], axis=1)
    return observers.wrist_force(mechanism, q, r, covariance).value, depth > DEPTH
