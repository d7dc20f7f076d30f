"""Loads from residual efforts: the mass of a payload on a link, and the force at the tip with its covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.spatial import Array


@dataclass(frozen=True, eq=False)
class PointMass:
    """A point on a link where a mass is attached: `point` (3,) [m] in the frame of the body."""

    mechanism: Mechanism
    body: str
    point: tuple[float, float, float]

    @classmethod
    def at(cls, mechanism: Mechanism, body: str, point_at_zero: ArrayLike) -> PointMass:
        """The point of the body that is at `point_at_zero` (3,) [m] in the base at q = 0."""
        T = mechanism.pose(np.zeros(mechanism.n), body)
        x, y, z = (float(v) for v in T[:3, :3].T @ (np.asarray(point_at_zero, dtype=float) - T[:3, 3]))
        return cls(mechanism, body, (x, y, z))

    def effort(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Joint effort (..., n) per mass along a motion [N m/kg, N/kg]: J' (a - g) at the point."""
        mech = self.mechanism
        q, dq, ddq = mech.checked_states(q=q, dq=dq, ddq=ddq)
        r = mech.pose(q, self.body)[..., :3, :3] @ np.array(self.point)
        J, dJ = mech.jacobian(q, self.body), mech.jacobian_dot(q, dq, self.body)
        w = np.einsum("...ij,...j->...i", J[..., 3:, :], dq)
        dr = np.cross(w, r)
        J_point = J[..., :3, :] + _cross_columns(J[..., 3:, :], r)
        dJ_point = dJ[..., :3, :] + _cross_columns(dJ[..., 3:, :], r) + _cross_columns(J[..., 3:, :], dr)
        a = np.einsum("...ij,...j->...i", J_point, ddq) + np.einsum("...ij,...j->...i", dJ_point, dq)
        return np.einsum("...ij,...i->...j", J_point, a - mech.gravity_vector)


def _cross_columns(J: Array, r: Array) -> Array:
    """Every column of J (..., 3, n) x r (..., 3)."""
    return np.cross(J, r[..., None], axis=-2)


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """An estimated mass with its uncertainty.

    Attributes:
        mass: [kg]. deviation: its standard deviation [kg], including the time correlation of the residuals.
        explained: fraction of the weighted sum of squared residuals explained by the mass (R^2).
        windows: (W,) masses of consecutive windows [kg].
    """

    mass: float
    deviation: float
    explained: float
    windows: Array


def estimate_payload(
    efforts: ArrayLike, unit: ArrayLike, covariance: ArrayLike, *, window: int, memory: int | None = None
) -> PayloadEstimate:
    """Least squares fit of a mass to unexplained efforts, weighted by their covariance when there is no load.

    Args:
        efforts: (N, k) measured minus modelled [N m, N]. unit: (N, k) efforts per mass, `PointMass.effort`.
        covariance: (k, k) of the efforts without load. window: rows of a window.
        memory: rows over which residuals are correlated, for the deviation. Default: a tenth of all rows.
    """
    e, y, S = (np.asarray(x, dtype=float) for x in (efforts, unit, covariance))
    if e.ndim != 2 or e.shape != y.shape or S.shape != (e.shape[1], e.shape[1]):
        raise TrocarError(f"efforts {e.shape}, unit {y.shape} and covariance {S.shape} have inconsistent shapes")
    if not 1 <= window <= len(e):
        raise TrocarError(f"a window of {window} rows does not fit {len(e)} rows")
    weighted = np.linalg.solve(S, y.T).T
    score, information = (weighted * e).sum(1), (weighted * y).sum(1)
    if information.sum() <= 0:
        raise TrocarError("the mass has no effect on these efforts and cannot be estimated from them")
    mass = score.sum() / information.sum()
    # Newey and West: variance of a sum of correlated terms
    u = score - mass * information
    L = len(e) // 10 if memory is None else memory
    variance = u @ u + 2.0 * sum((1.0 - k / (L + 1)) * (u[:-k] @ u[k:]) for k in range(1, min(L, len(u) - 1) + 1))
    left, whole = ((np.linalg.solve(S, x.T).T * x).sum() for x in (e - mass * y, e))
    count = len(e) // window
    shape = (count, window)
    windows = score[: count * window].reshape(shape).sum(1) / information[: count * window].reshape(shape).sum(1)
    return PayloadEstimate(
        mass=float(mass),
        deviation=float(np.sqrt(max(variance, 0.0)) / information.sum()),
        explained=float(1.0 - left / whole),
        windows=windows,
    )


