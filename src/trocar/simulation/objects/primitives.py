"""Solid shapes: obstacles for collision checks, and parts of objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

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
    """A box with edges of length `size` (3,) [m] about `centre` (3,) [m], rotated by R (3, 3)."""

    centre: ArrayLike
    size: ArrayLike
    R: ArrayLike | None = None

    def geom(self) -> dict[str, Any]:
        """Fields of its MuJoCo geom."""
        R = checked_pose(pose(np.eye(3) if self.R is None else self.R))[:3, :3]
        half = sizes(self.size, "size of a box") / 2
        return {"type": mujoco.mjtGeom.mjGEOM_BOX, "pos": _point(self.centre), "quat": quaternion(R), "size": half}


@dataclass(frozen=True)
class Sphere:
    """A ball of `radius` [m] about `centre` (3,) [m]."""

    centre: ArrayLike
    radius: float

    def geom(self) -> dict[str, Any]:
        """Fields of its MuJoCo geom."""
        return {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "pos": _point(self.centre), "size": _radius(self.radius)}


@dataclass(frozen=True)
class _Rod:
    a: ArrayLike
    b: ArrayLike
    radius: float
    _kind: ClassVar[mujoco.mjtGeom]

    def geom(self) -> dict[str, Any]:
        ends = [*_point(self.a), *_point(self.b)]
        if np.allclose(ends[:3], ends[3:], rtol=0.0, atol=1e-9):
            raise TrocarError("a rod needs two different ends; for a ball use Sphere")
        return {"type": self._kind, "fromto": ends, "size": _radius(self.radius)}


class Capsule(_Rod):
    """A rod of `radius` [m] with round ends about the points a and b (3,) [m]."""

    _kind = mujoco.mjtGeom.mjGEOM_CAPSULE


class Cylinder(_Rod):
    """A rod of `radius` [m] with flat ends at the points a and b (3,) [m]."""

    _kind = mujoco.mjtGeom.mjGEOM_CYLINDER


def _point(p: ArrayLike) -> Array:
    return three_numbers(p, "a point", "[m]")


def _radius(radius: float) -> list[float]:
    return [float(sizes(radius, "radius", ())), 0.0, 0.0]


def three_numbers(values: ArrayLike, name: str, meaning: str) -> Array:
    """Check a vector (3,); the error describes the expected value."""
    array = np.asarray(values, dtype=float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise TrocarError(f"{name} must be three finite numbers {meaning}, got {values!r}")
    return array


def sizes(values: ArrayLike, name: str, shape: tuple[int, ...] = (3,)) -> Array:
    """Lengths of this shape, all positive [m]: three, or () for one."""
    array = np.asarray(values, dtype=float)
    if array.shape != shape or not (np.isfinite(array) & (array > 0)).all():
        expected = "three positive lengths" if shape else "positive and finite"
        raise TrocarError(f"{name} must be {expected} [m], got {values!r}")
    return array


def check_numbers(thing: object, of: str, *, positive: Sequence[str] = (), not_negative: Sequence[str] = ()) -> None:
    """Raise an error that names the first of these attributes that is not finite or has the wrong sign."""
    for name in (*positive, *not_negative):
        value = getattr(thing, name)
        if not np.isfinite(value) or value < 0 or (value == 0 and name in positive):
            expected = "positive" if name in positive else "finite and not negative"
            raise TrocarError(f"{name} of {of} must be {expected}, got {value!r}")
