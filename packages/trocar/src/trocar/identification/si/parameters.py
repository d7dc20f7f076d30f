"""Links of the da Vinci Si arms as published, in our link frames, and parameter sets completed from them.

The data determine only the five gravity coefficients of an arm (see gravity.py). The links are completed to
physical bodies: pseudo-inertias of least divergence from a prior (published masses with CAD tensors) that have
exactly these coefficients.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trocar.arms import Arm, load_arm
from trocar.arms.arm import poses_at_zero, shift
from trocar.arms.loads import endoscope_inertia
from trocar.arms.parameters import DRIVE_TERMS, Drive, Inertia, Parameters, load_parameters
from trocar.arms.tables import read
from trocar.identification.consistency import Prior, box, nearest_to_prior
from trocar.identification.si.gravity import GravityFit, coefficient_rows, static_friction
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import barycentric, from_pseudo_inertia, pseudo_inertia, standard
from trocar.spatial import Array, inverse, mdh, rotation


def completed(arm_name: str, name: str, fit: GravityFit | None) -> Parameters:
    """The set of an arm with the gravity and constant forces of a fit; Default: the gravity of the published masses."""
    arm, published, prior = load_arm(arm_name), *links(arm_name)
    source = read("links_si")[arm_name]["source"] if name == "saw" else read("static_psm_si")["source"]
    bare = Parameters(
        name=name,
        arm=arm_name,
        geometry=arm.geometry,
        source=f"{source}; links completed with CAD tensors as prior",
        inertias=prior,
        drives=drives(arm, None if fit is None else fit.K0),
    )
    K = coefficient_rows(Mechanism(arm, bare))[:, : 10 * len(prior)]
    columns = dict(zip(prior, np.split(K, len(prior), axis=1), strict=True))
    target = fit.coefficients if fit else sum(columns[b] @ barycentric(i) for b, i in published.items())
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


# -- published links: masses of the dVRK, tensors of a CAD export ------------------------------------------------------


def links(arm_name: str) -> tuple[dict[str, Inertia], dict[str, Inertia]]:
    """Published masses (with CAD tensors) in our link frames, and the prior, which adds bars and carriage."""
    arm, table = load_arm(arm_name), read("links_si")
    ours, theirs = poses_at_zero(arm.bodies), saw_frames(arm_name)
    turned, published = _cad_tensors(), {}
    for link, entry in table[arm_name]["saw"].items():
        if "mass" not in entry:
            continue
        body = entry["body"]
        T = inverse(ours[body]) @ theirs[link]
        com = T[:3, :3] @ entry["com"] + T[:3, 3]
        cad = table["cad"].get(body)
        if cad is None:
            size = np.array(table["assumed"][body]["size"])
            I = entry["mass"] / 12.0 * (size @ size * np.eye(3) - np.diag(size**2))
        else:
            R = ours[body][:3, :3].T @ turned[body][0]
            I = entry["mass"] / cad["mass"] * R @ turned[body][1] @ R.T
        published[body] = Inertia(mass=entry["mass"], com=com, I=I)
    prior = dict(published)
    for body, entry in table["assumed"].items():
        if body in published:
            scale = entry["mass"] / published[body].mass
            prior[body] = Inertia(mass=entry["mass"], com=published[body].com, I=scale * published[body].I)
        elif "lower" in entry and body in ours:
            P = box(entry["mass"], np.array(entry["lower"]), np.array(entry["upper"]))
            prior[body] = standard(from_pseudo_inertia(P))
    return published, {body.name: prior[body.name] for body in arm.bodies if body.name in prior}


def saw_frames(arm_name: str) -> dict[str, Array]:
    """Poses (4, 4) of the dVRK's link frames in the RCM frame at q = 0."""
    x, y, z = load_arm(arm_name).bodies[0].placement[:3, 3]
    T, frames = shift(x, y, z), {}
    for link, entry in read("links_si")[arm_name]["saw"].items():
        a, alpha, d, theta = entry["row"]
        T = T @ mdh(a=a, alpha=alpha, d=d, theta=theta)
        frames[link] = T
    return frames


def _cad_tensors() -> dict[str, tuple[Array, Array]]:
    """Orientation in the RCM frame and tensor of every CAD link, at our q = 0."""
    cad, R, tensors = read("links_si")["cad"], np.eye(3), {}
    for body in ("yaw", "back", "middle", "end"):
        x, y, z = cad[body]["rpy"]
        R = R @ rotation("z", z) @ rotation("y", y + cad[body]["turns"] * cad["pitch"]) @ rotation("x", x)
        xx, xy, xz, yy, yz, zz = cad[body]["inertia"]
        tensors[body] = R, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return tensors
