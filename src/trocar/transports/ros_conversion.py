"""Conversion between bus messages and ROS messages, by the types of the fields in the table of `ros_messages`.

ROS messages come in families of classes: the stand-ins of `ros_messages` here, and those of rosbags in `codec`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple, Protocol

import numpy as np

from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.spatial import Array, pose, quaternion, unit
from trocar.transports.ros_messages import message_class
from trocar.transports.ros_time import Time


class Family(Protocol):
    """Classes of ROS messages."""

    def make(self, ros_type: str, **values: Any) -> Any:
        """A message with some fields set; the others have their defaults."""

    def time(self, nanoseconds: int) -> Any: ...

    def numbers(self, kind: str, values: Any) -> Any:
        """An array of numbers of a type, such as float64."""


class StandIns:
    """The classes of `ros_messages`."""

    def make(self, ros_type: str, **values: Any) -> Any:
        return message_class(ros_type)(**values)

    def time(self, nanoseconds: int) -> Any:
        return Time.of(nanoseconds)

    def numbers(self, kind: str, values: Any) -> Any:
        return values if isinstance(values, bytes) else np.asarray(values).tolist()


STAND_INS = StandIns()


def to_ros(message: Any, ros_type: str, family: Family = STAND_INS) -> Any:
    """Convert a bus message to a ROS message; fields that the bus message lacks have their defaults."""
    if ros_type in _WHOLE:
        return _WHOLE[ros_type].to_ros(message, family)
    values = {}
    for name, attribute, convert in _plan(ros_type):
        if attribute == "header":
            values[name] = _header(message, family)
        elif (value := getattr(message, attribute, None)) is not None:
            values[name] = convert.to_ros(value, family)
    return family.make(ros_type, **values)


def from_ros(message: Any, ros_type: str, kind: Callable[..., Any]) -> Any:
    """Convert a ROS message of any family to a bus message of a matching type."""
    try:
        if ros_type in _WHOLE:
            return _WHOLE[ros_type].from_ros(message, kind)
        values: dict[str, Any] = {}
        names = _attributes(kind)
        for name, attribute, convert in _plan(ros_type):
            part = getattr(message, name)
            if attribute == "header":
                values |= {"stamp": nanoseconds(part.stamp), "frame_id": part.frame_id}
            elif convert is _VALID:
                values[attribute] = values[attribute] if part.data else None
            elif attribute in names:
                values[attribute] = convert.from_ros(part)
        return kind(**values)
    except (TypeError, ValueError, AttributeError) as error:
        raise TrocarError(f"the message is not a valid {ros_type}: {error}") from error


def nanoseconds(time: Any) -> int:
    """A time of any family of classes in nanoseconds."""
    return int(time.to_nsec() if isinstance(time, Time) else time.sec * 10**9 + time.nanosec)


def _header(message: Any, family: Family) -> Any:
    return family.make("std_msgs/Header", stamp=family.time(message.stamp), frame_id=message.frame_id)


@functools.cache
def _attributes(kind: Callable[..., Any]) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))  # type: ignore[arg-type]


# -- values by their type ----------------------------------------------------------------------------------------------


class _Convert(NamedTuple):
    """Conversion of one value in both directions."""

    to_ros: Callable[[Any, Family], Any]
    from_ros: Callable[[Any], Any]


def xyz(part: Any) -> Array:
    return np.array([part.x, part.y, part.z], dtype=float)


def set_xyz(part: Any, values: Array) -> None:
    part.x, part.y, part.z = (float(x) for x in values)


def six(first: Any, second: Any) -> Array:
    """Six-vector (6,) of two vectors, linear first."""
    return np.concatenate([xyz(first), xyz(second)])


def set_six(first: Any, second: Any, vector: Array) -> None:
    set_xyz(first, vector[:3])
    set_xyz(second, vector[3:])


def orientation(part: Any) -> Array:
    """Rotation (3, 3) of a quaternion; the identity for a zero quaternion, the default in a message."""
    q = np.array([part.w, part.x, part.y, part.z], dtype=float)
    if not np.isfinite(q).all():
        raise ValueError("the quaternion is not finite")
    if not q.any():
        return np.eye(3)
    w, *v = unit(q / np.abs(q).max())  # scaled, because squares of very large or small numbers overflow or underflow
    vector = np.array(v)
    cross = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return (w * w - vector @ vector) * np.eye(3) + 2.0 * np.outer(vector, vector) + 2.0 * w * cross


def _vector(values: Any, family: Family, ros_type: str = "geometry_msgs/Vector3") -> Any:
    x, y, z = (float(value) for value in values)
    return family.make(ros_type, x=x, y=y, z=z)


def _quaternion(R: Array, family: Family) -> Any:
    w, x, y, z = (float(value) for value in quaternion(R))
    return family.make("geometry_msgs/Quaternion", x=x, y=y, z=z, w=w)


def _pose(ros_type: str, place: str, turn: str, point: str) -> _Convert:
    """Pose (4, 4) as a position and a quaternion."""

    def to(T: Array, family: Family) -> Any:
        parts = {place: _vector(T[:3, 3], family, point), turn: _quaternion(T[:3, :3], family)}
        return family.make(ros_type, **parts)

    return _Convert(to, lambda part: pose(orientation(getattr(part, turn)), xyz(getattr(part, place))))


def _six(ros_type: str, first: str, second: str) -> _Convert:
    """Six-vector (6,) as two vectors."""

    def to(vector: Array, family: Family) -> Any:
        return family.make(ros_type, **{first: _vector(vector[:3], family), second: _vector(vector[3:], family)})

    return _Convert(to, lambda part: six(getattr(part, first), getattr(part, second)))


def _nested(ros_type: str, kind: type) -> _Convert:
    return _Convert(lambda value, family: to_ros(value, ros_type, family), lambda part: from_ros(part, ros_type, kind))


def _sequence(kind: str, element: Callable[[Any], Any] | None) -> _Convert:
    """Numbers of the bus: an array of floats (k,) without `element`, otherwise a tuple of them."""
    if element is None:
        return _Convert(
            lambda values, family: family.numbers(kind, values), lambda part: np.array(part, dtype=float).reshape(-1)
        )
    return _Convert(lambda values, family: family.numbers(kind, values), lambda part: tuple(map(element, part)))


# A flag of a message that may lack a value: it is set if the attribute is not None.
_VALID = _Convert(lambda value, family: family.make("std_msgs/Bool", data=True), bool)
# Conversions by the type of the field in ROS.
CONVERT = {
    "geometry_msgs/Point": _Convert(lambda value, family: _vector(value, family, "geometry_msgs/Point"), xyz),
    "geometry_msgs/Vector3": _Convert(_vector, xyz),
    "geometry_msgs/Quaternion": _Convert(_quaternion, orientation),
    "geometry_msgs/Pose": _pose("geometry_msgs/Pose", "position", "orientation", "geometry_msgs/Point"),
    "geometry_msgs/Transform": _pose("geometry_msgs/Transform", "translation", "rotation", "geometry_msgs/Vector3"),
    "geometry_msgs/Twist": _six("geometry_msgs/Twist", "linear", "angular"),
    "geometry_msgs/Wrench": _six("geometry_msgs/Wrench", "force", "torque"),
    "crtk_msgs/CartesianImpedanceHalfPlaneGains": _nested(
        "crtk_msgs/CartesianImpedanceHalfPlaneGains", m.HalfPlaneGains
    ),
    "crtk_msgs/OperatingState": _nested("crtk_msgs/OperatingState", m.OperatingState),
    "std_msgs/Bool": _VALID,
    "string[]": _Convert(lambda values, family: list(values), tuple),
    "float64[]": _sequence("float64", None),
    "float64": _Convert(lambda value, family: float(value), float),
    "string": _Convert(lambda value, family: value, str),
    "bool": _Convert(lambda value, family: value, bool),
    "time": _Convert(lambda value, family: family.time(value), nanoseconds),
}


@functools.cache
def _plan(ros_type: str) -> tuple[tuple[str, str, _Convert], ...]:
    """Fields of a type with the attributes of the bus and their conversions."""
    return tuple((field.name, field.attribute, _conversion(field.kind)) for field in message_class(ros_type)._table)


def _conversion(kind: str) -> _Convert:
    if kind in CONVERT:
        return CONVERT[kind]
    if kind.endswith("]"):
        element = kind.partition("[")[0]
        return _sequence(element, float if element.startswith("float") else int)
    return _Convert(lambda value, family: value, int)


# -- messages that are converted as a whole ----------------------------------------------------------------------------


class _Message(NamedTuple):
    """Conversion of a whole message in both directions; `from_ros` also takes the class of the bus message."""

    to_ros: Callable[[Any, Family], Any]
    from_ros: Callable[[Any, Any], Any]


def _array(message: Any, family: Family) -> Any:
    """Numbers; the layout of a matrix gives its rows and columns, row by row."""
    values = {"data": family.numbers("float64", message.values.ravel())}
    if isinstance(message, m.Matrix):
        rows, columns = message.values.shape
        sizes = (("rows", rows, rows * columns), ("cols", columns, columns))
        dimensions = [
            family.make("std_msgs/MultiArrayDimension", label=label, size=size, stride=stride)
            for label, size, stride in sizes
        ]
        values["layout"] = family.make("std_msgs/MultiArrayLayout", dim=dimensions)
    return family.make("std_msgs/Float64MultiArray", **values)


def _from_array(message: Any, kind: Any) -> Any:
    values: Array = np.array(message.data, dtype=float).reshape(-1)
    if issubclass(kind, m.Matrix):
        rows, columns = (dimension.size for dimension in message.layout.dim)
        values = values.reshape(rows, columns)
    return kind(values=values)


def _transforms(message: Any, family: Family) -> Any:
    transforms = []
    for parent, child, T in message.frames:
        transform = family.make(
            "geometry_msgs/TransformStamped",
            header=_header(m.Empty(stamp=message.stamp, frame_id=parent), family),
            child_frame_id=child,
            transform=CONVERT["geometry_msgs/Transform"].to_ros(T, family),
        )
        transforms.append(transform)
    return family.make("tf2_msgs/TFMessage", transforms=transforms)


def _from_transforms(message: Any, kind: Any) -> Any:
    to_pose, parts = CONVERT["geometry_msgs/Transform"].from_ros, message.transforms
    return kind(frames=tuple((part.header.frame_id, part.child_frame_id, to_pose(part.transform)) for part in parts))


_WHOLE = {
    "std_msgs/Float64MultiArray": _Message(_array, _from_array),
    "tf2_msgs/TFMessage": _Message(_transforms, _from_transforms),
    "geometry_msgs/Quaternion": _Message(
        lambda message, family: _quaternion(message.R, family), lambda message, kind: kind(R=orientation(message))
    ),
}
