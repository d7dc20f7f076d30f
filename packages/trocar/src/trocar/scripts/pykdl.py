"""A stand-in for PyKDL's vectors, rotations, frames, twists and wrenches, with numpy inside.

It has the names, results and printed form of PyKDL 1.5 (a test compares them); chains, trees and solvers are omitted.
As in PyKDL, `frame.p` and `frame.M` are live references when read and copies when assigned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial, partialmethod
from typing import Any, ClassVar, Self

import numpy as np

from trocar.spatial import Array, rotation, skew

__all__ = ["Equal", "Frame", "Rotation", "SetToZero", "Twist", "Vector", "Wrench", "addDelta", "diff", "dot"]

EPSILON = 1e-6  # PyKDL's tolerance of comparisons
SINGULAR = 1e-12  # distance from gimbal lock at which one Euler angle becomes 0 [rad]


class _Numbers:
    """Numbers in an array; mutable, compared with a tolerance."""

    __slots__ = ("array",)
    __hash__ = None  # type: ignore[assignment]  # mutable
    SHAPE: ClassVar[tuple[int, ...]]
    array: Array

    @classmethod
    def of(cls, array: Array) -> Self:
        """Numbers on an array, not copied."""
        numbers = cls.__new__(cls)
        numbers.array = array
        return numbers

    def _index(self, index: Any) -> tuple[int, ...]:
        """Indices of an element; PyKDL has no negative ones."""
        indices = index if isinstance(index, tuple) else (index,)
        kind = type(self).__name__
        if len(indices) != len(self.SHAPE) or not all(hasattr(i, "__index__") for i in indices):
            element = "an integer" if len(self.SHAPE) == 1 else "a row and a column"
            raise TypeError(f"the index of a {kind} is {element}, got {index!r}")
        if not all(0 <= i < size for i, size in zip(indices, self.SHAPE, strict=True)):
            raise IndexError(f"{kind} index out of range")
        return indices

    def __getitem__(self, index: Any) -> float:
        return float(self.array[self._index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[self._index(index)] = _number(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and Equal(self, other)

    def __reduce__(self) -> tuple[Any, ...]:  # also of copy.copy and copy.deepcopy
        return self.of, (self.array.copy(),)

    def __repr__(self) -> str:
        return f"[{_row(self.array)}]"


def _sum(operation: np.ufunc, in_place: bool = False) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        if not isinstance(b, type(a)):
            return NotImplemented
        total = operation(a.array, b.array, out=a.array if in_place else None)
        return a if in_place else a.of(total)

    return apply


def _scaled(operation: np.ufunc) -> Callable[[Any, Any], Any]:
    def apply(a: Any, factor: Any) -> Any:
        if not hasattr(factor, "__float__") or np.shape(factor):  # no Python or numpy number
            return NotImplemented
        with np.errstate(divide="ignore", invalid="ignore"):
            return a.of(operation(a.array, float(factor)))

    return apply


class _Linear(_Numbers):
    """Numbers that can be added and scaled."""

    __slots__ = ()

    @classmethod
    def Zero(cls) -> Self:
        return cls()

    def ReverseSign(self) -> None:
        self.array *= -1.0

    def __neg__(self) -> Self:
        return self.of(-self.array)

    __add__, __sub__ = _sum(np.add), _sum(np.subtract)
    __iadd__, __isub__ = _sum(np.add, in_place=True), _sum(np.subtract, in_place=True)
    __mul__ = __rmul__ = _scaled(np.multiply)
    __truediv__ = _scaled(np.divide)


class KDLVector(_Linear):
    """Vector(), Vector(x, y, z) or a copy Vector(vector). `a * b` of two vectors is the cross product."""

    __slots__ = ()
    SHAPE = (3,)

    def __init__(self, x: Any = None, y: Any = None, z: Any = None) -> None:
        if x is None and y is None and z is None:
            self.array = np.zeros(3)
        elif isinstance(x, KDLVector) and y is None and z is None:
            self.array = x.array.copy()
        elif x is None or y is None or z is None:
            raise TypeError("Vector takes no argument, three numbers or a Vector")
        else:
            self.array = np.array([_number(x), _number(y), _number(z)])

    def _element(self, k: int, value: Any = None) -> float | None:
        """Return an element, or set it: x, y and z."""
        if value is None:
            return self[k]
        self[k] = value
        return None

    def Norm(self, eps: float = EPSILON) -> float:
        """Length; 0 if every element is smaller than eps."""
        return 0.0 if (abs(self.array) < eps).all() else float(np.linalg.norm(self.array))

    def Normalize(self, eps: float = EPSILON) -> float:
        """Scale to length 1 and return the length before; a vector shorter than eps becomes (1, 0, 0)."""
        norm = self.Norm(eps)
        self.array[:] = (1.0, 0.0, 0.0) if norm < eps else self.array / norm
        return norm

    def __iter__(self) -> Iterator[float]:
        return iter(self.array.tolist())

    x, y, z = partialmethod(_element, 0), partialmethod(_element, 1), partialmethod(_element, 2)

    def __mul__(self, other: Any) -> Any:
        return self.of(np.cross(self.array, other.array)) if isinstance(other, KDLVector) else super().__mul__(other)


def _live(kind: Any, where: Any) -> Any:
    """A part of the array as a property: a live reference when read, copied when assigned."""

    def assign(whole: Any, value: Any) -> None:
        whole.array[where] = value.array

    return property(lambda whole: kind.of(whole.array[where]), assign)


_LINEAR, _ANGULAR = _live(KDLVector, np.s_[:3]), _live(KDLVector, np.s_[3:])


class _Screw(_Linear):
    """A pair of vectors in one frame: linear, then angular."""

    __slots__ = ()
    SHAPE = (6,)
    linear, angular = _LINEAR, _ANGULAR

    def __init__(self, linear: Any = None, angular: Any = None) -> None:
        if linear is None and angular is None:
            self.array = np.zeros(6)
        elif isinstance(linear, type(self)) and angular is None:
            self.array = linear.array.copy()
        elif isinstance(linear, KDLVector) and isinstance(angular, KDLVector):
            self.array = np.concatenate([linear.array, angular.array])
        else:
            raise TypeError(f"{type(self).__name__} takes no argument, two Vectors or a {type(self).__name__}")

    def moved(self, p: KDLVector) -> Self:
        """The same screw at the point -p from the current one."""
        raise NotImplementedError

    def RefPoint(self, base: KDLVector) -> Self:
        """The same screw at the point `base` from the current one."""
        return self.moved(-base)


class KDLTwist(_Screw):
    """Velocity `vel` of a point and angular velocity `rot`."""

    __slots__ = ()
    vel, rot = _LINEAR, _ANGULAR

    def __init__(self, vel: Any = None, rot: Any = None) -> None:
        super().__init__(vel, rot)

    def moved(self, p: KDLVector) -> Self:
        return type(self)(self.vel + p * self.rot, self.rot)


class KDLWrench(_Screw):
    """`force` and `torque` about a point."""

    __slots__ = ()
    force, torque = _LINEAR, _ANGULAR

    def __init__(self, force: Any = None, torque: Any = None) -> None:
        super().__init__(force, torque)

    def moved(self, p: KDLVector) -> Self:
        return type(self)(self.force, self.torque + p * self.force)


def _turn(k: int, angle: float) -> KDLRotation:
    return KDLRotation.of(rotation("xyz"[k], _number(angle)))


class KDLRotation(_Numbers):
    """Rotation(), nine numbers row by row, three column vectors, or a copy of a rotation."""

    __slots__ = ()
    SHAPE = (3, 3)

    def __init__(self, *elements: Any) -> None:
        if not elements:
            self.array = np.eye(3)
        elif len(elements) == 1 and isinstance(elements[0], KDLRotation):
            self.array = elements[0].array.copy()
        elif len(elements) == 3 and all(isinstance(element, KDLVector) for element in elements):
            self.array = np.column_stack([element.array for element in elements])
        elif len(elements) == 9:
            self.array = np.array([_number(element) for element in elements]).reshape(3, 3)
        else:
            raise TypeError("Rotation takes no argument, nine numbers, three Vectors or a Rotation")

    # -- constructors --------------------------------------------------------------------------------------------------

    RotX, RotY, RotZ = (staticmethod(partial(_turn, k)) for k in range(3))

    @staticmethod
    def Identity() -> KDLRotation:
        return KDLRotation()

    @staticmethod
    def Rot(axis: KDLVector, angle: float) -> KDLRotation:
        """Rotation about an axis of any length; about x if the length is zero."""
        unit = KDLVector(axis)
        unit.Normalize()
        return KDLRotation.Rot2(unit, angle)

    @staticmethod
    def Rot2(axis: KDLVector, angle: float) -> KDLRotation:
        """Rotation about an axis that has length 1."""
        k, c, s = axis.array, math.cos(angle), math.sin(angle)
        return KDLRotation.of(c * np.eye(3) + s * skew(k) + (1.0 - c) * np.outer(k, k))

    @staticmethod
    def Quaternion(x: float, y: float, z: float, w: float) -> KDLRotation:
        """Rotation of a unit quaternion; one of another length is not normalised, as in PyKDL."""
        v, w = np.array([_number(x), _number(y), _number(z)]), _number(w)
        return KDLRotation.of((w * w - v @ v) * np.eye(3) + 2.0 * np.outer(v, v) + 2.0 * w * skew(v))

    @staticmethod
    def RPY(roll: float, pitch: float, yaw: float) -> Any:
        """Rotation by roll, pitch and yaw about the fixed axes x, y, z in this order."""
        return KDLRotation.EulerZYX(yaw, pitch, roll)

    @staticmethod
    def EulerZYX(alpha: float, beta: float, gamma: float) -> Any:
        return _turn(2, alpha) * _turn(1, beta) * _turn(0, gamma)

    @staticmethod
    def EulerZYZ(alpha: float, beta: float, gamma: float) -> Any:
        return _turn(2, alpha) * _turn(1, beta) * _turn(2, gamma)

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

    def GetRotAngle(self, eps: float = EPSILON) -> tuple[float, KDLVector]:
        """Angle in [0, pi] and axis: z for no rotation; for half a turn, the axis with its largest element positive."""
        R = self.array
        twice = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])  # 2 sin(angle) axis
        cosine = (np.trace(R) - 1.0) / 2.0
        if (abs(twice) >= eps).any():
            length = np.linalg.norm(twice)
            return math.atan2(float(length) / 2.0, cosine), KDLVector.of(twice / length)
        if cosine > 0.0:
            return 0.0, KDLVector(0, 0, 1)
        # R = 2 a a' - 1: the largest element of the axis, taken as positive, gives the others without cancellation
        outer = (R + R.T) / 4.0 + np.eye(3) / 2.0
        largest = self._largest_diagonal()
        return math.pi, KDLVector.of(outer[largest] / math.sqrt(outer[largest, largest]))

    def _largest_diagonal(self) -> int:
        """Index of the largest diagonal element; the last of equal ones, as PyKDL compares them."""
        x, y, z = np.diag(self.array)
        if x > y and x > z:
            return 0
        return 1 if y > z else 2

    def GetRot(self) -> KDLVector:
        """Axis times angle."""
        angle, axis = self.GetRotAngle()
        return axis * angle

    # -- operations ----------------------------------------------------------------------------------------------------

    def _column(self, k: int, axis: KDLVector | None = None) -> KDLVector | None:
        """Return a column, or set it: UnitX, UnitY and UnitZ."""
        if axis is None:
            return KDLVector.of(self.array[:, k].copy())
        self.array[:, k] = axis.array
        return None

    def _rotate(self, k: int, angle: float) -> None:
        """Rotate about an axis of the body: DoRotX, DoRotY and DoRotZ."""
        self.array[:] = self.array @ _turn(k, angle).array

    UnitX, UnitY, UnitZ = partialmethod(_column, 0), partialmethod(_column, 1), partialmethod(_column, 2)
    DoRotX, DoRotY, DoRotZ = partialmethod(_rotate, 0), partialmethod(_rotate, 1), partialmethod(_rotate, 2)

    def SetInverse(self) -> None:
        self.array[:] = self.array.T.copy()

    def Inverse(self, what: Any = None) -> Any:
        """The inverse rotation, or a Vector, Twist or Wrench rotated back."""
        inverse = KDLRotation.of(self.array.T.copy())
        return inverse if what is None else inverse * what

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, KDLRotation | KDLVector):
            return other.of(self.array @ other.array)
        return type(other)(self * other.linear, self * other.angular) if isinstance(other, _Screw) else NotImplemented

    def __repr__(self) -> str:
        return f"[{(';' + chr(10) + ' ').join(_row(line) for line in self.array)}]"


class KDLFrame(_Numbers):
    """Frame(), Frame(rotation, vector), Frame(rotation), Frame(vector) or a copy of a frame.

    `M` and `p` are the rotation and the position; changing the returned objects changes the frame.
    """

    __slots__ = ()
    SHAPE = (3, 4)
    M, p = _live(KDLRotation, np.s_[:, :3]), _live(KDLVector, np.s_[:, 3])

    def __init__(self, R: Any = None, V: Any = None) -> None:
        if isinstance(R, KDLFrame) and V is None:
            R, V = R.M, R.p
        elif isinstance(R, KDLVector) and V is None:
            R, V = None, R
        if not (isinstance(R, KDLRotation | None) and isinstance(V, KDLVector | None)):
            raise TypeError("Frame takes a Rotation and a Vector, one of them, a Frame or nothing")
        self.array = np.eye(3, 4)
        if R is not None:
            self.array[:, :3] = R.array
        if V is not None:
            self.array[:, 3] = V.array

    @staticmethod
    def from_matrix(T: Array) -> KDLFrame:
        return KDLFrame.of(np.array(T[:3], dtype=float))

    def to_matrix(self) -> Array:
        return np.vstack([self.array, (0.0, 0.0, 0.0, 1.0)])

    @staticmethod
    def Identity() -> KDLFrame:
        return KDLFrame()

    @staticmethod
    def DH(a: float, alpha: float, d: float, theta: float) -> KDLFrame:
        """A link by its standard Denavit-Hartenberg parameters [m, rad]."""
        turned = _turn(2, theta)
        return KDLFrame(turned * _turn(0, alpha), turned * KDLVector(a, 0, 0) + KDLVector(0, 0, d))

    @staticmethod
    def DH_Craig1989(a: float, alpha: float, d: float, theta: float) -> KDLFrame:
        """A link by its modified Denavit-Hartenberg parameters [m, rad]."""
        turned = _turn(0, alpha)
        return KDLFrame(turned * _turn(2, theta), KDLVector(a, 0, 0) + turned * KDLVector(0, 0, d))

    def Integrate(self, twist: KDLTwist, frequency: float) -> None:
        """Move by a twist in body axes over one period of `frequency` [Hz]."""
        step = KDLFrame(KDLRotation.Rot(twist.rot, twist.rot.Norm() / frequency), twist.vel / frequency)
        self.array[:] = (self * step).array

    def Inverse(self, what: Any = None) -> Any:
        """The inverse frame, or a Vector, Twist or Wrench expressed in this frame."""
        M, p = self.M, self.p
        if what is None:
            return KDLFrame(M.Inverse(), -M.Inverse(p))
        if isinstance(what, KDLVector):
            return M.Inverse(what - p)
        if isinstance(what, _Screw):
            return M.Inverse(what.moved(-p))
        raise TypeError(f"Inverse takes a Vector, a Twist or a Wrench, got {what!r}")

    def __mul__(self, other: Any) -> Any:
        M, p = self.M, self.p
        if isinstance(other, KDLFrame):
            return KDLFrame(M * other.M, M * other.p + p)
        if isinstance(other, KDLVector):
            return M * other + p
        return (M * other).moved(p) if isinstance(other, _Screw) else NotImplemented

    def __repr__(self) -> str:
        return f"[{self.M!r}\n{self.p!r}]"


# -- functions ---------------------------------------------------------------------------------------------------------


def dot(a: Any, b: Any) -> float:
    """Scalar product of two vectors, or power of a twist and a wrench."""
    if {type(a), type(b)} in ({KDLVector}, {KDLTwist, KDLWrench}):
        return float(a.array @ b.array)
    raise TypeError(f"dot takes two Vectors, or a Twist and a Wrench, got {a!r} and {b!r}")


def diff(a: Any, b: Any, dt: float = 1) -> Any:
    """The constant velocity that leads from a to b in the time dt, in the axes in which a and b are given."""
    if isinstance(a, KDLRotation) and isinstance(b, KDLRotation):
        return a * (a.Inverse() * b).GetRot() / dt
    if isinstance(a, KDLFrame) and isinstance(b, KDLFrame):
        return KDLTwist(diff(a.p, b.p, dt), diff(a.M, b.M, dt))
    if isinstance(a, _Linear) and type(a) is type(b):
        return (b - a) / dt
    raise TypeError(f"diff takes two values of the same type, got {a!r} and {b!r}")


def addDelta(a: Any, da: Any, dt: float = 1) -> Any:
    """Value of a after the time dt at the constant velocity da: the inverse of `diff`."""
    if isinstance(a, KDLRotation) and isinstance(da, KDLVector):
        return a * KDLRotation.Rot(a.Inverse(da), da.Norm() * dt)
    if isinstance(a, KDLFrame) and isinstance(da, KDLTwist):
        return KDLFrame(addDelta(a.M, da.rot, dt), addDelta(a.p, da.vel, dt))
    if isinstance(a, _Linear) and type(a) is type(da):
        return a + da * dt
    raise TypeError(f"addDelta takes a value and its velocity, got {a!r} and {da!r}")


def Equal(a: Any, b: Any, eps: float = EPSILON) -> bool:
    """True if all elements differ by less than eps."""
    if isinstance(a, _Numbers) and type(a) is type(b):
        return bool((abs(a.array - b.array) < eps).all())
    raise TypeError(f"Equal takes two values of the same type, got {a!r} and {b!r}")


def SetToZero(what: Any) -> None:
    """Set a Vector, Twist or Wrench to zero."""
    if not isinstance(what, _Linear):
        raise TypeError(f"SetToZero takes a Vector, a Twist or a Wrench, got {what!r}")
    what.array[:] = 0.0


def _number(value: Any) -> float:
    """A scalar argument; text is refused."""
    if isinstance(value, str | bytes):
        raise TypeError(f"a number is required, got {value!r}")
    return float(value)


def _row(values: Array) -> str:
    """Numbers as PyKDL prints them."""
    return ",".join(f"{x:12.6g}" for x in values)


Vector = KDLVector
Rotation = KDLRotation
Frame = KDLFrame
Twist = KDLTwist
Wrench = KDLWrench
for _kind in (Vector, Rotation, Frame, Twist, Wrench):
    _kind.__name__ = _kind.__qualname__ = _kind.__name__.removeprefix("KDL")


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(
        f"PyKDL.{name} is not offered by trocar run, which stands in for {', '.join(__all__)}; "
        "for kinematics use arm.forward_kinematics, arm.inverse_kinematics or trocar.load_mechanism"
    )
