"""Parameter sets of the da Vinci Si arms, completed from published data.

The data determine only the five gravity coefficients of an arm (see gravity.py). The links are completed to
physical bodies: pseudo-inertias of least divergence from a prior (published masses with CAD tensors) that have
exactly these coefficients.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trocar.arms import Arm, load_arm
from trocar.arms.loads import endoscope_inertia
from trocar.arms.parameters import DRIVE_TERMS, Drive, Inertia, Parameters, load_parameters
from trocar.arms.tables import read
from trocar.identification.consistency import Prior, nearest_to_prior
from trocar.identification.si.gravity import GravityFit, coefficient_rows
from trocar.identification.si.links import links
from trocar.identification.si.static_table import static_friction
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import barycentric, pseudo_inertia, standard
from trocar.spatial import Array


def completed(arm_name: str, name: str, fit: GravityFit | None) -> Parameters:
    """The set of an arm with the gravity and constant forces of a fit; Default: the gravity of the published masses."""
    arm, published, prior = load_arm(arm_name), *links(arm_name)
    bare = Parameters(
        name=name,
        arm=arm_name,
        geometry=arm.geometry,
        source=f"{_source(arm_name, name)}; links completed with CAD tensors as prior",
        inertias=prior,
        drives=drives(arm, None if fit is None else fit.K0),
    )
    K = coefficient_rows(Mechanism(arm, bare))[:, : 10 * len(prior)]
    target = fit.coefficients if fit else sum(K[:, _columns(prior, b)] @ barycentric(i) for b, i in published.items())
    priors = {body: Prior(pseudo_inertia(barycentric(inertia)), np.inf) for body, inertia in prior.items()}
    inertias = {
        body: standard(phi) for body, phi in nearest_to_prior(list(prior), K, np.asarray(target), priors).items()
    }
    if arm.carries == "endoscope":
        inertias["roll"] = endoscope_inertia(arm, read("links_si")["assumed_drives"]["endoscope"])
    return replace(bare, inertias={body.name: inertias[body.name] for body in arm.bodies if body.name in inertias})


def drives(arm: Arm, constant: Array | None) -> tuple[Drive, ...]:
    """Friction, rotors and constant forces of an arm."""
    gear, assumed = np.array(arm.motors.gear), read("links_si")["assumed_drives"]
    rotors, viscous, guide = assumed["rotors"][arm.name], assumed["viscous"], assumed["guide"]
    Im = np.array(rotors) * gear[: len(rotors)] ** 2
    F = np.round(static_friction(), 3)
    if arm.carries == "endoscope":
        pitch = round(float(F[1, 0] * gear[1] / load_arm("PSM_Si").motors.gear[1]), 3)
        four_percent = np.round(0.04 * arm.motors.effort[2:], 3)
        return (
            _arm_drive("yaw", Im[0], F[0, 0], viscous[0], mu=F[0, 1]),
            _arm_drive("pitch", Im[1], pitch, viscous[1], mu=F[1, 1]),
            _arm_drive("insertion", Im[2], four_percent[0], viscous[2]),
            _arm_drive("roll", Im[3], four_percent[1], viscous[0]),
        )
    K0 = [{}] * 3 if constant is None else [{"K0": round(float(force), 4)} for force in constant]
    wrist = [d for d in load_parameters("PSM", "wang2019").drives if d.name not in ("yaw", "pitch", "insertion")]
    disc = float(round(assumed["disc_rotor"] * gear[3] ** 2, 6))
    cannula = F[2, 0] - guide
    return (
        _arm_drive("yaw", Im[0], F[0, 0], viscous[0], mu=F[0, 1], **K0[0]),
        _arm_drive("pitch", Im[1], F[1, 0], viscous[1], mu=F[1, 1], **K0[1]),
        _arm_drive("insertion", Im[2], guide, viscous[2], **K0[2]),
        _drive("cannula", {"insertion": 1.0}, Fc=cannula, Fv=round(viscous[2] * cannula, 2), Fx=F[2, 1]),
        *(_wrist_drive(d, disc) for d in wrist),
    )


def _arm_drive(joint: str, Im: float, Fc: float, viscous: float, **others: float) -> Drive:
    return _drive(joint, {joint: 1.0}, Im=round(float(Im), 4), Fc=Fc, Fv=round(viscous * Fc, 2), **others)


def _drive(name: str, joints: dict[str, float], **terms: float) -> Drive:
    values: dict[str, Any] = {term: round(float(terms[term]), 4) for term in DRIVE_TERMS if term in terms}
    return Drive(name=name, joints=joints, terms=tuple(values), **values)


def _wrist_drive(drive: Drive, disc: float) -> Drive:
    """The Classic's drives without bias and constant force, which are specific to one arm."""
    terms: dict[str, Any] = {term: getattr(drive, term) for term in drive.terms if term not in ("Fo", "K0")}
    if "Im" in terms:
        terms["Im"] = disc
    return Drive(name=drive.name, joints=drive.joints, motors=drive.motors, terms=tuple(terms), **terms)


def _source(arm: str, name: str) -> str:
    return str(read("links_si")[arm]["source"] if name == "saw" else read("static_psm_si")["source"])


def _columns(inertias: dict[str, Inertia], body: str) -> slice:
    k = list(inertias).index(body)
    return slice(10 * k, 10 * (k + 1))
