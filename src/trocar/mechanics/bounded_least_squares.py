"""Levenberg-Marquardt within joint limits, for many starts at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trocar.spatial import Array

# q (N, n) and their row indices (N,) -> residual (N, k) and its Jacobian (N, k, n)
Residual = Callable[[Array, Array], tuple[Array, Array]]

MIN_DAMPING, MAX_DAMPING = 1e-14, 1e8  # damping, relative to the largest diagonal entry of J'J


def bounded_least_squares(
    residual: Residual, q: Array, lower: Array, upper: Array, tolerance: float, iterations: int
) -> tuple[Array, Array]:
    """Joints (N, n) that minimise the residual within limits from every start, and the residual norm (N,).

    Each start has its own damping, reduced after a successful step and raised after a failed one. A joint at a limit
    that the descent pushes against is held. A start is finished once its residual is within the tolerance.
    """
    q = np.clip(q, lower, upper)
    r, J = residual(q, np.arange(len(q)))
    damping, stuck = np.full(len(q), 1e-3), np.zeros(len(q), bool)
    for _ in range(iterations):
        rows = np.flatnonzero((np.linalg.norm(r, axis=-1) > tolerance) & ~stuck)
        if not rows.size:
            break
        gradient = np.einsum("nki,nk->ni", J[rows], r[rows])
        held = ((q[rows] <= lower) & (gradient > 0)) | ((q[rows] >= upper) & (gradient < 0))
        free = np.where(held[:, None, :], 0.0, J[rows])
        A = np.swapaxes(free, -1, -2) @ free
        scale = np.maximum(np.einsum("nii->ni", A).max(-1), 1e-12)
        A = A + (damping[rows] * scale)[:, None, None] * np.eye(q.shape[-1])
        step = -np.linalg.solve(A, np.where(held, 0.0, gradient)[..., None])[..., 0]
        trial = np.clip(q[rows] + step, lower, upper)
        r_trial, J_trial = residual(trial, rows)
        better = np.linalg.norm(r_trial, axis=-1) < np.linalg.norm(r[rows], axis=-1)
        q[rows[better]], r[rows[better]], J[rows[better]] = trial[better], r_trial[better], J_trial[better]
        # a step that rounds to zero, or one at the largest damping, would fail forever
        stuck[rows] = ~better & ((damping[rows] >= MAX_DAMPING) | (trial == q[rows]).all(-1))
        damping[rows] = np.clip(damping[rows] * np.where(better, 0.2, 5.0), MIN_DAMPING, MAX_DAMPING)
    return q, np.linalg.norm(r, axis=-1)
