"""Frames: a rotation and a position."""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.scripts.pykdl.numbers import checked_pair, number
from trocar.scripts.pykdl.rotation import Rotation
from trocar.scripts.pykdl.screws import Twist, Wrench
from trocar.scripts.pykdl.vector import Vector
from trocar.spatial import Array


class Frame:
    """Frame(), Frame(rotation, vector), Frame(rotation), Frame(vector) or a copy of a frame.

    `M` and `p` are the rotation and the position; changing the returned objects changes the frame.
    """

    __slots__ = ("_M", "_p")
    __hash__ = None  # type: ignore[assignment]  # mutable

    def __init__(self, R: Any = None, V: Any = None) -> None:
        if isinstance(R, Frame) and V is None:
            R, V = R.M, R.p
        elif isinstance(R, Vector) and V is None:
            R, V = None, R
        if not (isinstance(R, Rotation | None) and isinstance(V, Vector | None)):
            raise TypeError("Frame takes a Rotation and a Vector, one of them, a Frame or nothing")
        self._M = Rotation() if R is None else Rotation(R)
        self._p = Vector() if V is None else Vector(V)

    @staticmethod
    def from_matrix(T: Array) -> Frame:
        """The frame of a pose (4, 4)."""
        return Frame(Rotation.of(np.array(T[:3, :3], dtype=float)), Vector.of(np.array(T[:3, 3], dtype=float)))

    def to_matrix(self) -> Array:
        """The pose (4, 4)."""
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = self._M.array, self._p.array
        return T

    @property
    def M(self) -> Rotation:
        return self._M

    @M.setter
    def M(self, value: Rotation) -> None:
        self._M.array[:] = value.array

    @property
    def p(self) -> Vector:
        return self._p

    @p.setter
    def p(self, value: Vector) -> None:
        self._p.array[:] = value.array

    @staticmethod
    def Identity() -> Frame:
        return Frame()

    @staticmethod
    def DH(a: float, alpha: float, d: float, theta: float) -> Frame:
        """A link by its standard Denavit-Hartenberg parameters [m, rad]."""
        turned = Rotation.RotZ(theta)
        return Frame(turned * Rotation.RotX(alpha), turned * Vector(a, 0, 0) + Vector(0, 0, d))

    @staticmethod
    def DH_Craig1989(a: float, alpha: float, d: float, theta: float) -> Frame:
        """A link by its modified Denavit-Hartenberg parameters [m, rad]."""
        turned = Rotation.RotX(alpha)
        return Frame(turned * Rotation.RotZ(theta), Vector(a, 0, 0) + turned * Vector(0, 0, d))

    def Integrate(self, twist: Twist, frequency: float) -> None:
        """Move by a twist in body axes over one period of `frequency` [Hz]."""
        step = Frame(Rotation.Rot(twist.rot, twist.rot.Norm() / frequency), twist.vel / frequency)
        moved = self * step
        self.M, self.p = moved.M, moved.p

    def Inverse(self, what: Any = None) -> Any:
        """The inverse frame, or a Vector, Twist or Wrench expressed in this frame."""
        if what is None:
            return Frame(self._M.Inverse(), -self._M.Inverse(self._p))
        if isinstance(what, Vector):
            return self._M.Inverse(what - self._p)
        if isinstance(what, Twist):
            return self._M.Inverse(Twist(what.vel - self._p * what.rot, what.rot))
        if isinstance(what, Wrench):
            return self._M.Inverse(Wrench(what.force, what.torque - self._p * what.force))
        raise TypeError(f"Inverse takes a Vector, a Twist or a Wrench, got {what!r}")

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Frame):
            return Frame(self._M * other.M, self._M * other.p + self._p)
        if isinstance(other, Vector):
            return self._M * other + self._p
        if isinstance(other, Twist):
            rot = self._M * other.rot
            return Twist(self._M * other.vel + self._p * rot, rot)
        if isinstance(other, Wrench):
            force = self._M * other.force
            return Wrench(force, self._M * other.torque + self._p * force)
        return NotImplemented

    def __getitem__(self, pair: tuple[int, int]) -> float:
        i, j = checked_pair("Frame", pair, 3, 4)
        return self._p[i] if j == 3 else self._M[i, j]

    def __setitem__(self, pair: tuple[int, int], value: Any) -> None:
        i, j = checked_pair("Frame", pair, 3, 4)
        if j == 3:
            self._p[i] = number(value)
        else:
            self._M[i, j] = number(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and self._M == other.M and self._p == other.p

    def __copy__(self) -> Frame:
        return Frame(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Frame:
        return Frame(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Frame, (self._M, self._p)

    def __repr__(self) -> str:
        return f"[{self._M!r}\n{self._p!r}]"
