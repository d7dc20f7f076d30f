"""Solid shapes: obstacles for collision checks, and what objects around the instrument are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.spatial import Array, checked_pose, pose, quaternion


class Obstacle(Protocol):
    """A solid shape, in coordinates of the world or of the object it is part of."""

    def geom(self) -> dict[str, Any]:
        """Attributes of MuJoCo's geom."""


@dataclass(frozen=True)
class Box:
    """A box with edges of length `size` (3,) [m] about `centre` (3,) [m], turned by R (3, 3)."""

    centre: ArrayLike
    size: ArrayLike
    R: ArrayLike | None = None

    def geom(self) -> dict[str, Any]:
        R = checked_pose(pose(np.eye(3) if self.R is None else self.R))[:3, :3]
        half = _sizes(self.size, "size of a box", 3) / 2
        return {"type": mujoco.mjtGeom.mjGEOM_BOX, "pos": _point(self.centre), "quat": quaternion(R), "size": half}


@dataclass(frozen=True)
class Sphere:
    """A ball of `radius` [m] about `centre` (3,) [m]."""

    centre: ArrayLike
    radius: float

    def geom(self) -> dict[str, Any]:
        return {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "pos": _point(self.centre), "size": _radius(self.radius)}


@dataclass(frozen=True)
class Capsule:
    """A rod of `radius` [m] with round ends about the points a and b (3,) [m]."""

    a: ArrayLike
    b: ArrayLike
    radius: float

    def geom(self) -> dict[str, Any]:
        return _rod(mujoco.mjtGeom.mjGEOM_CAPSULE, self.a, self.b, self.radius)


@dataclass(frozen=True)
class Cylinder:
    """A rod of `radius` [m] with flat ends at the points a and b (3,) [m]."""

    a: ArrayLike
    b: ArrayLike
    radius: float

    def geom(self) -> dict[str, Any]:
        return _rod(mujoco.mjtGeom.mjGEOM_CYLINDER, self.a, self.b, self.radius)


def _rod(kind: int, a: ArrayLike, b: ArrayLike, radius: float) -> dict[str, Any]:
    ends = [*_point(a), *_point(b)]
    if np.allclose(ends[:3], ends[3:], rtol=0.0, atol=1e-9):
        raise TrocarError("a rod needs two different ends; for a ball use Sphere")
    return {"type": kind, "fromto": ends, "size": _radius(radius)}


def _point(p: ArrayLike) -> Array:
    array = np.asarray(p, dtype=float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise TrocarError(f"a point is three finite numbers [m], got {p!r}")
    return array


def _radius(radius: float) -> list[float]:
    return [float(_sizes(radius, "radius", 0)), 0.0, 0.0]


def _sizes(values: ArrayLike, name: str, count: int) -> Array:
    array = np.asarray(values, dtype=float)
    if array.shape != ((count,) if count else ()) or not (np.isfinite(array) & (array > 0)).all():
        raise TrocarError(f"{name} must be positive and finite [m], got {values!r}")
    return array
