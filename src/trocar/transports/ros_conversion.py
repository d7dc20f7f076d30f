"""Conversion between bus messages and ROS messages, by the name of the ROS type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.spatial import Array, pose, quaternion, unit
from trocar.transports.ros_messages import MESSAGES

# Parts of a Cartesian impedance, with the same names on the bus and in ROS.
SIDES = ("position_positive", "position_negative", "orientation_positive", "orientation_negative")
GAINS = ("p", "d", "bias", "deadband")


def to_ros(message: m.Message, ros_type: str, classes: Mapping[str, Any] = MESSAGES) -> Any:
    """Convert a bus message to a ROS type from `classes`: the stand-ins or ROS's own classes."""
    made = classes[ros_type]()
    if hasattr(made, "header"):
        made.header.stamp.secs, made.header.stamp.nsecs = divmod(message.stamp, 10**9)
        made.header.frame_id = message.frame_id
    if isinstance(message, m.Matrix):
        made.layout.dim = _size(message.values, classes["std_msgs/MultiArrayDimension"])
    _TO_ROS[ros_type](message, made)
    return made


def from_ros(message: Any, ros_type: str, kind: type[m.Message]) -> m.Message:
    """Convert a ROS message to a bus message of a matching type."""
    header = getattr(message, "header", None)
    stamp = {} if header is None else {"stamp": header.stamp.to_nsec(), "frame_id": header.frame_id}
    try:
        return _FROM_ROS[ros_type](message, kind, stamp)
    except (TypeError, ValueError, AttributeError) as error:
        raise TrocarError(f"the message is not a valid {ros_type}: {error}") from error


# -- parts -------------------------------------------------------------------------------------------------------------


def set_xyz(part: Any, values: Array) -> None:
    part.x, part.y, part.z = (float(x) for x in values)


def xyz(part: Any) -> Array:
    return np.array([part.x, part.y, part.z], dtype=float)


def set_orientation(part: Any, R: Array) -> None:
    part.w, part.x, part.y, part.z = (float(x) for x in quaternion(R))


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


def set_pose(part: Any, T: Array) -> None:
    set_xyz(part.position, T[:3, 3])
    set_orientation(part.orientation, T[:3, :3])


def pose_of(part: Any) -> Array:
    return pose(orientation(part.orientation), xyz(part.position))


def six(first: Any, second: Any) -> Array:
    return np.concatenate([xyz(first), xyz(second)])


def set_six(first: Any, second: Any, vector: Array) -> None:
    set_xyz(first, vector[:3])
    set_xyz(second, vector[3:])


def numbers(values: Any) -> Array:
    return np.array(values, dtype=float).reshape(-1)


# -- to ROS ------------------------------------------------------------------------------------------------------------


def _joints(message: Any, made: Any) -> None:
    made.name = list(message.name)
    for part in ("position", "velocity", "effort"):
        setattr(made, part, getattr(message, part).tolist())


def _pose(message: Any, made: Any) -> None:
    set_pose(made.pose, message.T)


def _twist(message: Any, made: Any) -> None:
    set_six(made.twist.linear, made.twist.angular, message.vector)


def _wrench(message: Any, made: Any) -> None:
    set_six(made.wrench.force, made.wrench.torque, message.vector)


def _size(values: Array, dimension: Any) -> list[Any]:
    """Array layout of a matrix, row by row."""
    rows, columns = values.shape
    return [dimension("rows", rows, rows * columns), dimension("cols", columns, columns)]


def _array(message: Any, made: Any) -> None:
    made.data = message.values.ravel().tolist()


def _value(message: Any, made: Any) -> None:
    made.data = message.value


def _text(message: Any, made: Any) -> None:
    made.string = message.value


def _joy(message: Any, made: Any) -> None:
    made.buttons, made.axes = list(message.buttons), list(message.axes)


def _state(message: Any, made: Any) -> None:
    made.state, made.is_homed, made.is_busy = message.state, message.is_homed, message.is_busy


def _statistics(message: Any, made: Any) -> None:
    for name in made.__slots__:
        if hasattr(message, name):
            setattr(made, name, getattr(message, name))


def _cartesian_state(message: Any, made: Any) -> None:
    if message.T is not None:
        set_pose(made.pose, message.T)
    if message.twist is not None:
        set_six(made.twist.linear, made.twist.angular, message.twist)
    if message.wrench is not None:
        set_six(made.wrench.force, made.wrench.torque, message.wrench)
    for name, value in (("pose", message.T), ("twist", message.twist), ("wrench", message.wrench)):
        getattr(made, f"{name}_is_valid").data = value is not None


def _impedance(message: Any, made: Any) -> None:
    set_orientation(made.force_orientation, message.force_R)
    set_xyz(made.force_position, message.force_position)
    set_orientation(made.torque_orientation, message.torque_R)
    for side in SIDES:
        for gain in GAINS:
            set_xyz(getattr(getattr(made, side), gain), getattr(getattr(message, side), gain))


