"""The force at the tip from residual efforts, with its covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.spatial import Array

SINGULAR = 1e-6  # smallest singular value of a Jacobian, relative to the largest, that can be inverted


@dataclass(frozen=True, eq=False)
class TipForce:
    """Force [N] (..., 3), or wrench (..., 6) force then moment [N, N m], of the surroundings on the arm, base axes.

    Attributes:
        value: it. covariance: (..., 3, 3) or (..., 6, 6) that follows from the residuals'.
    """

    value: Array
    covariance: Array


def wrist_force(mechanism: Mechanism, q: ArrayLike, residual: ArrayLike, covariance: ArrayLike) -> TipForce:
    """Force at the wrist point from the residuals of the first three joints, whatever the wrist does.

    The point is where the wrist's axes meet the shaft (PSM), or the tip of an endoscope. It needs no model of the
    wrist, whose friction hides small forces; a moment there would be taken for a force. Sideways forces fade next to
    the remote centre: their deviation grows with the inverse of the depth.

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
        raise TrocarError(f"a wrench needs six joints, {mechanism.arm.name} moves its tip with another number of them")
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
        raise TrocarError(f"{cause}: some forces there do not reach the joints")
    inverse = np.linalg.inv(np.swapaxes(J, -1, -2))
    value = np.einsum("...ij,...j->...i", inverse, r)
    return TipForce(value, inverse @ covariance @ np.swapaxes(inverse, -1, -2))
