"""Three numbers: a position, an axis, a force."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from trocar.scripts.pykdl.numbers import EPSILON, checked_index, close, is_scalar, number, row
from trocar.spatial import Array


class Vector:
    """Vector(), Vector(x, y, z) or a copy Vector(vector). `a * b` of two vectors is the cross product."""

    __slots__ = ("array",)
    __hash__ = None  # type: ignore[assignment]  # mutable
    array: Array

    def __init__(self, x: Any = None, y: Any = None, z: Any = None) -> None:
        if x is None and y is None and z is None:
            self.array = np.zeros(3)
        elif isinstance(x, Vector) and y is None and z is None:
            self.array = x.array.copy()
        elif x is None or y is None or z is None:
            raise TypeError("Vector takes no argument, three numbers or a Vector")
        else:
            self.array = np.array([number(x), number(y), number(z)])

    @classmethod
    def of(cls, array: Array) -> Self:
        """A vector on an array (3,), not copied."""
        vector = cls.__new__(cls)
        vector.array = array
        return vector

    @staticmethod
    def Zero() -> Vector:
        return Vector()

    def x(self, value: Any = None) -> float | None:
        """Return the first element, or set it."""
        return self._element(0, value)

    def y(self, value: Any = None) -> float | None:
        return self._element(1, value)

    def z(self, value: Any = None) -> float | None:
        return self._element(2, value)

    def _element(self, k: int, value: Any) -> float | None:
        if value is None:
            return float(self.array[k])
        self.array[k] = number(value)
        return None

    def Norm(self, eps: float = EPSILON) -> float:
        """Length; 0 if every element is smaller than eps."""
        return float(np.linalg.norm(self.array)) if abs(self.array).max() >= eps or self._has_nan() else 0.0

    def Normalize(self, eps: float = EPSILON) -> float:
        """Scale to length 1 and return the length before; a vector shorter than eps becomes (1, 0, 0)."""
        norm = self.Norm(eps)
        self.array[:] = (1.0, 0.0, 0.0) if norm < eps else self.array / norm
        return norm

    def ReverseSign(self) -> None:
        self.array *= -1.0

    def _has_nan(self) -> bool:
        return bool(np.isnan(self.array).any())

    def __getitem__(self, index: int) -> float:
        return float(self.array[checked_index("Vector", index, 3)])

    def __setitem__(self, index: int, value: Any) -> None:
        self.array[checked_index("Vector", index, 3)] = number(value)

    def __iter__(self) -> Iterator[float]:
        return iter(self.array.tolist())

    def __add__(self, other: Any) -> Vector:
        return Vector.of(self.array + other.array) if isinstance(other, Vector) else NotImplemented

    def __sub__(self, other: Any) -> Vector:
        return Vector.of(self.array - other.array) if isinstance(other, Vector) else NotImplemented

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Vector):
            return NotImplemented
        self.array += other.array
        return self

    def __isub__(self, other: Any) -> Self:
        if not isinstance(other, Vector):
            return NotImplemented
        self.array -= other.array
        return self

    def __neg__(self) -> Vector:
        return Vector.of(-self.array)

    def __mul__(self, other: Any) -> Vector:
        if isinstance(other, Vector):
            return Vector.of(np.cross(self.array, other.array))
        return Vector.of(self.array * float(other)) if is_scalar(other) else NotImplemented

    def __rmul__(self, factor: Any) -> Vector:
        return Vector.of(float(factor) * self.array) if is_scalar(factor) else NotImplemented

    def __truediv__(self, divisor: Any) -> Vector:
        if not is_scalar(divisor):
            return NotImplemented
        with np.errstate(divide="ignore", invalid="ignore"):
            return Vector.of(self.array / float(divisor))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and close(self.array, other.array, EPSILON)

    def __copy__(self) -> Vector:
        return Vector(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Vector:
        return Vector(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Vector, tuple(self.array.tolist())

    def __repr__(self) -> str:
        return f"[{row(self.array)}]"
