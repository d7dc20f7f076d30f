"""Derivatives by central differences, the reference for every Jacobian."""

import numpy as np

STEP = 1e-6  # truncation 1e-12, rounding 1e-10


def derivative(function, x, direction):
    """Derivative of an array-valued function at states x (..., n) along `direction` (..., n)."""
    h = STEP * np.asarray(direction)
    return (function(x + h) - function(x - h)) / (2.0 * STEP)


def jacobian(function, x):
    """Jacobian (..., m, n) of a function that returns vectors (..., m)."""
    return np.stack([derivative(function, x, unit) for unit in np.eye(x.shape[-1])], axis=-1)


def pose_jacobian(function, x):
    """Jacobian (..., 6, n) of poses (..., 4, 4): velocity of the origin, then angular velocity, in base axes."""
    R = function(x)[..., :3, :3]
    columns = []
    for unit in np.eye(x.shape[-1]):
        dT = derivative(function, x, unit)
        S = dT[..., :3, :3] @ np.swapaxes(R, -1, -2)  # skew matrix of the angular velocity
        w = 0.5 * np.stack([S[..., 2, 1] - S[..., 1, 2], S[..., 0, 2] - S[..., 2, 0], S[..., 1, 0] - S[..., 0, 1]], -1)
        columns.append(np.concatenate([dT[..., :3, 3], w], axis=-1))
    return np.stack(columns, axis=-1)
