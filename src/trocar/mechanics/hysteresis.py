"""Friction with memory: the states of Dahl elements along a path."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.spatial import Array


def dahl_states(s: ArrayLike, delta: ArrayLike, z0: ArrayLike = 0.0) -> Array:
    """z (T, ...) of Dahl elements along paths s (T, ...) [rad, m], time first.

    z+ = d + (z - d) exp(-|ds| / delta), d = sign(ds): exact if s is monotone between samples, and independent
    of speed.

    Args:
        delta: delta of each path [rad, m]; broadcasts against the trailing axes, like z0.
        z0: state at the first sample, in [-1, 1].
    """
    s, delta = np.asarray(s, dtype=float), np.asarray(delta, dtype=float)
    if not (delta > 0).all():
        raise TrocarError(f"delta of a Dahl element must be positive [rad, m], got {delta!r}")
    ds = np.diff(s, axis=0)
    decay = np.exp(-np.abs(ds) / delta)
    gained = -np.expm1(-np.abs(ds) / delta) * np.sign(ds)
    z = np.empty_like(s)
    if len(s):
        z[0] = z0
    for k in range(len(ds)):  # a recurrence; vectorised over the paths
        np.multiply(decay[k], z[k], out=z[k + 1, ...])
        z[k + 1] += gained[k]
    return z
