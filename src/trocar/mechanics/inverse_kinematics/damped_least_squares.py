"""The general method: damped least squares on the pose error, for any arm and any start."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trocar.spatial import Array, pose_error

# Makes a rotation error comparable with a position error: the reach of a wrist [m].
LENGTH = 0.1


def damped_least_squares(
    forward: Callable[[Array], Array],
    jacobian: Callable[[Array], Array],
    T: Array,
    q_seed: Array,
    lower: Array,
    upper: Array,
    tolerance: float = 1e-10,
    iterations: int = 300,
) -> tuple[Array, Array]:
    """Joints (N, m) that bring the tip to T (N, 4, 4) from the seed, kept within limits, and the error left [m].

    Levenberg-Marquardt, one damping per pose: smaller after a step that helps, larger after one that does not. The
    error is the norm of position error [m] and rotation error times 0.1 m.
    """
    weight = np.array([1.0] * 3 + [LENGTH] * 3)
    q = np.clip(q_seed, lower, upper)
    error = weight * pose_error(T, forward(q))
    damping = np.full(len(q), 1e-3)
    for _ in range(iterations):
        active = np.flatnonzero(np.linalg.norm(error, axis=-1) > tolerance)
        if not active.size:
            break
        J = weight[:, None] * jacobian(q[active])
        J_t = np.swapaxes(J, -1, -2)
        scale = np.einsum("nii->ni", J_t @ J).max(-1)
        A = J_t @ J + (damping[active] * scale)[:, None, None] * np.eye(q.shape[-1])
        step = np.linalg.solve(A, J_t @ error[active][..., None])[..., 0]
        trial = np.clip(q[active] + step, lower, upper)
        trial_error = weight * pose_error(T[active], forward(trial))
        better = np.linalg.norm(trial_error, axis=-1) < np.linalg.norm(error[active], axis=-1)
        q[active[better]], error[active[better]] = trial[better], trial_error[better]
        damping[active] = np.clip(damping[active] * np.where(better, 0.2, 5.0), 1e-14, 1e8)
    return q, np.linalg.norm(error, axis=-1)