class PayloadObserver:
    """Online estimate of a mass from residuals, with exponential forgetting.

    The residual is that of a `MomentumObserver`; the efforts per mass go through the same filter, so that both have
    the same delay.

    Args:
        point: position of the mass. covariance: (k, k) of the residuals of `joints` without load.
        bandwidth: of the momentum observer [rad/s]. forgetting: time constant [s].

    Attributes:
        mass: [kg], initially 0. deviation: [kg], initially infinite; it assumes residuals correlated over 1 /
            bandwidth.
    """

    def __init__(
        self,
        point: PointMass,
        covariance: ArrayLike,
        bandwidth: float,
        forgetting: float = 1.0,
        joints: tuple[int, ...] = (0, 1, 2),
    ) -> None:
        self.point, self.bandwidth, self.forgetting, self.joints = point, float(bandwidth), float(forgetting), joints
        self._weight = np.linalg.inv(np.asarray(covariance, dtype=float))
        if self._weight.shape != (len(joints), len(joints)) or not (bandwidth > 0 and forgetting > 0):
            raise TrocarError("covariance must match the monitored joints; bandwidth and forgetting must be positive")
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.mass, self.deviation = 0.0, np.inf
        self._unit = np.zeros(len(self.joints))
        self._score = self._information = 0.0

    def update(self, residual: ArrayLike, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, dt: float) -> float:
        """The mass [kg] after a step of dt [s]; q, dq, ddq: means over the step, residual: at its end."""
        return self.advance(residual, self.point.effort(q, dq, ddq), dt)

    def advance(self, residual: ArrayLike, unit: ArrayLike, dt: float) -> float:
        """The mass [kg] after a step of dt [s], given the effort per mass (n,) that `update` computes."""
        decay = np.exp(-self.bandwidth * dt)
        now, r = (np.asarray(x, dtype=float)[list(self.joints)] for x in (unit, residual))
        self._unit = decay * self._unit - (1.0 - decay) * now  # a load is an external effort of opposite sign
        fade = np.exp(-dt / self.forgetting)
        self._score = fade * self._score + dt * float(self._unit @ self._weight @ r)
        self._information = fade * self._information + dt * float(self._unit @ self._weight @ self._unit)
        if self._information > 0:
            self.mass = self._score / self._information
            self.deviation = float(np.sqrt(2.0 / self.bandwidth / self._information))
        return self.mass


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


def force_per_effort(mechanism: Mechanism, q: ArrayLike) -> Array:
    """J^-T (..., 3, 3) [N per N m, N]: force at the tip per residual effort of each of the first three joints.

    For a contact at the tip without a moment. Like `wrist_force` it does not need the efforts of the wrist, but it
    accounts for its angles: a sideways force has a longer lever at the tip than at the wrist.
    """
    if mechanism.arm.wrist_point is None:
        raise TrocarError(f"{mechanism.arm.name} has no wrist point that three joints move; use tip_wrench")
    J = mechanism.jacobian(mechanism.checked_state(q))[..., :3, :3]
    return _inverse_transposed(J, "the tip is at the remote centre")


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
    inverse = _inverse_transposed(J, cause)
    value = np.einsum("...ij,...j->...i", inverse, r)
    return TipForce(value, inverse @ covariance @ np.swapaxes(inverse, -1, -2))


def _inverse_transposed(J: Array, cause: str) -> Array:
    """J^-T (..., k, k); an error with its cause if J is singular."""
    sigma = np.linalg.svd(J, compute_uv=False)
    if (sigma[..., -1] <= SINGULAR * sigma[..., 0]).any():
        raise TrocarError(f"{cause}: some forces have no effect on the joints")
    return np.linalg.inv(np.swapaxes(J, -1, -2))
