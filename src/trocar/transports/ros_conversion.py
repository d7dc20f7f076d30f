"""Conversion of messages and services between bus and ROS, by the types of the fields in the table of `ros_messages`.

ROS messages come in families of classes: the stand-ins of `ros_messages` here, and those of rosbags in `codec`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.spatial import Array, pose, quaternion, unit
from trocar.transports.ros_messages import MESSAGES, message_class
from trocar.transports.ros_time import Time


class Family:
    """Classes of ROS messages: the stand-ins, or those of a subclass."""

    def make(self, ros_type: str, **values: Any) -> Any:
        """A message with some fields set; the others have their defaults."""
        return message_class(ros_type)(**values)

    def time(self, nanoseconds: int) -> Any:
        return Time.of(nanoseconds)

    def numbers(self, kind: str, values: Any) -> Any:
        """An array of numbers of a type, such as float64."""
        return values if isinstance(values, bytes) else np.asarray(values).tolist()

    def message(self, ros_type: str, values: Mapping[str, Any]) -> Any:
        """A message of plain values: parts as dictionaries, times in nanoseconds."""
        parts = {name: self._part(kind, values[name]) for name, kind in _compound(ros_type) if name in values}
        return self.make(ros_type, **{**values, **parts})

    def _part(self, kind: str, value: Any) -> Any:
        if kind in MESSAGES:
            return self.message(kind, value)
        element = kind.partition("[")[0]
        if element in MESSAGES:
            return [self.message(element, each) for each in value]
        return self.time(value) if kind == "time" else self.numbers(element, value)


@functools.cache
def _compound(ros_type: str) -> tuple[tuple[str, str], ...]:
    """Fields of a type that are messages, arrays or times, not plain values."""
    kinds = message_class(ros_type)._fields.items()
    return tuple((name, kind) for name, kind in kinds if re.search(r"/|(?<!string)\[|time", kind))


STAND_INS = Family()


def to_ros(message: Any, ros_type: str, family: Family = STAND_INS) -> Any:
    """Convert a bus message to a ROS message; fields that the bus message lacks have their defaults."""
    return family.message(ros_type, _plain(message, ros_type))


def _plain(message: Any, ros_type: str) -> Any:
    if ros_type in _WHOLE:
        return _WHOLE[ros_type].plain(message)
    values: dict[str, Any] = {}
    for name, attribute, convert in _plan(ros_type):
        if attribute == "header":
            values[name] = {"stamp": message.stamp, "frame_id": message.frame_id}
        elif (value := getattr(message, attribute, None)) is not None:
            values[name] = convert.plain(value)
    return values


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


@functools.cache
def _attributes(kind: Callable[..., Any]) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))  # type: ignore[arg-type]


# -- values by their type ----------------------------------------------------------------------------------------------


class Convert(NamedTuple):
    """Conversion of a value of the bus to plain values (see `Family.message`), and of one of ROS to the bus."""

    plain: Callable[[Any], Any]
    from_ros: Callable[..., Any]


def _xyz(part: Any) -> Array:
    return np.array([part.x, part.y, part.z], dtype=float)


def _orientation(part: Any) -> Array:
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


def _vector(values: Any) -> dict[str, float]:
    return dict(zip("xyz", map(float, values), strict=True))


def _quaternion(R: Array) -> dict[str, float]:
    return dict(zip("wxyz", map(float, quaternion(R)), strict=True))


def _pose(place: str, turn: str) -> Convert:
    """Pose (4, 4) as a position and a quaternion."""
    return Convert(
        lambda T: {place: _vector(T[:3, 3]), turn: _quaternion(T[:3, :3])},
        lambda part: pose(_orientation(getattr(part, turn)), _xyz(getattr(part, place))),
    )


def _six(first: str, second: str) -> Convert:
    """Six-vector (6,), linear first, as two vectors."""
    return Convert(
        lambda vector: {first: _vector(vector[:3]), second: _vector(vector[3:])},
        lambda part: np.concatenate([_xyz(getattr(part, first)), _xyz(getattr(part, second))]),
    )


def _nested(ros_type: str, kind: type) -> Convert:
    return Convert(lambda value: _plain(value, ros_type), lambda part: from_ros(part, ros_type, kind))


def _as_it_is(value: Any) -> Any:
    return value


# A flag of a message that may lack a value: it is set if the attribute is not None.
_VALID = Convert(lambda value: {"data": True}, bool)
_GAINS, _STATE = "crtk_msgs/CartesianImpedanceHalfPlaneGains", "crtk_msgs/OperatingState"
# Conversions by the type of the field in ROS.
CONVERT = {
    "geometry_msgs/Point": Convert(_vector, _xyz),
    "geometry_msgs/Vector3": Convert(_vector, _xyz),
    "geometry_msgs/Quaternion": Convert(_quaternion, _orientation),
    "geometry_msgs/Pose": _pose("position", "orientation"),
    "geometry_msgs/Transform": _pose("translation", "rotation"),
    "geometry_msgs/Twist": _six("linear", "angular"),
    "geometry_msgs/Wrench": _six("force", "torque"),
    _GAINS: _nested(_GAINS, m.HalfPlaneGains),
    _STATE: _nested(_STATE, m.OperatingState),
    "std_msgs/Bool": _VALID,
    "string[]": Convert(list, tuple),
    "float64[]": Convert(_as_it_is, lambda part: np.array(part, dtype=float).reshape(-1)),
    "float64": Convert(float, float),
    "string": Convert(_as_it_is, str),
    "bool": Convert(_as_it_is, bool),
    "time": Convert(_as_it_is, nanoseconds),
}


@functools.cache
def _plan(ros_type: str) -> tuple[tuple[str, str, Convert], ...]:
    """Fields of a type with the attributes of the bus and their conversions."""
    return tuple((field.name, field.attribute, _conversion(field.kind)) for field in message_class(ros_type)._table)


def _conversion(kind: str) -> Convert:
    if kind in CONVERT:
        return CONVERT[kind]
    number = float if kind.startswith("float") else int
    return Convert(_as_it_is, (lambda part: tuple(map(number, part))) if kind.endswith("]") else number)


# -- messages that are converted as a whole ----------------------------------------------------------------------------


def _array(message: Any) -> dict[str, Any]:
    """Numbers; the layout of a matrix gives its rows and columns, row by row."""
    if not isinstance(message, m.Matrix):
        return {"data": message.values.ravel()}
    rows, columns = message.values.shape
    sizes = (("rows", rows, rows * columns), ("cols", columns, columns))
    layout = [{"label": label, "size": size, "stride": stride} for label, size, stride in sizes]
    return {"data": message.values.ravel(), "layout": {"dim": layout}}


def _from_array(message: Any, kind: Any) -> Any:
    values: Array = np.array(message.data, dtype=float).reshape(-1)
    if issubclass(kind, m.Matrix):
        rows, columns = (dimension.size for dimension in message.layout.dim)
        values = values.reshape(rows, columns)
    return kind(values=values)


def _transforms(message: Any) -> dict[str, Any]:
    plain = CONVERT["geometry_msgs/Transform"].plain
    return {
        "transforms": [
            {"header": {"stamp": message.stamp, "frame_id": parent}, "child_frame_id": child, "transform": plain(T)}
            for parent, child, T in message.frames
        ]
    }


def _from_transforms(message: Any, kind: Any) -> Any:
    to_pose, parts = CONVERT["geometry_msgs/Transform"].from_ros, message.transforms
    return kind(frames=tuple((part.header.frame_id, part.child_frame_id, to_pose(part.transform)) for part in parts))


# `from_ros` also takes the class of the bus message.
_WHOLE = {
    "std_msgs/Float64MultiArray": Convert(_array, _from_array),
    "tf2_msgs/TFMessage": Convert(_transforms, _from_transforms),
    "geometry_msgs/Quaternion": Convert(lambda m: _quaternion(m.R), lambda m, kind: kind(R=_orientation(m))),
}


# -- services ----------------------------------------------------------------------------------------------------------

# Fields of a request that are the arguments of the bus service, in its order.
ARGUMENTS = {
    "crtk_msgs/QueryForwardKinematics": ("jp",),
    "crtk_msgs/QueryInverseKinematics": ("jp", "cp"),
    "cisst_msgs/ConvertFloat64Array": ("input",),
}


def answer(call: Callable[..., Any], ros_type: str, request: Any, family: Family = STAND_INS) -> Any:
    """Response to a request, in the same family of classes. call: calls the service of the bus."""
    arguments = [getattr(request, name) for name in ARGUMENTS.get(ros_type, ())]
    if ros_type == "crtk_msgs/QueryInverseKinematics":
        arguments[1] = CONVERT["geometry_msgs/Pose"].from_ros(request.cp)
    result, response = call(*arguments), f"{ros_type}_Response"
    if ros_type == "std_srvs/Trigger":
        return family.make(response, success=True, message=str(result))
    if isinstance(result, m.KinematicsResult):
        return to_ros(result, response, family)
    (field,) = message_class(response)._table
    return family.message(response, {field.name: CONVERT[field.kind].plain(result)})


def ask(service: Callable[[Any], Any], ros_type: str, arguments: tuple[Any, ...], family: Family = STAND_INS) -> Any:
    """Call a ROS service with the arguments of the bus service; returns the result in the form of the bus.

    Args:
        service: takes a request and returns the response.
    """
    kinds = message_class(f"{ros_type}_Request")._fields
    values = {
        name: CONVERT[kinds[name]].plain(np.asarray(value, dtype=float))
        for name, value in zip(ARGUMENTS.get(ros_type, ()), arguments, strict=True)
    }
    response = service(family.message(f"{ros_type}_Request", values))
    if ros_type == "std_srvs/Trigger":
        return response.message
    if ros_type.startswith("crtk_msgs/Query"):
        return from_ros(response, f"{ros_type}_Response", m.KinematicsResult)
    (field,) = message_class(f"{ros_type}_Response")._table
    return CONVERT[field.kind].from_ros(getattr(response, field.name))
