"""Gravity of a da Vinci Si arm in closed form, and its coefficients from static poses alone.

Yaw q1, pitch q2 and insertion q3 carry the arm's first moment, in base axes,

    S = (D c1 - Z s1,  Y,  D s1 + Z c1),   Z = C + A c2 + B s2 - m3 q3 c2,   Y = A s2 - B c2 - m3 q3 s2  (+ a constant)

so its gravity is tau = -d(g . S)/dq with five numbers, for any links, mounting and gravity vector g:
D, C, A, B [kg m] and m3 [kg]. A drive may add a constant force to each joint (a fourth kind of number, K0).
Table II of Zhou et al. 2025 has five static poses of a PSM, from which its gravity and friction follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import ArrayLike

from trocar.arms.arm import GRAVITY
from trocar.arms.tables import read
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES
from trocar.spatial import Array

COEFFICIENTS = ("D", "C", "A", "B", "m3")
LEVEL = (0.0, 0.0, -GRAVITY)
ARMS = ("PSM_Si", "ECM_Si")


def gravity_regressor(q: ArrayLike, gravity: ArrayLike = LEVEL) -> Array:
    """(..., 3, 5) with `gravity_regressor(q) @ (D, C, A, B, m3)` = gravity efforts of yaw, pitch, insertion [N m, N].

    q (..., 3 or more) [rad, rad, m]; gravity (3,) [m/s^2] in base axes.
    """
    q = np.asarray(q, dtype=float)
    q3, (s1, s2), (c1, c2) = q[..., 2], np.sin(np.moveaxis(q[..., :2], -1, 0)), np.cos(np.moveaxis(q[..., :2], -1, 0))
    o, i = np.zeros_like(q3), np.ones_like(q3)

    def row(*by_coefficient: Array) -> Array:
        return np.stack(by_coefficient, axis=-1)

    D, Z = row(i, o, o, o, o), row(o, i, c2, s2, -q3 * c2)
    Z_2, Z_3 = row(o, o, -s2, c2, q3 * s2), row(o, o, o, o, -c2)
    Y_2, Y_3 = row(o, o, c2, s2, -q3 * c2), row(o, o, o, o, -s2)
    s1, c1 = s1[..., None], c1[..., None]
    x, y, z = np.asarray(gravity, dtype=float)
    yaw = x * (-D * s1 - Z * c1) + z * (D * c1 - Z * s1)
    pitch, insertion = (-x * s1 * Zk + y * Yk + z * c1 * Zk for Zk, Yk in ((Z_2, Y_2), (Z_3, Y_3)))
    return -np.stack([yaw, pitch, insertion], axis=-2)


def coefficient_rows(mechanism: Mechanism) -> Array:
    """Matrix (5, p) that maps `parameter_vector` to the coefficients; drives do not contribute."""
    if mechanism.arm.name not in ARMS:
        raise TrocarError(f"{mechanism.arm.name} has no such closed form; only {' and '.join(ARMS)} have it")
    arm = mechanism.arm
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (60, arm.n))
    level = Mechanism(arm, mechanism.parameters, gravity=LEVEL)
    Y = level.regressor(q, 0 * q, 0 * q)[:, :3]
    links = np.array([name.split(".")[-1] in NAMES for name in level.parameter_names])
    rows = np.linalg.lstsq(gravity_regressor(q).reshape(-1, 5), Y.reshape(-1, Y.shape[-1]), rcond=None)[0]
    return np.where(links, np.round(rows, 12), 0.0)


def coefficients(mechanism: Mechanism) -> Array:
    """D, C, A, B [kg m] and m3 [kg] (5,) of an arm with parameters."""
    return coefficient_rows(mechanism) @ mechanism.parameter_vector


@dataclass(frozen=True)
class GravityFit:
    """Least-squares fit of static efforts.

    Attributes:
        coefficients: (5,) D, C, A, B [kg m], m3 [kg]. K0: (3,) constant forces [N m, N], zero if not fitted.
        covariance: of both, (5 or 8, 5 or 8), from the residuals of each joint.
        q, tau, gravity: the fitted data: poses (N, 3), efforts (N, 3), gravity in base axes (3,).
    """

    coefficients: Array
    K0: Array
    covariance: Array
    q: Array
    tau: Array
    gravity: Array
    offsets: bool

    def predicted(self, q: ArrayLike, gravity: ArrayLike | None = None) -> Array:
        """Efforts (..., 3) that hold the arm at q, constant forces included [N m, N]."""
        return gravity_regressor(q, self.gravity if gravity is None else gravity) @ self.coefficients + self.K0

    @cached_property
    def residual(self) -> Array:
        """Residual (N, 3) [N m, N]: measured minus predicted."""
        return np.asarray(self.tau - self.predicted(self.q))

    @property
    def rms(self) -> Array:
        """Root mean square (3,) of the residual."""
        return np.asarray(np.sqrt((self.residual**2).mean(0)))

    def left_out(self) -> Array:
        """Efforts (N, 3) of each pose predicted from all others."""
        rows = []
        for k in range(len(self.q)):
            others = np.arange(len(self.q)) != k
            fit = fit_gravity(self.q[others], self.tau[others], gravity=self.gravity, offsets=self.offsets)
            rows.append(fit.predicted(self.q[k]))
        return np.array(rows)


def fit_gravity(q: ArrayLike, tau: ArrayLike, *, gravity: ArrayLike = LEVEL, offsets: bool = True) -> GravityFit:
    """The five coefficients, and with `offsets` three constant forces K0, from poses held at rest.

    Args:
        q: (N, 3 or more), yaw, pitch [rad], insertion [m]. tau: (N, 3 or more) efforts that held them [N m, N]. They
            include static friction: use the mean of two efforts, approached from both sides.
        gravity: (3,) in base axes [m/s^2].
    """
    q, tau, gravity = (np.asarray(x, dtype=float) for x in (q, tau, gravity))
    if q.ndim != 2 or q.shape[1] < 3 or tau.ndim != 2 or tau.shape[1] < 3 or len(q) != len(tau):
        raise TrocarError(f"poses and efforts must be (N, 3 or more) each, got {q.shape} and {tau.shape}")
    if not (np.isfinite(q).all() and np.isfinite(tau).all()):
        raise TrocarError("poses and efforts must be finite")
    q, tau = q[:, :3], tau[:, :3]
    H = gravity_regressor(q, gravity)
    if offsets:
        H = np.concatenate([H, np.broadcast_to(np.eye(3), (len(q), 3, 3))], axis=-1)
    count = H.shape[-1]
    W = H.reshape(-1, count)
    values = np.linalg.svd(W / np.maximum(np.linalg.norm(W, axis=0), 1e-300), compute_uv=False)
    if len(W) < count or values[-1] < 1e-4 * values[0]:
        raise TrocarError(
            f"these {len(q)} poses do not determine the {count} numbers (smallest singular value {values[-1]:.2g}): "
            "use four or more poses that differ in yaw, pitch and insertion"
        )
    x = np.linalg.lstsq(W, tau.reshape(-1), rcond=None)[0]
    residual = (tau.reshape(-1) - W @ x).reshape(-1, 3)
    # each joint has its own scatter; the degrees of freedom are divided evenly over the joints
    free = max(1.0, len(q) - count / 3)
    variance = np.tile((residual**2).sum(0) / free, len(q))
    pinv = np.linalg.pinv(W)
    return GravityFit(
        coefficients=x[:5],
        K0=x[5:] if offsets else np.zeros(3),
        covariance=(pinv * variance) @ pinv.T,
        q=q,
        tau=tau,
        gravity=gravity,
        offsets=offsets,
    )


# -- Table II of Zhou et al. 2025 --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StaticTable:
    """Table II: five poses at rest. Efforts (5, 3) of yaw, pitch [N m], insertion [N]; errors as printed [deg, mm]."""

    q: Array
    pose: Array
    PD_error: Array
    GC_error: Array
    PD_torque: Array
    GC_torque: Array
    lower: Array
    upper: Array

    @property
    def middle(self) -> Array:
        """Centre of the non-drift band: the gravity effort if friction is symmetric."""
        return 0.5 * (self.lower + self.upper)

    @property
    def half_band(self) -> Array:
        """Half the width of the non-drift band: static friction."""
        return 0.5 * (self.upper - self.lower)

    def inside(self, tau: Array) -> Array:
        """Mask (5, 3) of efforts within the bounds."""
        return (tau >= self.lower) & (tau <= self.upper)


@cache
def table_two() -> StaticTable:
    """Table II of Zhou et al. 2025, and the joint values of its poses."""
    table = read("static_psm_si")
    a, b = np.array(table["bound_1"]), np.array(table["bound_2"])
    names = ("q", "pose", "PD_error", "GC_error", "PD_torque", "GC_torque")
    return StaticTable(
        **{name: np.array(table[name]) for name in names}, lower=np.minimum(a, b), upper=np.maximum(a, b)
    )


def identified() -> GravityFit:
    """The authors' model: gravity and constant forces of their compensation torques."""
    return fit_gravity(table_two().q, table_two().GC_torque)


def measured() -> GravityFit:
    """The arm itself: gravity and constant forces of the middle of the non-drift bounds."""
    return fit_gravity(table_two().q, table_two().middle)


def static_friction() -> Array:
    """Coulomb friction at no load and its growth (3, 2), from the half-bands.

    Yaw and pitch: [N m], per load. Insertion: [N] at q3 = 0, per depth [N/m].
    """
    table = table_two()
    fit = measured()
    load = np.abs(gravity_regressor(table.q) @ fit.coefficients + fit.K0)
    against = np.stack([load[:, 0], load[:, 1], table.q[:, 2]], axis=-1)
    rows = [np.polyfit(against[:, j], table.half_band[:, j], 1)[::-1] for j in range(3)]
    return np.array(rows)
