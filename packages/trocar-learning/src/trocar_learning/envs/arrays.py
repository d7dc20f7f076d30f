"""Geometry in arrays with a leading axis of worlds: NumPy's or torch's."""

from __future__ import annotations

import math

import numpy as np

from trocar.spatial import ArrayModule, Values, quaternion


def length(x: Values) -> Values:
    """Norms (...) of vectors (..., k)."""
    return (x * x).sum(-1) ** 0.5


def dot(a: Values, b: Values) -> Values:
    """Products (...) of vectors (..., k)."""
    return (a[..., None, :] @ b[..., :, None])[..., 0, 0]


def distance(xp: ArrayModule, a: Values, b: Values) -> Values:
    """Distances (n,) of points (n, k); in NumPy without a rounding error of the squares."""
    return np.array([math.dist(p, q) for p, q in zip(a, b, strict=True)]) if xp is np else length(a - b)


def angle(xp: ArrayModule, cosine: Values) -> Values:
    """Angles (n,) [rad] of cosines (n,), cut at 1."""
    cosine = xp.clip(cosine, -1.0, 1.0)
    return np.array([math.acos(x) for x in cosine]) if xp is np else xp.arccos(cosine)


def squares(xp: ArrayModule, x: Values) -> Values:
    """Squares (n,) of numbers (n,); in NumPy rounded as those of Python's numbers."""
    return np.float_power(x, 2.0) if xp is np else x * x


def points(xp: ArrayModule, T: Values, place: Values) -> Values:
    """Points (n, 3) in the world of a place (3,) in the frames of poses (n, 4, 4)."""
    here = np.array([*place, 1.0])
    return (T @ (here if xp is np else xp.as_tensor(here, dtype=T.dtype, device=T.device)))[:, :3]


def matrices(xp: ArrayModule, turn: Values) -> Values:
    """Rotation matrices (n, 3, 3) of unit quaternions wxyz (n, 4)."""
    w, x, y, z = (turn[:, k] for k in range(4))
    rows = [
        *(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        *(2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        *(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    ]
    return xp.stack(rows, -1).reshape(-1, 3, 3)


def quaternions(xp: ArrayModule, R: Values) -> Values:
    """Quaternions wxyz (n, 4) of rotations (n, 3, 3), as `trocar.spatial.quaternion`: the largest entry is positive."""
    if xp is np:
        return quaternion(R[0])[None] if len(R) == 1 else quaternion(R)
    a, b, c = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    x, y, z = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    xy, xz, yz = R[:, 0, 1] + R[:, 1, 0], R[:, 0, 2] + R[:, 2, 0], R[:, 1, 2] + R[:, 2, 1]
    trace = a + b + c
    squares = xp.stack([1.0 + trace, *(1.0 + 2.0 * d - trace for d in (a, b, c))], -1)
    w2, x2, y2, z2 = (squares[:, k] for k in range(4))
    # row k is the quaternion times four times its entry k
    rows = [(w2, x, y, z), (x, x2, xy, xz), (y, xy, y2, yz), (z, xz, yz, z2)]
    largest = squares.argmax(-1)[:, None]
    turn = xp.stack(rows[0], -1)
    for k in (1, 2, 3):
        turn = xp.where(largest == k, xp.stack(rows[k], -1), turn)
    return turn / length(turn)[:, None]


def pose_numbers(xp: ArrayModule, T: Values) -> Values:
    """Positions and quaternions wxyz (n, 7) of poses (n, 4, 4)."""
    return xp.concatenate([T[:, :3, 3], quaternions(xp, T[:, :3, :3])], -1)


def poses(xp: ArrayModule, numbers: Values) -> Values:
    """Poses (n, 4, 4) of positions and quaternions wxyz (n, 7) of any norm."""
    turn = numbers[:, 3:]
    R = matrices(xp, turn / length(turn)[:, None])
    upper = xp.concatenate([R, numbers[:, :3, None]], -1)
    last = xp.zeros_like(upper[:, :1])
    last[:, 0, 3] = 1.0
    return xp.concatenate([upper, last], 1)


def chosen(xp: ArrayModule, mask: Values, yes: Values, no: Values) -> Values:
    """Rows of `yes` (n, ...) in the masked worlds (n,), otherwise those of `no` (n, ...)."""
    return xp.where(mask.reshape(-1, *[1] * (len(no.shape) - 1)), yes, no)
