"""A physically consistent set with the same torque: of all sets that could be real bodies, the one nearest to a prior.

Published parameters need not belong to bodies that can exist. The effort depends on few combinations of them (base
parameters), so others can be put in their place: minimise over the 4 x 4 pseudo-inertias P_k of the links

    sum_k  tr(P0_k^-1 P_k) - log det P_k        (divergence from the prior P0_k, a box of uniform density)

with all base parameters held exactly. The counterweight is kept apart from the rest, because the arm is also used
without it: it is the published one, moved by the least (Frobenius) change that makes it positive definite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from trocar.arms.parameters import Inertia, Parameters
from trocar.arms.tables import read
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES, barycentric, from_pseudo_inertia, pseudo_inertia, standard
from trocar.spatial import Array

COUNTERWEIGHT_EIGENVALUE = 3e-7  # smallest of its pseudo-inertia [kg m^2]


@dataclass(frozen=True)
class Equivalent:
    """Consistent inertias by body name.

    Attributes:
        residual: how far the base parameters are off. smallest_eigenvalue: of the pseudo-inertias.
        torque_change: by joint, root mean square over the mean torque; empty where there is none.
    """

    inertias: dict[str, Inertia]
    residual: float
    smallest_eigenvalue: float
    torque_change: tuple[float, ...] = ()


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
    """What is thought of a link before.

    Attributes:
        P: pseudo-inertia (4, 4). largest_mass: that it may have [kg].
        lower, upper: corners of the box that its centre of mass is in [m]; None where that is not limited.
    """

    P: Array
    largest_mass: float
    lower: Array | None = None
    upper: Array | None = None


def prior(arm: str) -> dict[str, Prior]:
    """Priors of the links of an arm, from its file."""
    return {
        name: Prior(
            box(entry["mass"], np.array(entry["lower"]), np.array(entry["upper"])),
            entry.get("largest_mass", np.inf),
            np.array(entry["lower"]),
            np.array(entry["upper"]),
        )
        for name, entry in read(f"prior_{arm.lower()}").items()
    }


def equivalent(mechanism: Mechanism, priors: Mapping[str, Prior]) -> Equivalent:
    """Solve both programmes for a mechanism with published parameters. A status other than optimal is an error."""
    parameters: Parameters | None = mechanism.parameters
    if parameters is None:
        raise TrocarError(f"{mechanism.arm.name} has no parameters to make consistent")
    names = list(parameters.inertias)
    published = {name: barycentric(body) for name, body in parameters.inertias.items()}
    B = dict(zip(names, np.split(_inertial_base(mechanism, names), len(names), axis=1), strict=True))
    apart = mechanism.arm.counterweight
    free = [name for name in names if name != apart]
    B_free = np.concatenate([B[name] for name in free], axis=1)
    target = B_free @ np.concatenate([published[name] for name in free])
    found = {}
    if apart in names:
        # Combinations that no other link can make up for must stay with the counterweight exactly.
        u, s, _ = np.linalg.svd(B_free, full_matrices=True)
        alone = u[:, np.append(s, np.zeros(len(u) - len(s))) < 1e-9].T
        found[apart] = _nearest_definite(published[apart], alone @ B[apart])
        target = target + B[apart] @ (published[apart] - found[apart])
    found |= nearest_to_prior(free, B_free, target, priors)
    off = sum(B[name] @ (found[name] - published[name]) for name in names)
    return Equivalent(
        inertias={name: standard(found[name]) for name in names},
        residual=float(np.abs(off).max()),
        smallest_eigenvalue=min(float(np.linalg.eigvalsh(pseudo_inertia(phi))[0]) for phi in found.values()),
    )


def nearest(mechanism: Mechanism, priors: Mapping[str, Prior], weight: float = 1e-5, states: int = 800) -> Equivalent:
    """A consistent set of nearly the same torque, where none of exactly the same exists (a mass matrix that is not
    positive definite belongs to no set of real bodies).

    Minimises the mean square change of torque over random states within limits (rates to 1.5 rad/s, accelerations to
    5 rad/s^2), each joint relative to its mean torque, plus `weight` times the divergence from the prior.
    """
    if mechanism.parameters is None:
        raise TrocarError(f"{mechanism.arm.name} has no parameters to make consistent")
    names = list(mechanism.parameters.inertias)
    rng = np.random.default_rng(0)
    q = rng.uniform(mechanism.arm.lower, mechanism.arm.upper, (states, mechanism.n))
    dq, ddq = rng.uniform(-1.0, 1.0, (2, *q.shape)) * np.array([1.5, 5.0])[:, None, None]
    typical = np.abs(mechanism.inverse_dynamics(q, dq, ddq, friction=True)).mean(0)
    index = [mechanism.parameter_names.index(f"{name}.{parameter}") for name in names for parameter in NAMES]
    Y, phi_0 = mechanism.regressor(q, dq, ddq)[..., index], mechanism.parameter_vector[index]
    R: Array = np.linalg.qr((Y / typical[:, None]).reshape(-1, len(index)) / np.sqrt(states), mode="r")  # type: ignore[assignment]
    basis, Q, constraints = _programme(names, priors)
    A = np.concatenate([R[:, 10 * k : 10 * (k + 1)] @ basis[k] for k in range(len(names))], axis=1)
    flat = cp.hstack([cp.vec(x, order="C") for x in Q])
    divergence = sum(cp.trace(x) - cp.log_det(x) for x in Q)
    _solve(cp.Problem(cp.Minimize(cp.sum_squares(A @ flat - R @ phi_0) + weight * divergence), constraints))
    found = {name: basis[k] @ np.asarray(Q[k].value).reshape(-1) for k, name in enumerate(names)}
    change = Y @ (np.concatenate(list(found.values())) - phi_0)
    return Equivalent(
        inertias={name: standard(phi) for name, phi in found.items()},
        residual=float(np.abs(R @ (np.concatenate(list(found.values())) - phi_0)).max()),
        smallest_eigenvalue=min(float(np.linalg.eigvalsh(pseudo_inertia(phi))[0]) for phi in found.values()),
        torque_change=tuple(np.sqrt((change**2).mean(0)) / typical),
    )


def _programme(
    names: list[str], priors: Mapping[str, Prior]
) -> tuple[list[Array], list[cp.Variable], list[cp.Constraint]]:
    """Variables Q in units of the prior (P = r Q r', P0 = r r'): well scaled, every Q is near 1. Mass limits."""
    basis = [_basis(np.linalg.cholesky(priors[name].P)) for name in names]
    Q = [cp.Variable((4, 4), symmetric=True) for _ in names]
    limits = [
        basis[k][0] @ cp.vec(Q[k], order="C") <= priors[name].largest_mass
        for k, name in enumerate(names)
        if np.isfinite(priors[name].largest_mass)
    ]
    return basis, Q, limits


def _nearest_definite(phi: Array, exact: Array) -> Array:
    """Parameters of the definite pseudo-inertia nearest to that of phi (Frobenius), `exact @ phi` held."""
    P = cp.Variable((4, 4), symmetric=True)
    basis = _basis(np.eye(4))
    constraints = [P >> COUNTERWEIGHT_EIGENVALUE * np.eye(4)]
    constraints += [exact @ (basis @ cp.vec(P, order="C")) == exact @ phi]
    _solve(cp.Problem(cp.Minimize(cp.norm(P - pseudo_inertia(phi), "fro")), constraints))
    return _projected(basis @ np.asarray(P.value).reshape(-1), exact, exact @ phi)


def nearest_to_prior(names: list[str], B: Array, target: Array, priors: Mapping[str, Prior]) -> dict[str, Array]:
    """Barycentric parameters of least divergence from the prior with `B phi = target`."""
    basis, Q, constraints = _programme(names, priors)
    A = np.concatenate([B[:, 10 * k : 10 * (k + 1)] @ basis[k] for k in range(len(names))], axis=1)
    u, s, _ = np.linalg.svd(A, full_matrices=False)
    rows = u[:, s > 1e-9 * s[0]].T
    flat = cp.hstack([cp.vec(q, order="C") for q in Q])
    objective = sum(cp.trace(q) - cp.log_det(q) for q in Q)
    _solve(cp.Problem(cp.Minimize(objective), [*constraints, (rows @ A) @ flat == rows @ target]))
    phi = np.concatenate([basis[k] @ np.asarray(q.value).reshape(-1) for k, q in enumerate(Q)])
    return dict(zip(names, np.split(_projected(phi, B, target), len(names)), strict=True))


def _solve(problem: cp.Problem) -> None:
    problem.solve(solver=cp.CLARABEL)
    if problem.status != "optimal":
        raise TrocarError(f"no consistent set found: the solver says '{problem.status}'")


def _projected(phi: Array, A: Array, b: Array) -> Array:
    """The solver meets its equations to 1e-9; the nearest point of A phi = b meets them to rounding."""
    for _ in range(2):
        phi = phi + np.linalg.pinv(A, rcond=1e-9) @ (b - A @ phi)
    return phi


def _inertial_base(mechanism: Mechanism, names: list[str]) -> Array:
    """Orthonormal rows (b, 10 k) spanning the parameter combinations that the effort depends on."""
    base = mechanism.base_parameters
    columns = [f"{name}.{parameter}" for name in names for parameter in NAMES]
    index = [mechanism.parameter_names.index(c) for c in columns]
    rows = base.B[:, index]
    _, s, vt = np.linalg.svd(rows, full_matrices=False)
    return vt[s > 1e-9 * s[0]]


def in_units_of(P0: Array) -> Array:
    """(10, 16): barycentric parameters of r Q r' from the entries of Q, with P0 = r r'."""
    return _basis(np.linalg.cholesky(P0))


def _basis(root: Array) -> Array:
    """(10, 16): barycentric parameters of root Q root' from the entries of Q."""
    columns = [from_pseudo_inertia(root @ e.reshape(4, 4) @ root.T) for e in np.eye(16)]
    symmetric = np.array(columns).reshape(4, 4, 10)
    return 0.5 * (symmetric + symmetric.transpose(1, 0, 2)).reshape(16, 10).T
