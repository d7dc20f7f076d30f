"""The free surface of a tissue at rest: faces of a box, or a closed surface. Positions are in its frame [m]."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import numpy as np
import scipy

from trocar.simulation.objects.closed_surface import ClosedSurface
from trocar.spatial import Array

FACES = {"-x": (0, -1.0), "+x": (0, 1.0), "-y": (1, -1.0), "+y": (1, 1.0), "-z": (2, -1.0), "+z": (2, 1.0)}
SAMPLES = 40  # of the distance along the longest edge of a surface's box
BORDER = 3  # samples outside of the box
PROJECTIONS = 3  # steps to a surface along its normal


class Boundary(Protocol):
    """The free surface of a tissue."""

    def outside(self, X: Array) -> tuple[float, Array]:
        """Signed distance of X from the nearest free face, negative inside, and the outward normal (3,) there."""

    def on_face(self, X: Array, normal: Array) -> Array:
        """X moved to the face of a normal (3,)."""

    def clipped(self, X: Array) -> Array:
        """X moved into the tissue."""


class BoxBoundary:
    """The faces of a box from low (3,) to high (3,), without the fixed ones."""

    def __init__(self, low: Array, high: Array, fixed: Collection[str]) -> None:
        self._low, self._high = low, high
        free = [FACES[face] for face in FACES if face not in fixed]
        self._faces = [(axis, sign, float(high[axis] if sign > 0 else low[axis])) for axis, sign in free]
        self._normals = {(axis, sign): sign * np.eye(3)[axis] for axis, sign in free}

    def outside(self, X: Array) -> tuple[float, Array]:
        x = X.tolist()
        gap, axis, sign = max((sign * (x[axis] - face), axis, sign) for axis, sign, face in self._faces)
        return gap, self._normals[axis, sign]

    def on_face(self, X: Array, normal: Array) -> Array:
        X, axis = self.clipped(X), int(np.abs(normal).argmax())
        X[axis] = self._high[axis] if normal[axis] > 0 else self._low[axis]
        return X

    def clipped(self, X: Array) -> Array:
        return np.asarray(np.minimum(np.maximum(X, self._low), self._high))


class SurfaceBoundary:
    """A closed surface, all of it free, by samples of the distance from it."""

    def __init__(self, surface: ClosedSurface) -> None:
        self._step = float(surface.size.max()) / SAMPLES
        self._low = surface.low - BORDER * self._step
        count = np.ceil(surface.size / self._step).astype(int) + 2 * BORDER + 1
        places = self._low + self._step * np.indices(tuple(count)).reshape(3, -1).T
        self._distance = surface.signed_distance(places)[0].reshape(tuple(count))

    def outside(self, X: Array) -> tuple[float, Array]:
        half = 0.5 * self._step
        shifts = np.concatenate([np.zeros((1, 3)), half * np.eye(3), -half * np.eye(3)])
        gaps = scipy.ndimage.map_coordinates(
            self._distance, ((X + shifts - self._low) / self._step).T, order=1, mode="nearest"
        )
        slope = gaps[1:4] - gaps[4:]
        return float(gaps[0]), slope / max(float(np.linalg.norm(slope)), np.finfo(float).tiny)

    def on_face(self, X: Array, normal: Array) -> Array:
        for _ in range(PROJECTIONS):
            X = X - self.outside(X)[0] * normal
        return np.asarray(X)

    def clipped(self, X: Array) -> Array:
        gap, normal = self.outside(X)
        return np.array(X) if gap <= 0 else self.on_face(X, normal)
