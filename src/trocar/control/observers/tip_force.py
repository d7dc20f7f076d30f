"""The force at the tip from residual efforts, with its covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.spatial import Array

SINGULAR = 1e-6  # smallest singular value of an invertible Jacobian, relative to the largest


@dataclass(frozen=True, eq=False)
class TipForce:
    """Force [N] (..., 3), or wrench (..., 6) force then moment [N, N m], of the environment on the arm, base axes.

    Attributes:
        value: force or wrench. covariance: (..., 3, 3) or (..., 6, 6), from that of the residuals.
    """

    value: Array
    covariance: Array


def wrist_force(mechanism: Mechanism, q: ArrayLike, residual: ArrayLike, covariance: ArrayLike) -> TipForce:
    """Force at the wrist point from the residuals of the first three joints, independent of the wrist.

    The point is where the wrist's axes meet the shaft (PSM), or the tip of an endoscope. It needs no model of the
    wrist, whose friction hides small forces; a moment there would be mistaken for a force. Lateral forces are hardly
    observable near the remote centre: their deviation grows with the inverse of the depth.

    Args:
        q: (..., n). residual: (..., n) of a `MomentumObserver` [N m, N]. covariance: (3, 3) of its first three joints.
    """
    point = mechanism.arm.wrist_point
    if point is None:
        raise TrocarError(f"{mechanism.arm.name} has no wrist point that three joints move; use tip_wrench")
    q, r = mechanism.checked_states(q=q, residual=residual)
    J = mechanism.jacobian(q, point)[..., :3, :3]
    return _solved(J, r[..., :3], np.asarray(covariance, dtype=float), "the wrist is at the remote centre")


def tip_wrench(mechanism: Mechanism, q: ArrayLike, residual: ArrayLike, covariance: ArrayLike) -> TipForce:
    """Wrench at the tip from the residuals of six joints.

    Args:
        q: (..., n). residual: (..., n) [N m, N]. covariance: (6, 6) of its first six joints.
    """
    if mechanism.arm.tip_joints != 6:
        raise TrocarError(f"a wrench needs an arm that moves its tip with six joints; {mechanism.arm.name} does not")
    q, r = mechanism.checked_states(q=q, residual=residual)
    J = np.atleast_2d(mechanism.jacobian(q))
    return _solved(J, r[..., :6], np.asarray(covariance, dtype=float), "the arm is at a singularity")


def _solved(J: Array, r: Array, covariance: Array, cause: str) -> TipForce:
    """F = J^-T r and J^-T S J^-1."""
    k = J.shape[-1]
    if covariance.shape != (k, k):
        raise TrocarError(f"covariance must be ({k}, {k}), got {covariance.shape}")
    sigma = np.linalg.svd(J, compute_uv=False)
    if (sigma[..., -1] <= SINGULAR * sigma[..., 0]).any():
        raise TrocarError(f"{cause}: some forces have no effect on the joints")
    inverse = np.linalg.inv(np.swapaxes(J, -1, -2))
    value = np.einsum("...ij,...j->...i", inverse, r)
    return TipForce(value, inverse @ covariance @ np.swapaxes(inverse, -1, -2))
