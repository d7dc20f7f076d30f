"""Conversions between ROS messages, PyKDL and numpy: `crtk.msg_conversions` and `tf_conversions.posemath`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from trocar.scripts.pykdl import Frame, Rotation, Vector
from trocar.spatial import Array
from trocar.transports.ros_conversion import CONVERT, STAND_INS
from trocar.transports.ros_messages import MESSAGES

# Messages of a frame with their parts, and of a six-vector.
_FRAMES = {"Pose": ("position", "orientation"), "Transform": ("translation", "rotation")}
_SIX = ("Twist", "Wrench")


def _frame_from(kind: str, msg: Any) -> Frame:
    p, q = (getattr(msg, part) for part in _FRAMES[kind])
    return Frame(Rotation.Quaternion(q.x, q.y, q.z, q.w), Vector(p.x, p.y, p.z))


def _frame_to(kind: str, frame: Frame) -> Any:
    msg = MESSAGES[f"geometry_msgs/{kind}"]()
    p, q = (getattr(msg, part) for part in _FRAMES[kind])
    p.x, p.y, p.z = frame.p
    q.x, q.y, q.z, q.w = frame.M.GetQuaternion()
    return msg


def _array_from(kind: str, msg: Any) -> Array:
    vector: Array = CONVERT[f"geometry_msgs/{kind}"].from_ros(msg)
    return vector


def _array_to(kind: str, array: Array) -> Any:
    ros_type = f"geometry_msgs/{kind}"
    return STAND_INS.message(ros_type, CONVERT[ros_type].plain(array))


MSG_CONVERSIONS: dict[str, Any] = {f"FrameFrom{kind}Msg": partial(_frame_from, kind) for kind in _FRAMES}
MSG_CONVERSIONS |= {f"FrameTo{kind}Msg": partial(_frame_to, kind) for kind in _FRAMES}
MSG_CONVERSIONS |= {f"ArrayFrom{kind}Msg": partial(_array_from, kind) for kind in _SIX}
MSG_CONVERSIONS |= {f"ArrayTo{kind}Msg": partial(_array_to, kind) for kind in _SIX}


def fromMsg(p: Any) -> Frame:
    """The frame of a geometry_msgs/Pose; its quaternion is normalised."""
    q = np.array([p.orientation.x, p.orientation.y, p.orientation.z, p.orientation.w], dtype=float)
    length = float(np.linalg.norm(q))
    q = q / length if length > 0 else np.array([0.0, 0.0, 0.0, 1.0])
    return Frame(Rotation.Quaternion(*q), Vector(p.position.x, p.position.y, p.position.z))


def toMsg(f: Frame) -> Any:
    """A geometry_msgs/Pose of a frame."""
    return _frame_to("Pose", f)


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


POSEMATH = {function.__name__: function for function in (fromMatrix, fromMsg, fromTf, toMatrix, toMsg, toTf)}
