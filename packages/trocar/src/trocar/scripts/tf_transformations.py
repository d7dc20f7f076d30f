"""A stand-in for tf.transformations: homogeneous matrices (4, 4), quaternions (x, y, z, w) and Euler angles [rad]."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.spatial import Array, pose, unit

identity_matrix = partial(np.eye, 4)


def translation_matrix(direction: Any) -> Array:
    return pose(p=np.asarray(direction, dtype=float)[:3])


def translation_from_matrix(matrix: Any) -> Array:
    return np.array(matrix, dtype=float)[:3, 3]


def rotation_matrix(angle: float, direction: Any, point: Any = None) -> Array:
    """Rotation by an angle about an axis through a point; default: through the origin."""
    R = Rotation.from_rotvec(angle * unit(np.asarray(direction, dtype=float)[:3])).as_matrix()
    p = np.zeros(3) if point is None else np.asarray(point, dtype=float)[:3]
    return pose(R, p - R @ p)


def concatenate_matrices(*matrices: Any) -> Array:
    return reduce(np.matmul, matrices, np.eye(4))


inverse_matrix = np.linalg.inv


def unit_vector(data: Any) -> Array:
    return unit(np.array(data, dtype=float))


def euler_matrix(ai: float, aj: float, ak: float, axes: str = "sxyz") -> Array:
    """Matrix of three rotations; "sxyz": about fixed axes, "rzyx": about rotating ones, each in this order."""
    return pose(Rotation.from_euler(_sequence(axes), (ai, aj, ak)).as_matrix())


def euler_from_matrix(matrix: Any, axes: str = "sxyz") -> tuple[float, float, float]:
    i, j, k = Rotation.from_matrix(np.asarray(matrix, dtype=float)[:3, :3]).as_euler(_sequence(axes))
    return float(i), float(j), float(k)


def quaternion_from_euler(ai: float, aj: float, ak: float, axes: str = "sxyz") -> Array:
    return _canonical(Rotation.from_euler(_sequence(axes), (ai, aj, ak)))


def euler_from_quaternion(quaternion: Any, axes: str = "sxyz") -> tuple[float, float, float]:
    return euler_from_matrix(quaternion_matrix(quaternion), axes)


def quaternion_matrix(quaternion: Any) -> Array:
    return pose(Rotation.from_quat(quaternion).as_matrix())


def quaternion_from_matrix(matrix: Any) -> Array:
    return _canonical(Rotation.from_matrix(np.asarray(matrix, dtype=float)[:3, :3]))


def quaternion_about_axis(angle: float, axis: Any) -> Array:
    half = angle / 2.0
    return np.append(np.sin(half) * unit(np.asarray(axis, dtype=float)), np.cos(half))


def quaternion_multiply(quaternion1: Any, quaternion0: Any) -> Array:
    """The rotation quaternion0, followed by quaternion1."""
    (*v1, w1), (*v0, w0) = (np.asarray(q, dtype=float) for q in (quaternion1, quaternion0))
    a, b = np.array(v1), np.array(v0)
    return np.append(w1 * b + w0 * a + np.cross(a, b), w1 * w0 - a @ b)


def quaternion_conjugate(quaternion: Any) -> Array:
    return np.asarray(quaternion, dtype=float) * [-1.0, -1.0, -1.0, 1.0]


def quaternion_inverse(quaternion: Any) -> Array:
    q = np.asarray(quaternion, dtype=float)
    return quaternion_conjugate(q) / (q @ q)


def _sequence(axes: str) -> str:
    """Axes as scipy writes them: fixed in lower case, rotating in upper case."""
    if len(axes) != 4 or axes[0] not in "sr" or set(axes[1:]) - set("xyz"):
        raise ValueError(f"axes are s or r and three of x, y, z, such as 'sxyz'; got {axes!r}")
    return axes[1:] if axes[0] == "s" else axes[1:].upper()


def _canonical(rotation: Rotation) -> Array:
    """(x, y, z, w) with w >= 0."""
    q = rotation.as_quat()
    return np.asarray(-q if q[3] < 0 else q)
