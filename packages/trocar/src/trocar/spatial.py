"""Rigid-body poses and rotations on arrays with any leading batch axes.

`T_a_b` (4, 4) is the pose of frame b in frame a: `p_a = T_a_b @ p_b`. Lengths in m, angles in rad,
six-vectors linear first, quaternions wxyz.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trocar.checks import MAX_COMMAND, numbers
from trocar.errors import TrocarError

Array = NDArray[Any]
Values: TypeAlias = Any  # an array of NumPy, torch, JAX or Warp, or values that convert to one
ArrayModule: TypeAlias = Any  # numpy, torch or jax.numpy: modules with the same functions

ROTATION_TOLERANCE = 1e-6
_IDENTITY = np.eye(4)  # np.eye takes longer than a copy


def rotation(axis: str, angle: ArrayLike) -> Array:
    """Rotation matrix (..., 3, 3) about the coordinate axis "x", "y" or "z" by `angle` [rad]."""
    angle = np.asarray(angle, dtype=float)
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    R = np.zeros(angle.shape + (3, 3))
    R[..., i, i] = 1.0
    R[..., j, j] = R[..., k, k] = np.cos(angle)
    R[..., k, j] = np.sin(angle)
    R[..., j, k] = -R[..., k, j]
    return R


def pose(R: ArrayLike | None = None, p: ArrayLike | None = None) -> Array:
    """Pose (..., 4, 4) from rotations (..., 3, 3) and positions (..., 3) [m]; default: identity."""
    T = _IDENTITY.copy()
    leading = [np.shape(part)[:-axes] for part, axes in ((R, 2), (p, 1)) if part is not None]
    if any(leading):
        T = np.tile(T, (*np.broadcast_shapes(*leading), 1, 1))
    if R is not None:
        T[..., :3, :3] = R
    if p is not None:
        T[..., :3, 3] = p
    return T


def mdh(a: float = 0.0, alpha: float = 0.0, d: float = 0.0, theta: float = 0.0) -> Array:
    """Constant modified-DH step Rx(alpha) Tx(a) Rz(theta) Tz(d) as a pose (4, 4).

    Quarter turns are exact (cos(pi/2) is 0, not 6e-17), so that chains that are mathematically equal
    are also bit-for-bit equal.
    """
    Rx, Rz = _exact_quarters(rotation("x", alpha)), _exact_quarters(rotation("z", theta))
    T = np.eye(4)
    T[:3, :3] = Rx @ Rz
    T[:3, 3] = Rx @ np.array([a, 0.0, d])
    return T


def inverse(T: Array) -> Array:
    """Inverse of poses (..., 4, 4)."""
    if T.ndim == 2:  # one pose, as in control loops: in plain numbers, the same to the last bit
        (a, b, c, x), (d, e, f, y), (g, h, i, z), _ = T.tolist()
        p = -(a * x + d * y + g * z), -(b * x + e * y + h * z), -(c * x + f * y + i * z)
        return np.array([[a, d, g, p[0]], [b, e, h, p[1]], [c, f, i, p[2]], [0.0, 0.0, 0.0, 1.0]])
    R_t = np.swapaxes(T[..., :3, :3], -1, -2)
    out = np.zeros_like(T)
    out[..., :3, :3] = R_t
    out[..., :3, 3] = -np.einsum("...ij,...j->...i", R_t, T[..., :3, 3])
    out[..., 3, 3] = 1.0
    return out


def unit(v: Array) -> Array:
    """A vector (n,) scaled to length 1."""
    return v / math.sqrt(v.dot(v))  # as np.linalg.norm, without its overhead


def skew(v: Array) -> Array:
    """Matrix (..., 3, 3) with `skew(v) @ u == cross(v, u)`."""
    S = np.zeros(v.shape + (3,), dtype=np.result_type(v, float))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    return S - np.swapaxes(S, -1, -2)


def rotation_vector(R: Array) -> Array:
    """Rotation vector (..., 3) [rad] of rotation matrices; exact near 0 and defined at pi.

    Computed through the quaternion of largest component, which stays accurate near both 0 and pi.
    """
    q = quaternion(R)
    w, v = q[..., :1], q[..., 1:]
    flip = np.where(w < 0, -1.0, 1.0)
    w, v = w * flip, v * flip
    s = np.linalg.norm(v, axis=-1, keepdims=True)
    # 2 atan2(s, w) / s tends to 2 as s -> 0
    scale = np.where(s > 1e-12, 2.0 * np.arctan2(s, w) / np.where(s > 1e-12, s, 1.0), 2.0)
    return v * scale


def roll_pitch_yaw(R: Array) -> Array:
    """Angles (3,) [rad] about the fixed axes x, y, z, in this order: R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF.

    Where the pitch is a quarter turn only the sum or difference of roll and yaw is determined; roll is then 0.
    """
    level = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], level)
    if level < 1e-9:
        return np.array([0.0, pitch, math.atan2(-R[0, 1], R[1, 1])])
    return np.array([math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])])


def quaternion(R: Array) -> Array:
    """Unit quaternion wxyz (..., 4) of rotation matrices (..., 3, 3)."""
    R = np.asarray(R, dtype=float)
    if R.ndim == 2:
        return _one_quaternion(R)
    d = np.stack([R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]], axis=-1)
    trace = d.sum(-1, keepdims=True)
    # four squared components times 4; the largest is at least 1, so dividing by its root is safe
    squares = np.concatenate([1.0 + trace, 1.0 + 2.0 * d - trace], axis=-1)
    K = np.empty(R.shape[:-2] + (4, 4))
    K[..., 0, 0], K[..., 1, 1], K[..., 2, 2], K[..., 3, 3] = np.moveaxis(squares, -1, 0)
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        K[..., 0, i + 1] = K[..., i + 1, 0] = R[..., k, j] - R[..., j, k]
        K[..., j + 1, k + 1] = K[..., k + 1, j + 1] = R[..., k, j] + R[..., j, k]
    row = np.take_along_axis(K, squares.argmax(-1)[..., None, None], axis=-2)[..., 0, :]
    return row / np.linalg.norm(row, axis=-1, keepdims=True)


def _one_quaternion(R: Array) -> Array:
    """Bit-for-bit the same for one matrix (3, 3), in scalar arithmetic: ten times as fast, for streams of poses."""
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    trace = a + e + i
    squares = [1.0 + trace, 1.0 + 2.0 * a - trace, 1.0 + 2.0 * e - trace, 1.0 + 2.0 * i - trace]
    rows = (
        (squares[0], h - f, c - g, d - b),
        (h - f, squares[1], b + d, c + g),
        (c - g, b + d, squares[2], f + h),
        (d - b, c + g, f + h, squares[3]),
    )
    w, x, y, z = rows[squares.index(max(squares))]
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    return np.array([w / norm, x / norm, y / norm, z / norm])


def pose_error(T_target: Array, T: Array) -> Array:
    """Six-vector (..., 6) that moves T onto T_target: position [m], then rotation vector [rad], base axes."""
    dp = T_target[..., :3, 3] - T[..., :3, 3]
    dR = T_target[..., :3, :3] @ np.swapaxes(T[..., :3, :3], -1, -2)
    return np.concatenate([dp, rotation_vector(dR)], axis=-1)


def checked_pose(T: ArrayLike) -> Array:
    """T as an array (..., 4, 4) of valid rigid poses; an error names the first invalid one."""
    if type(T) is np.ndarray and T.shape == (4, 4) and T.dtype == float and _is_pose(T):
        return T
    T = numbers("a pose", T, (4, 4))
    unknown = np.asarray(~np.isfinite(T).all((-1, -2)))
    if unknown.any():
        raise TrocarError(f"{_which(unknown)} has a value that is NaN or infinite")
    far = np.asarray(~(np.abs(T[..., :3, 3]) <= MAX_COMMAND).all(-1))
    if far.any():
        raise TrocarError(f"{_which(far)} is more than {MAX_COMMAND:g} m away; positions are in metres")
    affine = (T[..., 3, :] == [0.0, 0.0, 0.0, 1.0]).all(-1)
    if not affine.all():
        raise TrocarError(f"{_which(~affine)} does not end with the row 0 0 0 1; is it transposed?")
    R = T[..., :3, :3]
    off = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max((-1, -2))
    if (off > ROTATION_TOLERANCE).any():
        bad = off > ROTATION_TOLERANCE
        size = f"{off[bad].flat[0]:.2g} (allowed {ROTATION_TOLERANCE:g})"
        raise TrocarError(f"{_which(bad)} is not a rotation: R R' differs from 1 by {size}; orthonormalise it first")
    mirrored = np.linalg.det(R) < 0
    if mirrored.any():
        raise TrocarError(f"{_which(mirrored)} is a reflection (det R = -1), not a rotation; flip one axis")
    return T


def _is_pose(T: Array) -> bool:
    """True if one pose (4, 4) is valid; in scalar arithmetic, for control loops. NaN compares false."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), last = T.tolist()
    small = ROTATION_TOLERANCE
    return bool(
        last == [0.0, 0.0, 0.0, 1.0]
        and abs(a * a + b * b + c * c - 1.0) <= small
        and abs(d * d + e * e + f * f - 1.0) <= small
        and abs(g * g + h * h + i * i - 1.0) <= small
        and abs(a * d + b * e + c * f) <= small
        and abs(a * g + b * h + c * i) <= small
        and abs(d * g + e * h + f * i) <= small
        and a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) > 0.0
        and abs(x) + abs(y) + abs(z) <= MAX_COMMAND  # the caller's slower checks name the reason
    )


def _which(bad: Array) -> str:
    if bad.ndim == 0:
        return "the pose"
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"the pose at index {index[0] if len(index) == 1 else index}"


def _exact_quarters(R: Array) -> Array:
    return np.where(np.abs(R) < 1e-15, 0.0, R)
