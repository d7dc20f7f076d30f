"""Tip force and alarms on a recording of Wang et al. 2019 without contact, with the model of another recording."""

from __future__ import annotations

import numpy as np

from trocar.control.observers import (
    CollisionDetector,
    ContactDetector,
    ResidualStatistics,
    external_effort,
    sudden_effort,
    wrist_force,
)
from trocar.experiments.experiment import Context, data_file
from trocar.experiments.wang2019.recordings import ARM, NO_WEIGHT, TABLE, IdentifiedArm, residuals, with_parameters
from trocar.identification.cross_validation import FOLDS, period
from trocar.identification.pipeline import prepared
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.report import Claim
from trocar.spatial import Array

BANDWIDTH = 2.0 * np.pi  # bandwidth of the force estimate [rad/s]
DEPTH = 0.1  # smallest depth of the wrist at which forces are evaluated [m]
WITHIN = 0.1  # longest time to detect a step [s]


def tip_force_claims(context: Context, arm: IdentifiedArm | str) -> list[Claim]:
    """Estimated wrist force without contact, and false alarms, on a recording that the model was not fitted to.

    arm: the identified arm, or the reason why it is missing.
    """
    context.progress("tip force without contact")
    file = arm if isinstance(arm, str) else data_file(arm.data, NO_WEIGHT)
    if isinstance(arm, str) or isinstance(file, str):
        alarms = ("collision/false alarms", "contact/false alarms on the real arm")
        forces = TABLE.claims("tip force/no contact, {row}", str(file))
        return [*forces, *(TABLE.claim(name, str(file)) for name in alarms)]
    recording = arm.measured(NO_WEIGHT)
    new = with_parameters(arm.recipe, arm.recalibrated(recording))
    sizes, rms, shares = [], [], []
    for mechanism in (arm.mechanism, new):
        F, deep = _force(mechanism, recording.joints, arm.covariance)
        sizes.append(np.percentile(np.linalg.norm(F[deep], axis=1), 95))
        rms.append(_listed(np.sqrt(np.mean(F[deep] ** 2, axis=0))))
        shares.append(deep.mean())
    return [
        *TABLE.claims("tip force/no contact, {row}", sizes, depth=DEPTH, share=shares, rms=rms),
        _collision_claim(arm, new, recording.joints),
        _contact_claim(arm, new, recording.joints),
    ]


def _collision_claim(arm: IdentifiedArm, new: Mechanism, recording: Recording) -> Claim:
    detector = CollisionDetector(ResidualStatistics.of(_sudden(arm.mechanism, arm.one.joints), ARM))
    r = _sudden(new, recording)
    fields = {"limits": _listed(detector.threshold), "margin": detector.margin}
    largest = detector.statistics.excess(r).max()
    return TABLE.claim("collision/false alarms", detector.alarms(r).sum(), largest=largest, **fields)


def _contact_claim(arm: IdentifiedArm, new: Mechanism, recording: Recording) -> Claim:
    detector, tau = step_detector(arm), _external(new, recording)
    J = new.jacobian(recording.q[-len(tau) :], "tip")[:, :3, :3]
    return TABLE.claim(
        "contact/false alarms on the real arm",
        detector.alarms(tau).sum(),
        limits=_listed(detector.smallest),
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
    return external_effort(mechanism, recording, held=False)[recording.t >= recording.t[0] + 1.0][:, ARM]


def _sudden(mechanism: Mechanism, recording: Recording) -> Array:
    return sudden_effort(mechanism, recording, held=False)[recording.t >= recording.t[0] + 1.0]


def _force(mechanism: Mechanism, recording: Recording, covariance: Array) -> tuple[Array, Array]:
    """Forces (N, 3) and a mask of the rows deep enough to evaluate."""
    r = residuals(mechanism, recording, BANDWIDTH)
    q = recording.q[-len(r) :]
    depth = np.linalg.norm(mechanism.pose(q, "wrist_pitch")[:, :3, 3], axis=1)
    return wrist_force(mechanism, q, r, covariance).value, depth > DEPTH


def _listed(values: Array) -> str:
    return " ".join(f"{v:.2f}" for v in values)
