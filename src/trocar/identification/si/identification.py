"""Identification of a dVRK-Si PSM as by Zhou et al. 2025: the columns of their Table I, and their constraints.

Links 1, 2, 2'', 2'''' and 3 have inertia; 4, 5 and the finger motors M6, M7 have rotors; every joint has friction; the
roll has a spring. Rows that turn with the same joint (2, 2'', 2''''; 3, 3') share one friction. The squared effort
error, each joint in units of its scatter, is minimised with

    mass > 0,  centre of mass in a box about the link,  friction, rotors and stiffness >= 0,

and physically consistent pseudo-inertias, which the paper does not require. Combinations that no motion excites follow
the prior. `extended_terms` lists terms of the arm that Table I lacks: rotors of the first three joints (without them
the insertion would have to be as heavy as it is inert), friction that grows with load (yaw, pitch) or with depth.

The dVRK compensates gravity with a kinematic file whose links carry `mass`, `cx`, `cy`, `cz` (`to_json`). Its masses
are kept, except that of the insertion, which is m3; its centres of mass are moved by the least first moment that gives
the fitted coefficients. That file cannot express constant forces; they are listed separately.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from trocar.arms import load_arm
from trocar.arms.arm import poses_at_zero
from trocar.arms.parameters import Drive, Parameters
from trocar.arms.tables import read
from trocar.errors import TrocarError
from trocar.identification.consistency import solve
from trocar.identification.design import with_values
from trocar.identification.si.gravity import COEFFICIENTS, GravityFit, coefficient_rows
from trocar.identification.si.parameters import links, saw_frames
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES, barycentric, pseudo_inertia
from trocar.spatial import Array, inverse

ARM = "PSM_Si"
TermsByDrive = Mapping[str, Sequence[str]]
SIGNED = ("K0", "Fx")  # all other terms must not be negative
WEIGHT = 1e-6  # of the prior, against a squared error of 1 per sample and joint


@dataclass(frozen=True)
class IdentifiedSi:
    """A parameter set, the relative error of each joint's effort on the fitted data, and the solver status."""

    parameters: Parameters
    relative_error: Array
    status: str


def table_one_columns() -> dict[str, Any]:
    """Table I of Zhou et al. 2025: links and drives with the columns of their rows."""
    return read("identification_zhou2025")


def extended_terms() -> TermsByDrive:
    """Terms of the arm that Table I lacks, by drive."""
    return {name: entry.get("extended", ()) for name, entry in table_one_columns()["drives"].items()}


def si_model(added: TermsByDrive | None = None) -> Parameters:
    """The set whose columns are those of Table I: links as in the prior, drives at zero; `added`: more terms."""
    table, prior = table_one_columns(), links("PSM_Si")[0]
    drives = [
        Drive(
            name=name,
            joints=entry.get("joints", {}),
            motors=entry.get("motors", {}),
            terms=(*entry["terms"], *(added or {}).get(name, ())),
        )
        for name, entry in table["drives"].items()
    ]
    return Parameters(
        name="identified_si",
        arm="PSM_Si",
        geometry="zhou2025",
        source="identified with the columns of Table I of Zhou et al. 2025",
        inertias={body: prior[body] for body in table["links"]},
        drives=tuple(drives),
    )


def identify_si(
    q: Array, dq: Array, ddq: Array, tau: Array, *, gravity: Array, added: TermsByDrive | None = None, rounds: int = 4
) -> IdentifiedSi:
    """The set that explains efforts tau (N, 7) of a motion, in joint coordinates; gravity (3,) in base axes [m/s^2].

    Friction that grows with load is linear in its parameters for a given load: a few `rounds`, each with the gravity of
    the previous one.

    Args:
        added: terms of the drives beyond those of Table I. Default: `extended_terms`.
    """
    added = extended_terms() if added is None else added
    shapes = {x.shape for x in (q, dq, ddq, tau)}
    if len(shapes) != 1 or q.ndim != 2 or q.shape[1] != 7:
        raise TrocarError(f"q, dq, ddq and tau must all be (N, 7), got {', '.join(map(str, shapes))}")
    if not all(np.isfinite(x).all() for x in (q, dq, ddq, tau)):
        raise TrocarError("the motion and its efforts must be finite")
    arm, parameters = load_arm("PSM_Si"), si_model(added)
    moving = np.abs(dq) >= table_one_columns()["slowest"]
    if (moving.sum(0) < 100).any():
        still = arm.joint_names[int(moving.sum(0).argmin())]
        raise TrocarError(f"joint '{still}' moves in fewer than 100 samples: excite every joint")
    scatter = np.maximum(tau.std(0), 1e-9)
    loaded = any("mu" in terms for terms in added.values())
    for _ in range(rounds if loaded else 1):
        mechanism = Mechanism(arm, parameters, gravity=gravity)
        Y = mechanism.regressor(q, dq, ddq)
        rows = (Y / scatter[:, None])[moving]
        R: Array = np.linalg.qr(np.c_[rows, (tau / scatter)[moving]] / np.sqrt(len(q)), mode="r")  # type: ignore[assignment]
        values, status = _solve(mechanism, R)
        # the solver satisfies bounds to 1e-9
        valid = np.where(_bounded(mechanism), np.maximum(values, 0.0), values)
        parameters = with_values(parameters, mechanism.parameter_names, valid)
    error = np.where(moving, tau - Y @ values, 0.0)
    relative = np.linalg.norm(error, axis=0) / np.linalg.norm(np.where(moving, tau, 0.0), axis=0)
    return IdentifiedSi(parameters, relative, status)


