"""Six-vectors: twists and wrenches."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from trocar.scripts.pykdl.numbers import EPSILON, checked_index, close, is_scalar, number, row
from trocar.scripts.pykdl.vector import Vector
from trocar.spatial import Array


class Screw:
    """A pair of vectors in one frame: `linear` first, then `angular`."""

    __slots__ = ("angular", "array", "linear")
    __hash__ = None  # type: ignore[assignment]  # mutable

    def __init__(self, linear: Any = None, angular: Any = None) -> None:
        self.array = np.zeros(6)
        self.linear, self.angular = Vector.of(self.array[:3]), Vector.of(self.array[3:])
        kind = type(self)
        if isinstance(linear, kind) and angular is None:
            self.array[:] = linear.array
        elif isinstance(linear, Vector) and isinstance(angular, Vector):
            self.array[:3], self.array[3:] = linear.array, angular.array
        elif linear is not None or angular is not None:
            raise TypeError(f"{kind.__name__} takes no argument, two Vectors or a {kind.__name__}")

    @classmethod
    def of(cls, linear: Array, angular: Array) -> Self:
        screw = cls()
        screw.array[:3], screw.array[3:] = linear, angular
        return screw

    @classmethod
    def Zero(cls) -> Self:
        return cls()

    def ReverseSign(self) -> None:
        self.array *= -1.0

    def _scaled(self, factor: Any) -> Self:
        return self.of(*np.split(self.array * float(factor), 2))

    def __getitem__(self, index: int) -> float:
        return float(self.array[checked_index(type(self).__name__, index, 6)])

    def __setitem__(self, index: int, value: Any) -> None:
        self.array[checked_index(type(self).__name__, index, 6)] = number(value)

    def __add__(self, other: Any) -> Self:
        return self.of(*np.split(self.array + other.array, 2)) if isinstance(other, type(self)) else NotImplemented

    def __sub__(self, other: Any) -> Self:
        return self.of(*np.split(self.array - other.array, 2)) if isinstance(other, type(self)) else NotImplemented

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        self.array += other.array
        return self

    def __isub__(self, other: Any) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        self.array -= other.array
        return self

    def __neg__(self) -> Self:
        return self._scaled(-1.0)

    def __mul__(self, factor: Any) -> Self:
        return self._scaled(factor) if is_scalar(factor) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Self:
        return self._scaled(1.0 / float(divisor)) if is_scalar(divisor) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and close(self.array, other.array, EPSILON)

    def __copy__(self) -> Self:
        return type(self)(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (Vector(self.linear), Vector(self.angular))

    def __repr__(self) -> str:
        return f"[{row(self.array)}]"


class Twist(Screw):
    """Velocity `vel` of a point and angular velocity `rot`."""

    __slots__ = ()

    def __init__(self, vel: Any = None, rot: Any = None) -> None:
        super().__init__(vel, rot)

    @property
    def vel(self) -> Vector:
        return self.linear

    @vel.setter
    def vel(self, value: Vector) -> None:
        self.linear.array[:] = value.array

    @property
    def rot(self) -> Vector:
        return self.angular

    @rot.setter
    def rot(self, value: Vector) -> None:
        self.angular.array[:] = value.array

    def RefPoint(self, base: Vector) -> Twist:
        """The twist of the point at `base` from the current one."""
        return Twist(self.vel + self.rot * base, self.rot)


class Wrench(Screw):
    """`force` and `torque` about a point."""

    __slots__ = ()

    def __init__(self, force: Any = None, torque: Any = None) -> None:
        super().__init__(force, torque)

    @property
    def force(self) -> Vector:
        return self.linear

    @force.setter
    def force(self, value: Vector) -> None:
        self.linear.array[:] = value.array

    @property
    def torque(self) -> Vector:
        return self.angular

    @torque.setter
    def torque(self, value: Vector) -> None:
        self.angular.array[:] = value.array

    def RefPoint(self, base: Vector) -> Wrench:
        """The wrench about the point at `base` from the current one."""
        return Wrench(self.force, self.torque + self.force * base)
