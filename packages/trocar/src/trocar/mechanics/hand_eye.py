"""Hand-eye calibration in closed form (Park and Martin 1994)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.errors import TooLittleMotion
from trocar.spatial import Array, pose


def hand_eye(A: Array, B: Array) -> Array:
    """X (4, 4) of A_i X = X B_i for motions (N, 4, 4), least squares in rotation, then in position."""
    a, b = (Rotation.from_matrix(T[:, :3, :3]).as_rotvec() for T in (A, B))
    s = np.linalg.svd(a, compute_uv=False)
    if len(a) < 2 or s[1] < 0.05 * np.sqrt(len(a)):
        raise TooLittleMotion("hand-eye calibration needs rotations about two axes; move more joints")
    R = Rotation.align_vectors(a, b)[0].as_matrix()  # the axes of A are those of B, rotated by X
    C = (A[:, :3, :3] - np.eye(3)).reshape(-1, 3)
    d = (B[:, :3, 3] @ R.T - A[:, :3, 3]).ravel()
    return pose(R, np.linalg.lstsq(C, d, rcond=None)[0])
