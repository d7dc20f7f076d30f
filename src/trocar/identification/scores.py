"""How well a model meets measured efforts."""

from __future__ import annotations

import numpy as np

from trocar.spatial import Array


def relative_error(measured: Array, predicted: Array) -> Array:
    """(n,): norm over the rows (axis 0) of measured - predicted, relative to that of the measured effort."""
    return np.asarray(np.linalg.norm(measured - predicted, axis=0) / np.linalg.norm(measured, axis=0))


def root_mean_square(measured: Array, predicted: Array) -> Array:
    """(n,): root mean square difference over the rows [N m, N]."""
    return np.asarray(np.sqrt(((measured - predicted) ** 2).mean(axis=0)))
