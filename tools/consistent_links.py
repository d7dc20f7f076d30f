"""Consistent link inertias that replace published ones which no real body can have.

The effort depends on few combinations of the link parameters (base parameters), so several sets of links have the same.
`equivalent` holds all base parameters exactly and minimises the divergence from a prior (see consistency.py in
trocar.identification). The counterweight is found separately, because the arm is also used without it: it is the
published one with the least (Frobenius) change that makes it positive definite. `nearest` is for a torque that no
consistent set reproduces.
"""

from __future__ import annotations

from collections.abc import Mapping

import cvxpy as cp
import numpy as np

from trocar.arms.parameters import Inertia
from trocar.identification.consistency import Prior, in_units_of, nearest_to_prior, programme, projected, solve
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES, barycentric, pseudo_inertia, standard
from trocar.spatial import Array

COUNTERWEIGHT_EIGENVALUE = 3e-7  # smallest eigenvalue of its pseudo-inertia [kg m^2]


def equivalent(mechanism: Mechanism, priors: Mapping[str, Prior]) -> dict[str, Inertia]:
    """Consistent inertias by body with the base parameters of the mechanism's published set."""
    assert mechanism.parameters is not None
    published = {name: barycentric(body) for name, body in mechanism.parameters.inertias.items()}
    names = list(published)
    B = dict(zip(names, np.split(_inertial_base(mechanism, names), len(names), axis=1), strict=True))
    apart = mechanism.arm.counterweight
    free = [name for name in names if name != apart]
    B_free = np.concatenate([B[name] for name in free], axis=1)
    target = B_free @ np.concatenate([published[name] for name in free])
    solved = {}
    if apart in names:
        # Combinations that no other link can compensate must stay with the counterweight exactly.
        u, s, _ = np.linalg.svd(B_free, full_matrices=True)
        alone = u[:, np.append(s, np.zeros(len(u) - len(s))) < 1e-9].T
        solved[apart] = _nearest_definite(published[apart], alone @ B[apart])
        target = target + B[apart] @ (published[apart] - solved[apart])
    solved |= nearest_to_prior(free, B_free, target, priors)
    return {name: standard(solved[name]) for name in names}


def nearest(
    mechanism: Mechanism, priors: Mapping[str, Prior], weight: float = 1e-5, states: int = 800
) -> tuple[dict[str, Inertia], Array]:
    """Consistent inertias by body with nearly the torque of the mechanism, and the change of torque.

    For a torque that no consistent set reproduces: no real bodies have a mass matrix that is not positive definite.

    Minimises the mean square change of torque over random states within limits (rates to 1.5 rad/s, accelerations to
    5 rad/s^2), each joint relative to its mean torque, plus `weight` times the divergence from the prior. The change
    (n,) is the root mean square by joint, over the mean torque.
    """
    assert mechanism.parameters is not None
    names = list(mechanism.parameters.inertias)
    rng = np.random.default_rng(0)
    q = rng.uniform(mechanism.arm.lower, mechanism.arm.upper, (states, mechanism.n))
    dq, ddq = rng.uniform(-1.0, 1.0, (2, *q.shape)) * np.array([1.5, 5.0])[:, None, None]
    typical = np.abs(mechanism.inverse_dynamics(q, dq, ddq, friction=True) + mechanism.effort_bias).mean(0)
    index = _columns(mechanism, names)
    Y, phi_0 = mechanism.regressor(q, dq, ddq)[..., index], mechanism.parameter_vector[index]
    R: Array = np.linalg.qr((Y / typical[:, None]).reshape(-1, len(index)) / np.sqrt(states), mode="r")  # type: ignore[assignment]
    basis, Q, constraints = programme(names, priors)
    A = np.concatenate([R[:, 10 * k : 10 * (k + 1)] @ basis[k] for k in range(len(names))], axis=1)
    flat = cp.hstack([cp.vec(x, order="C") for x in Q])
    divergence = sum(cp.trace(x) - cp.log_det(x) for x in Q)
    solve(cp.Problem(cp.Minimize(cp.sum_squares(A @ flat - R @ phi_0) + weight * divergence), constraints))
    solved = {name: basis[k] @ np.asarray(Q[k].value).reshape(-1) for k, name in enumerate(names)}
    change = Y @ (np.concatenate(list(solved.values())) - phi_0)
    return {name: standard(phi) for name, phi in solved.items()}, np.sqrt((change**2).mean(0)) / typical


def _nearest_definite(phi: Array, exact: Array) -> Array:
    """Parameters of the definite pseudo-inertia nearest to that of phi (Frobenius), `exact @ phi` held."""
    P = cp.Variable((4, 4), symmetric=True)
    basis = in_units_of(np.eye(4))
    constraints = [P >> COUNTERWEIGHT_EIGENVALUE * np.eye(4)]
    constraints += [exact @ (basis @ cp.vec(P, order="C")) == exact @ phi]
    solve(cp.Problem(cp.Minimize(cp.norm(P - pseudo_inertia(phi), "fro")), constraints))
    return projected(basis @ np.asarray(P.value).reshape(-1), exact, exact @ phi)


def _inertial_base(mechanism: Mechanism, names: list[str]) -> Array:
    """Orthonormal rows (b, 10 k) spanning the parameter combinations that the effort depends on."""
    _, s, vt = np.linalg.svd(mechanism.base_parameters.B[:, _columns(mechanism, names)], full_matrices=False)
    return vt[s > 1e-9 * s[0]]


def _columns(mechanism: Mechanism, names: list[str]) -> list[int]:
    """Indices of the bodies' inertial parameters among those of the mechanism."""
    return [mechanism.parameter_names.index(f"{name}.{parameter}") for name in names for parameter in NAMES]