def _solve(mechanism: Mechanism, R: Array) -> tuple[Array, str]:
    """Least squares of the condensed rows R = [W | b] under the constraints."""
    count = len(mechanism.parameter_names)
    prior = si_model().inertias
    x = cp.Variable(count)
    W, b = R[:count, :count], R[:count, count]
    constraints, departure = [], []
    basis = np.array([pseudo_inertia(e).reshape(-1) for e in np.eye(len(NAMES))]).T  # (16, 10): P from phi
    for k, body in enumerate(prior):
        phi = x[10 * k : 10 * (k + 1)]
        hull = read("links_si")["hull"][body]
        constraints += [phi[0] >= 1e-3]
        constraints += [phi[1:4] >= np.array(hull["lower"]) * phi[0], phi[1:4] <= np.array(hull["upper"]) * phi[0]]
        P = cp.reshape(basis @ phi, (4, 4), order="C")
        P0 = pseudo_inertia(barycentric(prior[body]))
        root = np.linalg.inv(np.linalg.cholesky(P0))
        constraints += [root @ P @ root.T >> 1e-4 * np.eye(4)]
        departure.append(cp.sum_squares(root @ P @ root.T - np.eye(4)))
    constraints += [x[i] >= 0.0 for i in np.flatnonzero(_bounded(mechanism))]
    small = cp.sum_squares(x[10 * len(prior) :])
    objective = cp.sum_squares(W @ x - b) + WEIGHT * (sum(departure) + small)
    status = solve(cp.Problem(cp.Minimize(objective), constraints), "identification failed")
    return np.asarray(x.value), status


def _bounded(mechanism: Mechanism) -> Array:
    """(p,) mask of the parameters of drives that must not be negative."""
    terms = [name.split(".")[-1] for name in mechanism.parameter_names]
    return np.array([term not in (*NAMES, *SIGNED) for term in terms])


# -- gravity as a file for the robot -----------------------------------------------------------------------------------


def fitted_links(coefficients: Array) -> dict[str, tuple[float, Array]]:
    """Mass [kg] and centre of mass (3,) [m] of every link of the dVRK's table, in its frames; coefficients (5,)."""
    m3 = float(coefficients[4])
    if not (np.isfinite(coefficients).all() and m3 > 0):
        raise TrocarError(f"the mass that moves with the insertion must be positive [kg], got m3 = {m3!r}")
    published = links(ARM)[0]
    K = coefficient_rows(Mechanism(load_arm(ARM), si_model()))
    scale = {body: m3 / inertia.mass if body == "insertion" else 1.0 for body, inertia in published.items()}
    phi = np.concatenate([scale[body] * barycentric(inertia) for body, inertia in published.items()])
    moments = np.concatenate([10 * k + np.arange(1, 4) for k in range(len(published))])
    step = np.linalg.pinv(K[:4, moments], rcond=1e-9) @ (coefficients - K[:, : len(phi)] @ phi)[:4]
    phi[moments] += step
    ours, theirs = poses_at_zero(load_arm(ARM).bodies), saw_frames(ARM)
    fitted = {}
    for link, entry in read("links_si")[ARM]["saw"].items():
        if "mass" not in entry:
            continue
        k = list(published).index(entry["body"])
        mass, com = phi[10 * k], phi[10 * k + 1 : 10 * k + 4] / phi[10 * k]
        T = inverse(theirs[link]) @ ours[entry["body"]]
        fitted[link] = float(mass), T[:3, :3] @ com + T[:3, 3]
    return fitted


def to_json(fit: GravityFit) -> str:
    """The file: DH rows of the dVRK's closed chain with masses and centres of mass (SI units, radians)."""
    fitted, joints = fitted_links(fit.coefficients), []
    for link, entry in read("links_si")[ARM]["saw"].items():
        a, alpha, d, theta = entry["row"]
        joint: dict[str, Any] = {
            "name": link,
            "type": "prismatic" if link.startswith("insertion") else "revolute",
            "mode": "passive" if link == "intermediate" else "active",
            "alpha": alpha,
            "A": a,
            "theta": theta,
            "D": d,
        }
        if link in fitted:
            mass, (x, y, z) = fitted[link]
            joint |= {"mass": round(mass, 6), "cx": round(x, 6), "cy": round(y, 6), "cz": round(z, 6)}
        elif link == "insertion1":
            joint["mass"] = 0.0
        joints.append(joint)
    about = {
        "made_by": "trocar gravity",
        "coefficients": {name: round(float(v), 6) for name, v in zip(COEFFICIENTS, fit.coefficients, strict=True)},
        "K0": [round(float(v), 6) for v in fit.K0],
        "rms": [round(float(v), 6) for v in fit.rms],
        "poses": len(fit.q),
    }
    return json.dumps({"DH": {"convention": "modified", "joints": joints}, "fit": about}, indent=4) + "\n"
