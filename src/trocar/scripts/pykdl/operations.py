"""Functions of PyKDL on vectors, rotations, frames, twists and wrenches."""

from __future__ import annotations

from typing import Any

from trocar.scripts.pykdl.frame import Frame
from trocar.scripts.pykdl.numbers import EPSILON, close
from trocar.scripts.pykdl.rotation import Rotation
from trocar.scripts.pykdl.screws import Screw, Twist, Wrench
from trocar.scripts.pykdl.vector import Vector


def dot(a: Any, b: Any) -> float:
    """Scalar product of two vectors, or power of a twist and a wrench."""
    if isinstance(a, Vector) and isinstance(b, Vector):
        return float(a.array @ b.array)
    if {type(a), type(b)} == {Twist, Wrench}:
        return float(a.array @ b.array)
    raise TypeError(f"dot takes two Vectors, or a Twist and a Wrench, got {a!r} and {b!r}")


def diff(a: Any, b: Any, dt: float = 1) -> Any:
    """The constant velocity that leads from a to b in the time dt, in the axes in which a and b are given."""
    if isinstance(a, Rotation) and isinstance(b, Rotation):
        return a * (a.Inverse() * b).GetRot() / dt
    if isinstance(a, Frame) and isinstance(b, Frame):
        return Twist(diff(a.p, b.p, dt), diff(a.M, b.M, dt))
    if isinstance(a, Vector | Screw) and type(a) is type(b):
        return (b - a) / dt
    raise TypeError(f"diff takes two values of the same type, got {a!r} and {b!r}")


def addDelta(a: Any, da: Any, dt: float = 1) -> Any:
    """Value of a after the time dt at the constant velocity da: the inverse of `diff`."""
    if isinstance(a, Rotation) and isinstance(da, Vector):
        return a * Rotation.Rot(a.Inverse(da), da.Norm() * dt)
    if isinstance(a, Frame) and isinstance(da, Twist):
        return Frame(addDelta(a.M, da.rot, dt), addDelta(a.p, da.vel, dt))
    if isinstance(a, Vector | Screw) and type(a) is type(da):
        return a + da * dt
    raise TypeError(f"addDelta takes a value and its velocity, got {a!r} and {da!r}")


def Equal(a: Any, b: Any, eps: float = EPSILON) -> bool:
    """True if all elements differ by less than eps."""
    if isinstance(a, Frame) and isinstance(b, Frame):
        return Equal(a.p, b.p, eps) and Equal(a.M, b.M, eps)
    if isinstance(a, Vector | Rotation | Screw) and type(a) is type(b):
        return close(a.array, b.array, eps)
    raise TypeError(f"Equal takes two values of the same type, got {a!r} and {b!r}")


def SetToZero(what: Any) -> None:
    """Set a Vector, Twist or Wrench to zero."""
    if not isinstance(what, Vector | Screw):
        raise TypeError(f"SetToZero takes a Vector, a Twist or a Wrench, got {what!r}")
    what.array[:] = 0.0
