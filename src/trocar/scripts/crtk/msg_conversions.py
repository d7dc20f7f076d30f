"""Conversions of poses, twists and wrenches between ROS messages, PyKDL and numpy."""

from __future__ import annotations

from typing import Any

from trocar.scripts.pykdl import Frame, Rotation, Vector
from trocar.spatial import Array
from trocar.transports.ros_conversion import set_six, six
from trocar.transports.ros_messages import MESSAGES


def FrameFromPoseMsg(msg: Any) -> Frame:
    """The frame of a geometry_msgs/Pose."""
    return _frame(msg.position, msg.orientation)


def FrameToPoseMsg(frame: Frame) -> Any:
    made = MESSAGES["geometry_msgs/Pose"]()
    _fill(frame, made.position, made.orientation)
    return made


def FrameFromTransformMsg(msg: Any) -> Frame:
    """The frame of a geometry_msgs/Transform."""
    return _frame(msg.translation, msg.rotation)


def FrameToTransformMsg(frame: Frame) -> Any:
    made = MESSAGES["geometry_msgs/Transform"]()
    _fill(frame, made.translation, made.rotation)
    return made


def ArrayFromTwistMsg(msg: Any) -> Array:
    """Linear, then angular velocity (6,)."""
    return six(msg.linear, msg.angular)


def ArrayToTwistMsg(array: Array) -> Any:
    made = MESSAGES["geometry_msgs/Twist"]()
    set_six(made.linear, made.angular, array)
    return made


def ArrayFromWrenchMsg(msg: Any) -> Array:
    """Force, then moment (6,)."""
    return six(msg.force, msg.torque)


def ArrayToWrenchMsg(array: Array) -> Any:
    made = MESSAGES["geometry_msgs/Wrench"]()
    set_six(made.force, made.torque, array)
    return made


def _frame(position: Any, q: Any) -> Frame:
    return Frame(Rotation.Quaternion(q.x, q.y, q.z, q.w), Vector(position.x, position.y, position.z))


def _fill(frame: Frame, position: Any, q: Any) -> None:
    position.x, position.y, position.z = frame.p
    q.x, q.y, q.z, q.w = frame.M.GetQuaternion()
