"""Physically consistent link inertias: of all realisable bodies, those nearest to a prior.

The effort depends on few combinations of the link parameters (base parameters). If these are known, the rest follows
from minimising over the 4 x 4 pseudo-inertias P_k of the links

    sum_k  tr(P0_k^-1 P_k) - log det P_k        (divergence from the prior P0_k, such as a box of uniform density)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from trocar.arms.mirroring import reflections
from trocar.arms.tables import read, stem
from trocar.errors import TrocarError
from trocar.mechanics.inertia import from_pseudo_inertia
from trocar.spatial import Array

TOLERANCE, USUAL_TOLERANCE = 1e-12, 1e-8  # of the solver, in all its criteria
CRITERIA = ("gap_abs", "gap_rel", "feas")


def box(mass: float, lower: Array, upper: Array) -> Array:
    """Pseudo-inertia (4, 4) of a box of uniform density between two corners [m]."""
    centre, size = 0.5 * (lower + upper), upper - lower
    P = np.zeros((4, 4))
    P[:3, :3] = mass * (np.diag(size**2) / 12.0 + np.outer(centre, centre))
    P[:3, 3] = P[3, :3] = mass * centre
    P[3, 3] = mass
    return P


@dataclass(frozen=True)
class Prior:
    """Prior knowledge of a link.

    Attributes:
        P: pseudo-inertia (4, 4). largest_mass: upper bound of its mass [kg].
        lower, upper: corners of the box that holds its centre of mass [m]; None for no limit.
    """

    P: Array
    largest_mass: float
    lower: Array | None = None
    upper: Array | None = None


def prior(arm: str) -> dict[str, Prior]:
    """Priors of the links of an arm, from its file; links of the MTML that are mirrored have mirrored boxes."""
    mirrored, priors = reflections(arm, read(stem(arm)).get("mirror", {}).get("original", arm)), {}
    for name, entry in read(f"prior_{stem(arm)}").items():
        corners = np.array([entry["lower"], entry["upper"]]) @ mirrored.get(name, np.eye(3))
        lower, upper = corners.min(axis=0), corners.max(axis=0)
        priors[name] = Prior(box(entry["mass"], lower, upper), entry.get("largest_mass", np.inf), lower, upper)
    return priors


def programme(
    names: list[str], priors: Mapping[str, Prior]
) -> tuple[list[Array], list[cp.Variable], list[cp.Constraint]]:
    """Variables Q in units of the prior (P = r Q r', P0 = r r'): well scaled, every Q is near 1. Mass limits."""
    basis = [in_units_of(priors[name].P) for name in names]
    Q = [cp.Variable((4, 4), symmetric=True) for _ in names]
    limits = [
        basis[k][0] @ cp.vec(Q[k], order="C") <= priors[name].largest_mass
        for k, name in enumerate(names)
        if np.isfinite(priors[name].largest_mass)
    ]
    return basis, Q, limits


def nearest_to_prior(names: list[str], B: Array, target: Array, priors: Mapping[str, Prior]) -> dict[str, Array]:
    """Barycentric parameters of least divergence from the prior with `B phi = target`."""
    basis, Q, constraints = programme(names, priors)
    A = np.concatenate([B[:, 10 * k : 10 * (k + 1)] @ basis[k] for k in range(len(names))], axis=1)
    u, s, _ = np.linalg.svd(A, full_matrices=False)
    rows = u[:, s > 1e-9 * s[0]].T
    flat = cp.hstack([cp.vec(q, order="C") for q in Q])
    objective = sum(cp.trace(q) - cp.log_det(q) for q in Q)
    solve(cp.Problem(cp.Minimize(objective), [*constraints, (rows @ A) @ flat == rows @ target]))
    phi = np.concatenate([basis[k] @ np.asarray(q.value).reshape(-1) for k, q in enumerate(Q)])
    return dict(zip(names, np.split(projected(phi, B, target), len(names)), strict=True))


def solve(problem: cp.Problem, failure: str = "no consistent set found", advice: str = "") -> str:
    """Solve a convex program. Returns the status "optimal"; anything else is an error.

    The cost is flat around its minimum: Clarabel's usual tolerance leaves parameters uncertain by 1e-3, so that other
    versions of the libraries give other numbers. Programs that cannot reach TOLERANCE must reach the usual one.
    """
    within = {f"tol_{x}": TOLERANCE for x in CRITERIA} | {f"reduced_tol_{x}": USUAL_TOLERANCE for x in CRITERIA}
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")  # within the usual tolerance
            problem.solve(solver=cp.CLARABEL, **within)
    except cp.SolverError as error:
        raise TrocarError(f"{failure}: {error}") from None
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise TrocarError(f"{failure}: the solver returned '{problem.status}'{advice}")
    return str(cp.OPTIMAL)


def projected(phi: Array, A: Array, b: Array) -> Array:
    """Project phi on A phi = b, which the solver satisfies only to 1e-9."""
    for _ in range(2):
        phi = phi + np.linalg.pinv(A, rcond=1e-9) @ (b - A @ phi)
    return phi


def in_units_of(P0: Array) -> Array:
    """(10, 16): barycentric parameters of r Q r' from the entries of Q, with P0 = r r'."""
    root = np.linalg.cholesky(P0)
    columns = [from_pseudo_inertia(root @ e.reshape(4, 4) @ root.T) for e in np.eye(16)]
    symmetric = np.array(columns).reshape(4, 4, 10)
    return 0.5 * (symmetric + symmetric.transpose(1, 0, 2)).reshape(16, 10).T
