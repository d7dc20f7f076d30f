"""Identification of a dVRK-Si PSM as by Zhou et al. 2025: the columns of their Table I, and their constraints.

Links 1, 2, 2'', 2'''' and 3 have inertia; 4, 5 and the finger motors M6, M7 have rotors; every joint has friction; the
roll has a spring. Rows that turn with the same joint (2, 2'', 2''''; 3, 3') share one friction. The squared effort
error, each joint in units of its scatter, is minimised with

    mass > 0,  centre of mass in a box about the link,  friction, rotors and stiffness >= 0,

and physically consistent pseudo-inertias, which the paper does not require. Combinations that no motion excites follow
the prior. `EXTENDED` lists terms of the arm that Table I lacks: rotors of the first three joints (without them
the insertion would have to be as heavy as it is inert), friction that grows with load (yaw, pitch) or with depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from trocar.arms import load_arm
from trocar.arms.parameters import Drive, Parameters
from trocar.arms.tables import read
from trocar.errors import TrocarError
from trocar.identification.consistency import solve
from trocar.identification.design import with_values
from trocar.identification.si.links import links
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES, barycentric, pseudo_inertia
from trocar.spatial import Array

# Table I: rows with link inertia, motor inertia, friction, stiffness. Our names by their frame.
LINKS = {"yaw": "1", "back": "2", "middle": "2''", "end": "2''''", "insertion": "3"}
DRIVES: dict[str, tuple[str, dict[str, float], dict[str, float], tuple[str, ...]]] = {
    "yaw": ("1", {"yaw": 1.0}, {}, ("Fv", "Fc", "K0")),
    "pitch": ("2, 2'', 2''''", {"pitch": 1.0}, {}, ("Fv", "Fc", "K0")),
    "insertion": ("3, 3'", {"insertion": 1.0}, {}, ("Fv", "Fc", "K0")),
    "roll": ("4", {"roll": 1.0}, {}, ("Im", "Fv", "Fc", "K0", "K")),
    "wrist_pitch": ("5", {"wrist_pitch": 1.0}, {}, ("Im", "Fv", "Fc", "K0")),
    "finger_left": ("6", {"wrist_yaw": 1.0, "jaw": -0.5}, {}, ("Fv", "Fc", "K0")),
    "finger_right": ("7", {"wrist_yaw": 1.0, "jaw": 0.5}, {}, ("Fv", "Fc", "K0")),
    "disc_3": ("M6", {}, {"disc_3": 1.0}, ("Im", "Fv", "Fc", "K0")),
    "disc_4": ("M7", {}, {"disc_4": 1.0}, ("Im", "Fv", "Fc", "K0")),
    "finger_difference": ("F67", {"jaw": 1.0}, {}, ("Fv", "Fc", "K0")),
}
TermsByDrive = Mapping[str, tuple[str, ...]]
EXTENDED: TermsByDrive = {"yaw": ("Im", "mu"), "pitch": ("Im", "mu"), "insertion": ("Im", "Fx")}
SIGNED = ("K0", "Fx")  # all other terms must not be negative
WEIGHT = 1e-6  # of the prior, against a squared error of 1 per sample and joint
SLOWEST = (0.01, 0.01, 0.002, 0.02, 0.02, 0.02, 0.02)  # below this rate the sign of friction is unknown [rad/s, m/s]


@dataclass(frozen=True)
class IdentifiedSi:
    """A parameter set, the relative error of each joint's effort on the fitted data, and the solver status."""

    parameters: Parameters
    relative_error: Array
    status: str


def si_model(added: TermsByDrive | None = None) -> Parameters:
    """The set whose columns are those of Table I: links as in the prior, drives at zero; `added`: more terms."""
    prior = links("PSM_Si")[0]
    drives = []
    for name, (_, joints, motors, terms) in DRIVES.items():
        drives.append(Drive(name=name, joints=joints, motors=motors, terms=(*terms, *(added or {}).get(name, ()))))
    return Parameters(
        name="identified_si",
        arm="PSM_Si",
        geometry="zhou2025",
        source="identified with the columns of Table I of Zhou et al. 2025",
        inertias={body: prior[body] for body in LINKS},
        drives=tuple(drives),
        path="",
    )


def identify_si(
    q: Array, dq: Array, ddq: Array, tau: Array, *, gravity: Array, added: TermsByDrive = EXTENDED, rounds: int = 4
) -> IdentifiedSi:
    """The set that explains efforts tau (N, 7) of a motion, in joint coordinates; gravity (3,) in base axes [m/s^2].

    Friction that grows with load is linear in its parameters for a given load: a few `rounds`, each with the gravity of
    the previous one.

    Args:
        added: terms of the drives beyond those of Table I.
    """
    shapes = {x.shape for x in (q, dq, ddq, tau)}
    if len(shapes) != 1 or q.ndim != 2 or q.shape[1] != 7:
        raise TrocarError(f"q, dq, ddq and tau must all be (N, 7), got {', '.join(map(str, shapes))}")
    if not all(np.isfinite(x).all() for x in (q, dq, ddq, tau)):
        raise TrocarError("the motion and its efforts must be finite")
    arm, parameters = load_arm("PSM_Si"), si_model(added)
    moving = np.abs(dq) >= SLOWEST
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
        kept = np.where(_bounded(mechanism), np.maximum(values, 0.0), values)
        parameters = with_values(parameters, mechanism.parameter_names, kept)
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
    basis = _pseudo_inertia_basis()
    for k, body in enumerate(LINKS):
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
    small = cp.sum_squares(x[10 * len(LINKS) :])
    objective = cp.sum_squares(W @ x - b) + WEIGHT * (sum(departure) + small)
    status = solve(cp.Problem(cp.Minimize(objective), constraints), "identification failed")
    return np.asarray(x.value), status


def _bounded(mechanism: Mechanism) -> Array:
    """(p,) mask of the parameters of drives that must not be negative."""
    terms = [name.split(".")[-1] for name in mechanism.parameter_names]
    return np.array([term not in (*NAMES, *SIGNED) for term in terms])


def _pseudo_inertia_basis() -> Array:
    """(16, 10): entries of the pseudo-inertia from barycentric parameters."""
    return np.array([pseudo_inertia(e).reshape(-1) for e in np.eye(len(NAMES))]).T