_TO_ROS: dict[str, Callable[[Any, Any], None]] = {
    "sensor_msgs/JointState": _joints,
    "sensor_msgs/Joy": _joy,
    "geometry_msgs/PoseStamped": _pose,
    "geometry_msgs/TwistStamped": _twist,
    "geometry_msgs/WrenchStamped": _wrench,
    "geometry_msgs/Quaternion": lambda message, made: set_orientation(made, message.R),
    "geometry_msgs/QuaternionStamped": lambda message, made: set_orientation(made.quaternion, message.R),
    "std_msgs/Float64MultiArray": _array,
    "std_msgs/Bool": _value,
    "std_msgs/Float64": _value,
    "std_msgs/String": _value,
    "std_msgs/Empty": lambda message, made: None,
    "crtk_msgs/StringStamped": _text,
    "crtk_msgs/OperatingState": _state,
    "crtk_msgs/CartesianState": _cartesian_state,
    "crtk_msgs/CartesianImpedance": _impedance,
    "cisst_msgs/IntervalStatistics": _statistics,
}


# -- from ROS ----------------------------------------------------------------------------------------------------------


def _from_joints(made: Any, kind: Any, stamp: Any) -> Any:
    parts = {part: numbers(getattr(made, part)) for part in ("position", "velocity", "effort")}
    return kind(name=tuple(made.name), **parts, **stamp)


def _from_cartesian_state(made: Any, kind: Any, stamp: Any) -> Any:
    return kind(
        T=pose_of(made.pose) if made.pose_is_valid.data else None,
        twist=six(made.twist.linear, made.twist.angular) if made.twist_is_valid.data else None,
        wrench=six(made.wrench.force, made.wrench.torque) if made.wrench_is_valid.data else None,
        **stamp,
    )


def _gains(part: Any) -> m.HalfPlaneGains:
    return m.HalfPlaneGains(**{name: xyz(getattr(part, name)) for name in GAINS})


def _from_impedance(made: Any, kind: Any, stamp: Any) -> Any:
    return kind(
        force_R=orientation(made.force_orientation),
        force_position=xyz(made.force_position),
        torque_R=orientation(made.torque_orientation),
        **{side: _gains(getattr(made, side)) for side in SIDES},
        **stamp,
    )


def _from_array(made: Any, kind: Any, stamp: Any) -> Any:
    values = numbers(made.data)
    if issubclass(kind, m.Matrix):
        rows, columns = (dimension.size for dimension in made.layout.dim)
        values = values.reshape(rows, columns)
    return kind(values=values)


def _from_statistics(made: Any, kind: Any, stamp: Any) -> Any:
    names = [field.name for field in fields(kind) if field.name not in ("stamp", "frame_id")]
    return kind(**{name: getattr(made, name) for name in names}, **stamp)


_FROM_ROS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sensor_msgs/JointState": _from_joints,
    "sensor_msgs/Joy": lambda made, kind, stamp: kind(
        buttons=tuple(int(x) for x in made.buttons), axes=tuple(float(x) for x in made.axes), **stamp
    ),
    "geometry_msgs/PoseStamped": lambda made, kind, stamp: kind(T=pose_of(made.pose), **stamp),
    "geometry_msgs/TwistStamped": lambda made, kind, stamp: kind(
        vector=six(made.twist.linear, made.twist.angular), **stamp
    ),
    "geometry_msgs/WrenchStamped": lambda made, kind, stamp: kind(
        vector=six(made.wrench.force, made.wrench.torque), **stamp
    ),
    "geometry_msgs/Quaternion": lambda made, kind, stamp: kind(R=orientation(made)),
    "geometry_msgs/QuaternionStamped": lambda made, kind, stamp: kind(R=orientation(made.quaternion), **stamp),
    "std_msgs/Float64MultiArray": _from_array,
    "std_msgs/Bool": lambda made, kind, stamp: kind(value=bool(made.data)),
    "std_msgs/Float64": lambda made, kind, stamp: kind(value=float(made.data)),
    "std_msgs/String": lambda made, kind, stamp: kind(value=str(made.data)),
    "std_msgs/Empty": lambda made, kind, stamp: kind(),
    "crtk_msgs/StringStamped": lambda made, kind, stamp: kind(value=str(made.string), **stamp),
    "crtk_msgs/OperatingState": lambda made, kind, stamp: kind(
        state=str(made.state), is_homed=bool(made.is_homed), is_busy=bool(made.is_busy), **stamp
    ),
    "cisst_msgs/IntervalStatistics": _from_statistics,
    "crtk_msgs/CartesianState": _from_cartesian_state,
    "crtk_msgs/CartesianImpedance": _from_impedance,
}
