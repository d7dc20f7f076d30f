"""Conversion of messages and services between bus and ROS, by the types of the fields in the table of `ros_messages`.

ROS messages come in families of classes: the stand-ins of `ros_messages` here, and those of rosbags in `codec`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.spatial import Array, pose, quaternion, skew, unit
from trocar.transports.ros_messages import message_class
from trocar.transports.ros_time import NANOSECONDS, Time


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

    def header_of(self, stamp: int, frame_id: str) -> Any:
        return self.make("std_msgs/Header", stamp=self.time(stamp), frame_id=frame_id)


STAND_INS = Family()


def to_ros(message: Any, ros_type: str, family: Family = STAND_INS) -> Any:
    """Convert a bus message to a ROS message; fields that the bus message lacks have their defaults."""
    if ros_type in _WHOLE:
        return _WHOLE[ros_type].to_ros(message, family)
    values: dict[str, Any] = {}
    for name, attribute, convert in _plan(ros_type):
        if attribute == "header":
            values[name] = family.header_of(message.stamp, message.frame_id)
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
            part = getattr(message, name) if hasattr(message, name) else getattr(message, name.lower())  # D, d in ROS 2
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
    if isinstance(time, Time):
        return int(time.to_nsec())
    if time.nanosec >= NANOSECONDS:  # a sum with large seconds could not be encoded again
        raise TrocarError(f"a time must have less than {NANOSECONDS} nanoseconds, got {time.nanosec}")
    return int(time.sec * NANOSECONDS + time.nanosec)


@functools.cache
def _attributes(kind: Any) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))


# -- values by their type ----------------------------------------------------------------------------------------------


class Convert(NamedTuple):
    """Conversion of a value of the bus to one of ROS in a family of classes, and back."""

    to_ros: Callable[[Any, Family], Any]
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
    return (w * w - vector @ vector) * np.eye(3) + 2.0 * np.outer(vector, vector) + 2.0 * w * skew(vector)


def _to_vector(values: Any, family: Family, ros_type: str = "geometry_msgs/Vector3") -> Any:
    return family.make(ros_type, **dict(zip("xyz", map(float, values), strict=True)))


def _to_point(values: Any, family: Family) -> Any:
    return _to_vector(values, family, "geometry_msgs/Point")


def _to_quaternion(R: Array, family: Family) -> Any:
    return family.make("geometry_msgs/Quaternion", **dict(zip("wxyz", map(float, quaternion(R)), strict=True)))


def _pose(ros_type: str, place: str, turn: str, to_place: Callable[[Any, Family], Any]) -> Convert:
    """Pose (4, 4) as a position and a quaternion."""
    return Convert(
        lambda T, f: f.make(ros_type, **{place: to_place(T[:3, 3], f), turn: _to_quaternion(T[:3, :3], f)}),
        lambda part: pose(_orientation(getattr(part, turn)), _xyz(getattr(part, place))),
    )


def _six(ros_type: str, first: str, second: str) -> Convert:
    """Six-vector (6,), linear first, as two vectors."""
    return Convert(
        lambda x, f: f.make(ros_type, **{first: _to_vector(x[:3], f), second: _to_vector(x[3:], f)}),
        lambda part: np.concatenate([_xyz(getattr(part, first)), _xyz(getattr(part, second))]),
    )


def _nested(ros_type: str, kind: type) -> Convert:
    return Convert(lambda value, f: to_ros(value, ros_type, f), lambda part: from_ros(part, ros_type, kind))


def _as_it_is(value: Any, family: Family) -> Any:
    return value


# A flag of a message that may lack a value: it is set if the attribute is not None.
_VALID = Convert(lambda value, f: f.make("std_msgs/Bool", data=True), bool)
_GAINS, _STATE = "crtk_msgs/CartesianImpedanceHalfPlaneGains", "crtk_msgs/OperatingState"
# Conversions by the type of the field in ROS.
CONVERT = {
    "geometry_msgs/Point": Convert(_to_point, _xyz),
    "geometry_msgs/Vector3": Convert(_to_vector, _xyz),
    "geometry_msgs/Quaternion": Convert(_to_quaternion, _orientation),
    "geometry_msgs/Pose": _pose("geometry_msgs/Pose", "position", "orientation", _to_point),
    "geometry_msgs/Transform": _pose("geometry_msgs/Transform", "translation", "rotation", _to_vector),
    "geometry_msgs/Twist": _six("geometry_msgs/Twist", "linear", "angular"),
    "geometry_msgs/Wrench": _six("geometry_msgs/Wrench", "force", "torque"),
    _GAINS: _nested(_GAINS, m.HalfPlaneGains),
    _STATE: _nested(_STATE, m.OperatingState),
    "std_msgs/Bool": _VALID,
    "string[]": Convert(lambda value, f: list(value), tuple),
    "float64[]": Convert(lambda x, f: f.numbers("float64", x), lambda part: np.array(part, dtype=float).reshape(-1)),
    "float64": Convert(lambda value, f: float(value), float),
    "string": Convert(_as_it_is, str),
    "bool": Convert(_as_it_is, bool),
    "time": Convert(lambda value, f: f.time(value), nanoseconds),
}


@functools.cache
def _plan(ros_type: str) -> tuple[tuple[str, str, Convert], ...]:
    """Fields of a type with the attributes of the bus and their conversions."""
    return tuple((field.name, field.attribute, _conversion(field.kind)) for field in message_class(ros_type)._table)


def _conversion(kind: str) -> Convert:
    if kind in CONVERT:
        return CONVERT[kind]
    number, element = float if kind.startswith("float") else int, kind.partition("[")[0]
    if element == kind:
        return Convert(_as_it_is, number)
    if element == "uint8":  # pixels: a tuple of millions of numbers would take a second
        return Convert(lambda values, f: f.numbers(element, values), bytes)
    return Convert(lambda values, f: f.numbers(element, values), lambda part: tuple(map(number, part)))


# -- messages that are converted as a whole ----------------------------------------------------------------------------


def _array(message: Any, family: Family) -> Any:
    """Numbers; the layout of a matrix gives its rows and columns, row by row."""
    values = {"data": family.numbers("float64", message.values.ravel())}
    if isinstance(message, m.Matrix):
        rows, columns = message.values.shape
        sizes = (("rows", rows, rows * columns), ("cols", columns, columns))
        dimension = functools.partial(family.make, "std_msgs/MultiArrayDimension")
        dim = [dimension(label=label, size=size, stride=stride) for label, size, stride in sizes]
        values["layout"] = family.make("std_msgs/MultiArrayLayout", dim=dim)
    return family.make("std_msgs/Float64MultiArray", **values)


def _from_array(message: Any, kind: Any) -> Any:
    values: Array = np.array(message.data, dtype=float).reshape(-1)
    if issubclass(kind, m.Matrix):
        rows, columns = (dimension.size for dimension in message.layout.dim)
        values = values.reshape(rows, columns)
    return kind(values=values)


def _transforms(message: Any, family: Family) -> Any:
    convert, stamped = CONVERT["geometry_msgs/Transform"].to_ros, "geometry_msgs/TransformStamped"
    headers = [family.header_of(message.stamp, parent) for parent, _, _ in message.frames]
    transforms = [
        family.make(stamped, header=header, child_frame_id=child, transform=convert(T, family))
        for header, (_, child, T) in zip(headers, message.frames, strict=True)
    ]
    return family.make("tf2_msgs/TFMessage", transforms=transforms)


def _from_transforms(message: Any, kind: Any) -> Any:
    to_pose, parts = CONVERT["geometry_msgs/Transform"].from_ros, message.transforms
    return kind(frames=tuple((part.header.frame_id, part.child_frame_id, to_pose(part.transform)) for part in parts))


# `from_ros` also takes the class of the bus message.
_WHOLE = {
    "std_msgs/Float64MultiArray": Convert(_array, _from_array),
    "tf2_msgs/TFMessage": Convert(_transforms, _from_transforms),
    "geometry_msgs/Quaternion": Convert(lambda m, f: _to_quaternion(m.R, f), lambda m, kind: kind(R=_orientation(m))),
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
    return family.make(response, **{field.name: CONVERT[field.kind].to_ros(result, family)})


def ask(service: Callable[[Any], Any], ros_type: str, arguments: tuple[Any, ...], family: Family = STAND_INS) -> Any:
    """Call a ROS service with the arguments of the bus service; returns the result in the form of the bus.

    Args:
        service: takes a request and returns the response.
    """
    kinds = message_class(f"{ros_type}_Request")._fields
    values = {
        name: CONVERT[kinds[name]].to_ros(np.asarray(value, dtype=float), family)
        for name, value in zip(ARGUMENTS.get(ros_type, ()), arguments, strict=True)
    }
    response = service(family.make(f"{ros_type}_Request", **values))
    if ros_type == "std_srvs/Trigger":
        return response.message
    if ros_type.startswith("crtk_msgs/Query"):
        return from_ros(response, f"{ros_type}_Response", m.KinematicsResult)
    (field,) = message_class(f"{ros_type}_Response")._table
    return CONVERT[field.kind].from_ros(getattr(response, field.name))
