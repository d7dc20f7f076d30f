"""Static friction: the efforts under which an arm stays at rest, and its small displacement under them."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.mechanics.mechanism import Mechanism
from trocar.spatial import Array

# Largest frequency times timestep of an elastic force that is held over a step; it is stable up to 2.
RESOLVED = 1.0


def friction_share(mechanism: Mechanism, q: ArrayLike, effort: ArrayLike, external: ArrayLike | None = None) -> float:
    """Fraction of static friction used by an unbalanced effort (n,) [N m, N] at rest at q (n,); above 1 the arm slides.

    This is the smallest x with `effort = A' f` and `|f_i| <= x F_i`. F_i is the Coulomb friction of drive i with the
    steady effort of its Dahl elements. It is infinite if the effort acts on a joint without friction.

    Args:
        external: (n,) joint efforts of contacts and applied wrenches that load the drives; `effort` includes them.
    """
    q, effort = mechanism.checked_joints(q), mechanism.checked_joints(effort, "effort")
    drives = mechanism.drives
    return _share(drives.A, drives.static(q, mechanism.load(q, external)), effort)


def presliding(mechanism: Mechanism, q: ArrayLike, effort: ArrayLike) -> Array:
    """Displacement (n,) [rad, m] of joints at rest at q (n,) under an effort (n,) [N m, N] that friction holds.

    Zero if Coulomb friction alone holds the effort. Otherwise Dahl friction is elastic before it slides:
    `effort = A' F (1 - exp(-|s| / delta)) sign(s)`, `s = A dq`, starting from relaxed elements, if the effort
    grows slowly. Potentials are taken as constant over that distance.
    """
    q, effort = mechanism.checked_joints(q), mechanism.checked_joints(effort, "effort")
    share = friction_share(mechanism, q, effort)
    if share >= 1.0:
        raise TrocarError(f"the effort is {share:.3g} times static friction: the arm slides")
    drives = mechanism.drives
    if _share(drives.A, drives.coulomb(q, mechanism.load(q)), effort) <= 1.0:
        return np.zeros(mechanism.n)
    A, F = drives.A[drives.owner], drives.F + drives.slope * (drives.A @ q)[drives.owner]

    def excess(dq: Array) -> Array:
        s = A @ dq
        return np.asarray((F * -np.expm1(-np.abs(s) / drives.delta) * np.sign(s)) @ A - effort)

    stiffness = A.T @ ((F / drives.delta)[:, None] * A)
    solution = scipy.optimize.root(excess, np.linalg.lstsq(stiffness, effort, rcond=None)[0], tol=1e-12)
    if np.abs(solution.fun).max() > 1e-6 * np.abs(effort).max():
        raise TrocarError(f"no rest position was found: {solution.message}")
    return np.asarray(solution.x)


def presliding_frequency(mechanism: Mechanism) -> tuple[float, int]:
    """Frequency [rad/s] at which an arm at home vibrates on its Dahl elements, and the element that matters most.

    Right after a reversal an element is a spring of 2 F / delta, as stiff as it gets.
    """
    drives = mechanism.drives
    M, A = mechanism.mass_matrix(mechanism.arm.home), drives.A[drives.owner]
    stiffness = 2.0 * drives.F / drives.delta
    squares = np.linalg.eigvals(np.linalg.solve(M, A.T @ (stiffness[:, None] * A))).real
    element = int(np.argmax(stiffness * np.einsum("ki,ki->k", A, np.linalg.solve(M, A.T).T)))
    return float(np.sqrt(squares.max())), element


def _share(A: Array, F: Array, effort: Array) -> float:
    """Smallest x with A' f = effort and |f_i| <= x F_i, by a linear program in (f / F, x)."""
    A, F = A[F > 0], F[F > 0]
    m, n = A.shape
    solution = scipy.optimize.linprog(
        np.eye(m + 1)[-1],
        A_ub=np.column_stack([np.vstack([np.eye(m), -np.eye(m)]), -np.ones(2 * m)]),
        b_ub=np.zeros(2 * m),
        A_eq=np.column_stack([A.T * F, np.zeros(n)]),
        b_eq=effort,
        bounds=[(None, None)] * (m + 1),
    )
    if solution.status == 2:  # infeasible
        return float("inf")
    if solution.status != 0:
        raise TrocarError(f"the linear program of static friction ended with: {solution.message}")
    return float(solution.x[-1])
