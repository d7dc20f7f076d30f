"""A general recipe for arms without a built-in one: the drives of the arm's parameter set, with Dahl friction.

Coulomb friction becomes a row of Dahl elements. Friction that depends on position or load and quadratic stiffness are
omitted: a recording must show that they reduce the error (`trocar identify --search`). Links are regularised towards
those of the set. A constant effort is a force K0 if the set has one and no bias, otherwise a bias Fo of the measured
effort: a recording cannot distinguish the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.arms import Arm
from trocar.arms.parameters import Drive, Parameters
from trocar.identification.consistency import Prior
from trocar.mechanics.inertia import barycentric, pseudo_inertia

RADIUS = 0.02  # minimum thickness of a link, so that its prior can change in all directions [m]
MIN_ROTOR = 1e-6  # [kg m^2, kg]
DELTAS = {  # deltas of the Dahl elements [rad, m], three per decade
    "rad": [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1],
    "m": [0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002],
}


def general_table(robot: Arm, known: Parameters) -> dict[str, Any]:
    """The general recipe as a table, for any arm with parameters."""
    return {
        "arm": robot.name,
        "geometry": known.geometry,
        "prior": known.name,
        "filters": {"effort": 17.0, "motion": [8.0] * robot.n, "trim": 1.0},
        "weights": {"prior": 4e-4, "friction": 0.03, "other": 2e-4},
        "deltas": DELTAS,
        "drives": _drives(known, robot),
    }


def prior_of_set(known: Parameters) -> dict[str, Prior]:
    """Priors from the links of a parameter set, thickened by RADIUS; masses and centres of mass are not limited."""
    priors = {}
    for name, body in known.inertias.items():
        P = pseudo_inertia(barycentric(body))
        P[:3, :3] += body.mass * RADIUS**2 * np.eye(3)
        priors[name] = Prior(P, np.inf)
    return priors


def _drives(known: Parameters, robot: Arm) -> dict[str, Any]:
    """One entry for each direction of the set's drives, and one for each joint that has none."""
    covered = {name for drive in known.drives for name, weight in drive.joints.items() if weight}
    alone = [Drive(name=name, joints={name: 1.0}) for name in robot.joint_names if name not in covered]
    entries: dict[str, Any] = {}
    directions: dict[str, np.ndarray] = {}
    for drive in (*known.drives, *alone):
        row = drive.row(robot)
        direction = row / np.linalg.norm(row)
        same = [name for name, other in directions.items() if abs(other @ direction) > 1 - 1e-9]
        if same:  # two friction terms along one coordinate cannot be distinguished
            entry = entries[same[0]]
            entry["terms"] += [term for term in ("Im", "K") if term in drive.terms and term not in entry["terms"]]
        else:
            directions[drive.name] = direction
            entry = entries[drive.name] = _entry(drive, robot)
        if "Im" in entry["terms"]:
            entry["least_Im"] = MIN_ROTOR
    return entries


def _entry(drive: Drive, robot: Arm) -> dict[str, Any]:
    space, weights = ("motors", drive.motors) if drive.motors else ("joints", drive.joints)
    rotor_only = set(drive.terms) == {"Im"} and not drive.hysteresis
    if rotor_only:
        return {space: dict(weights), "terms": ["Im"]}
    has_constant = not {"Fo", "K0"}.isdisjoint(drive.terms) or (space == "joints" and len(weights) == 1)
    constant = ["K0" if "K0" in drive.terms and "Fo" not in drive.terms else "Fo"] if has_constant else []
    terms = [*(["Im"] if "Im" in drive.terms else []), "Fv", *constant, *(["K"] if "K" in drive.terms else [])]
    units = {joint.name: joint.unit for joint in robot.joints}
    return {space: dict(weights), "terms": terms, "hysteresis": units.get(next(iter(weights)), "rad")}
