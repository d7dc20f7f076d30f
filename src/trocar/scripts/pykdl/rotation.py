"""Rotation matrices with the constructors and angles of PyKDL."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from trocar.scripts.pykdl.numbers import EPSILON, checked_pair, close, number, row
from trocar.scripts.pykdl.screws import Screw
from trocar.scripts.pykdl.vector import Vector
from trocar.spatial import Array

SINGULAR = 1e-12  # distance from gimbal lock at which one Euler angle becomes 0 [rad]


class Rotation:
    """Rotation(), nine numbers row by row, three column vectors, or a copy of a rotation."""

    __slots__ = ("array",)
    __hash__ = None  # type: ignore[assignment]  # mutable
    array: Array

    def __init__(self, *elements: Any) -> None:
        if not elements:
            self.array = np.eye(3)
        elif len(elements) == 1 and isinstance(elements[0], Rotation):
            self.array = elements[0].array.copy()
        elif len(elements) == 3 and all(isinstance(element, Vector) for element in elements):
            self.array = np.column_stack([element.array for element in elements])
        elif len(elements) == 9:
            self.array = np.array([number(element) for element in elements]).reshape(3, 3)
        else:
            raise TypeError("Rotation takes no argument, nine numbers, three Vectors or a Rotation")

    @classmethod
    def of(cls, array: Array) -> Self:
        """A rotation on an array (3, 3), not copied."""
        rotation = cls.__new__(cls)
        rotation.array = array
        return rotation

    # -- constructors --------------------------------------------------------------------------------------------------

    @staticmethod
    def Identity() -> Rotation:
        return Rotation()

    @staticmethod
    def RotX(angle: float) -> Rotation:
        c, s = math.cos(angle), math.sin(angle)
        return Rotation(1, 0, 0, 0, c, -s, 0, s, c)

    @staticmethod
    def RotY(angle: float) -> Rotation:
        c, s = math.cos(angle), math.sin(angle)
        return Rotation(c, 0, s, 0, 1, 0, -s, 0, c)

    @staticmethod
    def RotZ(angle: float) -> Rotation:
        c, s = math.cos(angle), math.sin(angle)
        return Rotation(c, -s, 0, s, c, 0, 0, 0, 1)

    @staticmethod
    def Rot(axis: Vector, angle: float) -> Rotation:
        """Rotation about an axis of any length; about x if the length is zero."""
        unit = Vector(axis)
        unit.Normalize()
        return Rotation.Rot2(unit, angle)

    @staticmethod
    def Rot2(axis: Vector, angle: float) -> Rotation:
        """Rotation about an axis that has length 1."""
        k, c, s = axis.array, math.cos(angle), math.sin(angle)
        cross = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
        return Rotation.of(c * np.eye(3) + s * cross + (1.0 - c) * np.outer(k, k))

    @staticmethod
    def Quaternion(x: float, y: float, z: float, w: float) -> Rotation:
        """Rotation of a unit quaternion; one of another length is not normalised, as in PyKDL."""
        v = np.array([number(x), number(y), number(z)])
        w = number(w)
        cross = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
        return Rotation.of((w * w - v @ v) * np.eye(3) + 2.0 * np.outer(v, v) + 2.0 * w * cross)

    @staticmethod
    def RPY(roll: float, pitch: float, yaw: float) -> Rotation:
        """Rotation by roll, pitch and yaw about the fixed axes x, y, z in this order."""
        return Rotation.EulerZYX(yaw, pitch, roll)

    @staticmethod
    def EulerZYX(alpha: float, beta: float, gamma: float) -> Rotation:
        return Rotation.RotZ(alpha) * Rotation.RotY(beta) * Rotation.RotX(gamma)

    @staticmethod
    def EulerZYZ(alpha: float, beta: float, gamma: float) -> Rotation:
        return Rotation.RotZ(alpha) * Rotation.RotY(beta) * Rotation.RotZ(gamma)

    # -- angles --------------------------------------------------------------------------------------------------------

    def GetQuaternion(self) -> tuple[float, float, float, float]:
        """(x, y, z, w)."""
        R = self.array
        trace = float(np.trace(R))
        if trace > SINGULAR:
            scale = 2.0 * math.sqrt(trace + 1.0)
            return (R[2, 1] - R[1, 2]) / scale, (R[0, 2] - R[2, 0]) / scale, (R[1, 0] - R[0, 1]) / scale, scale / 4.0
        i = self._largest_diagonal()
        j, k = (i + 1) % 3, (i + 2) % 3
        scale = 2.0 * math.sqrt(1.0 + R[i, i] - R[j, j] - R[k, k])
        v = [0.0, 0.0, 0.0]
        v[i], v[j], v[k] = scale / 4.0, (R[i, j] + R[j, i]) / scale, (R[i, k] + R[k, i]) / scale
        return v[0], v[1], v[2], (R[k, j] - R[j, k]) / scale

    def GetRPY(self) -> tuple[float, float, float]:
        """(roll, pitch, yaw) about the fixed axes x, y, z."""
        R = self.array
        pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
        if abs(pitch) > math.pi / 2 - SINGULAR:
            return 0.0, pitch, math.atan2(-R[0, 1], R[1, 1])
        return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])

    def GetEulerZYX(self) -> tuple[float, float, float]:
        roll, pitch, yaw = self.GetRPY()
        return yaw, pitch, roll

    def GetEulerZYZ(self) -> tuple[float, float, float]:
        R = self.array
        if R[2, 2] > 1.0 - SINGULAR:
            return math.atan2(R[1, 0], R[0, 0]), 0.0, 0.0
        if R[2, 2] < SINGULAR - 1.0:
            return math.atan2(-R[1, 0], -R[0, 0]), math.pi, 0.0
        beta = math.atan2(math.hypot(R[2, 0], R[2, 1]), R[2, 2])
        return math.atan2(R[1, 2], R[0, 2]), beta, math.atan2(R[2, 1], -R[2, 0])

    def GetRotAngle(self, eps: float = EPSILON) -> tuple[float, Vector]:
        """Angle in [0, pi] and axis: z for no rotation; for half a turn, the axis with its largest element positive."""
        R = self.array
        twice = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])  # 2 sin(angle) axis
        cosine = (np.trace(R) - 1.0) / 2.0
        if (abs(twice) >= eps).any():
            return math.atan2(float(np.linalg.norm(twice)) / 2.0, cosine), Vector.of(twice / np.linalg.norm(twice))
        if cosine > 0.0:
            return 0.0, Vector(0, 0, 1)
        # R = 2 a a' - 1: the largest element of the axis, taken as positive, gives the others without cancellation
        outer = (R + R.T) / 4.0 + np.eye(3) / 2.0
        largest = self._largest_diagonal()
        return math.pi, Vector.of(outer[largest] / math.sqrt(outer[largest, largest]))

    def _largest_diagonal(self) -> int:
        """Index of the largest diagonal element; the last of equal ones, as PyKDL compares them."""
        x, y, z = np.diag(self.array)
        if x > y and x > z:
            return 0
        return 1 if y > z else 2

    def GetRot(self) -> Vector:
        """Axis times angle."""
        angle, axis = self.GetRotAngle()
        return axis * angle

    # -- operations ----------------------------------------------------------------------------------------------------

    def UnitX(self, axis: Vector | None = None) -> Vector | None:
        """Return the first column, or set it."""
        return self._column(0, axis)

    def UnitY(self, axis: Vector | None = None) -> Vector | None:
        return self._column(1, axis)

    def UnitZ(self, axis: Vector | None = None) -> Vector | None:
        return self._column(2, axis)

    def _column(self, k: int, axis: Vector | None) -> Vector | None:
        if axis is None:
            return Vector.of(self.array[:, k].copy())
        self.array[:, k] = axis.array
        return None

    def DoRotX(self, angle: float) -> None:
        """Rotate about the body's x axis."""
        self.array[:] = self.array @ Rotation.RotX(angle).array

    def DoRotY(self, angle: float) -> None:
        self.array[:] = self.array @ Rotation.RotY(angle).array

    def DoRotZ(self, angle: float) -> None:
        self.array[:] = self.array @ Rotation.RotZ(angle).array

    def SetInverse(self) -> None:
        self.array[:] = self.array.T.copy()

    def Inverse(self, what: Any = None) -> Any:
        """The inverse rotation, or a Vector, Twist or Wrench rotated back."""
        inverse = Rotation.of(self.array.T.copy())
        return inverse if what is None else inverse * what

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Rotation):
            return Rotation.of(self.array @ other.array)
        if isinstance(other, Vector):
            return Vector.of(self.array @ other.array)
        if isinstance(other, Screw):
            return other.of(self.array @ other.linear.array, self.array @ other.angular.array)
        return NotImplemented

    def __getitem__(self, pair: tuple[int, int]) -> float:
        return float(self.array[checked_pair("Rotation", pair, 3, 3)])

    def __setitem__(self, pair: tuple[int, int], value: Any) -> None:
        self.array[checked_pair("Rotation", pair, 3, 3)] = number(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rotation) and close(self.array, other.array, EPSILON)

    def __copy__(self) -> Rotation:
        return Rotation(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Rotation:
        return Rotation(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Rotation, tuple(self.array.ravel().tolist())

    def __repr__(self) -> str:
        return f"[{(';' + chr(10) + ' ').join(row(line) for line in self.array)}]"
