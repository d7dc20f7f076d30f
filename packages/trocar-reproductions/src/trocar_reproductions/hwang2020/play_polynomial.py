"""A polynomial with play operators, the usual black box of hysteresis, fitted to the same rows as the cables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trocar.identification.wrist.fit import MotionRows
from trocar.spatial import Array

RADII = (0.02, 0.05, 0.1, 0.2, 0.3)  # half widths of the play operators of every wrist joint [rad]
RIDGE = 1e-6  # only against singular columns; held-out errors do not depend on it


def play(x: Array, radius: float) -> Array:
    """Play operator along x (N,): the output moves only if the input leaves it by more than the radius."""
    y = np.empty_like(x)
    last = x[0]
    for k, value in enumerate(x.tolist()):
        last = min(max(last, value - radius), value + radius)
        y[k] = last
    return y


def features(command: Array) -> Array:
    """(N, 43): six joints, their squares and products, fifteen play operators, one."""
    i, j = np.triu_indices(6)
    plays = [play(command[:, joint], radius) for joint in (3, 4, 5) for radius in RADII]
    return np.column_stack([np.ones(len(command)), command, command[:, i] * command[:, j], *plays])


def fitted(training: Sequence[MotionRows]) -> Array:
    """Coefficients (43, 6) of seen less commanded joints, without the mean of each motion."""
    X, Y = [], []
    for motion, used in training:
        x, y = features(motion.command)[used], (motion.seen - motion.command)[used]
        X.append(x - x.mean(0))
        Y.append(y - y.mean(0))
    A, B = np.concatenate(X), np.concatenate(Y)
    scale = A.std(0) + 1e-12
    A = A / scale
    solution = np.linalg.solve(A.T @ A + RIDGE * len(A) * np.eye(A.shape[1]), A.T @ B)
    return np.asarray(solution / scale[:, None])


def predicted(rows: MotionRows, coefficients: Array) -> Array:
    """Joints (n, 6) at the used rows, with their mean error removed."""
    motion, used = rows
    q = motion.command[used] + features(motion.command)[used] @ coefficients
    return q + (motion.seen[used] - q).mean(0)
