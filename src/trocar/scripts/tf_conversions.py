"""A stand-in for tf_conversions: conversions between frames, poses and matrices."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from trocar.scripts.pykdl import Frame, Rotation, Vector
from trocar.spatial import Array
from trocar.transports.ros_messages import MESSAGES


def fromMsg(p: Any) -> Frame:
    """The frame of a geometry_msgs/Pose; its quaternion is normalised."""
    q = np.array([p.orientation.x, p.orientation.y, p.orientation.z, p.orientation.w], dtype=float)
    length = float(np.linalg.norm(q))
    q = q / length if length > 0 else np.array([0.0, 0.0, 0.0, 1.0])
    return Frame(Rotation.Quaternion(*q), Vector(p.position.x, p.position.y, p.position.z))


def toMsg(f: Frame) -> Any:
    """A geometry_msgs/Pose of a frame."""
    made = MESSAGES["geometry_msgs/Pose"]()
    p, q = made.position, made.orientation
    p.x, p.y, p.z = f.p
    q.x, q.y, q.z, q.w = f.M.GetQuaternion()
    return made


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


def module() -> ModuleType:
    """tf_conversions as a package with its part posemath."""
    this = sys.modules[__name__]
    package = ModuleType("tf_conversions", __doc__)
    package.__path__ = []
    for name in ("fromMatrix", "fromMsg", "fromTf", "toMatrix", "toMsg", "toTf"):
        setattr(package, name, getattr(this, name))
    package.posemath = this  # type: ignore[attr-defined]
    return package
