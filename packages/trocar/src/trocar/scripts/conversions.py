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


def _parts(kind: str, msg: Any) -> tuple[Any, Any]:
    first, second = _FRAMES[kind]
    return getattr(msg, first), getattr(msg, second)


def _frame_from(kind: str, msg: Any, normalised: bool = False) -> Frame:
    p, orientation = _parts(kind, msg)
    q = np.array([orientation.x, orientation.y, orientation.z, orientation.w], dtype=float)
    if normalised:
        q = q / np.linalg.norm(q) if q.any() else np.array([0.0, 0.0, 0.0, 1.0])
    return Frame(Rotation.Quaternion(*q), Vector(p.x, p.y, p.z))


def _frame_to(kind: str, frame: Frame) -> Any:
    msg = MESSAGES[f"geometry_msgs/{kind}"]()
    p, q = _parts(kind, msg)
    p.x, p.y, p.z = frame.p
    q.x, q.y, q.z, q.w = frame.M.GetQuaternion()
    return msg


def _array_to(kind: str, array: Array) -> Any:
    ros_type = f"geometry_msgs/{kind}"
    return CONVERT[ros_type].to_ros(array, STAND_INS)


MSG_CONVERSIONS: dict[str, Any] = {f"FrameFrom{kind}Msg": partial(_frame_from, kind) for kind in _FRAMES}
MSG_CONVERSIONS |= {f"FrameTo{kind}Msg": partial(_frame_to, kind) for kind in _FRAMES}
MSG_CONVERSIONS |= {f"ArrayFrom{kind}Msg": CONVERT[f"geometry_msgs/{kind}"].from_ros for kind in _SIX}
MSG_CONVERSIONS |= {f"ArrayTo{kind}Msg": partial(_array_to, kind) for kind in _SIX}
# A pose of tf is ((x, y, z), (x, y, z, w)), a matrix (4, 4).
POSEMATH: dict[str, Any] = {
    "fromMsg": lambda p: _frame_from("Pose", p, normalised=True),
    "toMsg": lambda f: _frame_to("Pose", f),
    "fromTf": lambda tf: Frame(Rotation.Quaternion(*tf[1]), Vector(*tf[0])),
    "toTf": lambda f: (tuple(f.p), f.M.GetQuaternion()),
    "fromMatrix": lambda m: Frame.from_matrix(np.asarray(m, dtype=float)),
    "toMatrix": Frame.to_matrix,
}
