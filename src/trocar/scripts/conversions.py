"""Conversions between ROS messages, PyKDL and numpy: `crtk.msg_conversions` and `tf_conversions.posemath`."""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.scripts.pykdl import Frame, Rotation, Vector
from trocar.spatial import Array
from trocar.transports.ros_conversion import set_six, six
from trocar.transports.ros_messages import MESSAGES

MSG_CONVERSIONS = (
    "ArrayFromTwistMsg", "ArrayFromWrenchMsg", "ArrayToTwistMsg", "ArrayToWrenchMsg", "FrameFromPoseMsg",
    "FrameFromTransformMsg", "FrameToPoseMsg", "FrameToTransformMsg",
)  # fmt: skip
POSEMATH = ("fromMatrix", "fromMsg", "fromTf", "toMatrix", "toMsg", "toTf")


def FrameFromPoseMsg(msg: Any) -> Frame:
    """The frame of a geometry_msgs/Pose."""
    return _frame(msg.position, msg.orientation)


def FrameToPoseMsg(frame: Frame) -> Any:
    pose = MESSAGES["geometry_msgs/Pose"]()
    return _filled(pose, frame, pose.position, pose.orientation)


def FrameFromTransformMsg(msg: Any) -> Frame:
    """The frame of a geometry_msgs/Transform."""
    return _frame(msg.translation, msg.rotation)


def FrameToTransformMsg(frame: Frame) -> Any:
    transform = MESSAGES["geometry_msgs/Transform"]()
    return _filled(transform, frame, transform.translation, transform.rotation)


def ArrayFromTwistMsg(msg: Any) -> Array:
    """Linear, then angular velocity (6,)."""
    return six(msg.linear, msg.angular)


def ArrayToTwistMsg(array: Array) -> Any:
    twist = MESSAGES["geometry_msgs/Twist"]()
    set_six(twist.linear, twist.angular, array)
    return twist


def ArrayFromWrenchMsg(msg: Any) -> Array:
    """Force, then moment (6,)."""
    return six(msg.force, msg.torque)


def ArrayToWrenchMsg(array: Array) -> Any:
    wrench = MESSAGES["geometry_msgs/Wrench"]()
    set_six(wrench.force, wrench.torque, array)
    return wrench


def fromMsg(p: Any) -> Frame:
    """The frame of a geometry_msgs/Pose; its quaternion is normalised."""
    q = np.array([p.orientation.x, p.orientation.y, p.orientation.z, p.orientation.w], dtype=float)
    length = float(np.linalg.norm(q))
    q = q / length if length > 0 else np.array([0.0, 0.0, 0.0, 1.0])
    return Frame(Rotation.Quaternion(*q), Vector(p.position.x, p.position.y, p.position.z))


toMsg = FrameToPoseMsg


def fromTf(tf: Any) -> Frame:
    """The frame of ((x, y, z), (x, y, z, w))."""
    position, quaternion = tf
    return Frame(Rotation.Quaternion(*quaternion), Vector(*position))


def toTf(f: Frame) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """((x, y, z), (x, y, z, w)) of a frame."""
    return tuple(f.p), f.M.GetQuaternion()


def fromMatrix(m: Array) -> Frame:
    """The frame of a pose (4, 4)."""
    return Frame.from_matrix(np.asarray(m, dtype=float))


def toMatrix(f: Frame) -> Array:
    """The pose (4, 4) of a frame."""
    return f.to_matrix()


def _frame(position: Any, q: Any) -> Frame:
    return Frame(Rotation.Quaternion(q.x, q.y, q.z, q.w), Vector(position.x, position.y, position.z))


def _filled(message: Any, frame: Frame, position: Any, q: Any) -> Any:
    position.x, position.y, position.z = frame.p
    q.x, q.y, q.z, q.w = frame.M.GetQuaternion()
    return message
