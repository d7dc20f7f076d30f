"""The seventeen numbers of wrist cables that positions determine, and their covariance.

The coupling G (9), the compliance of the cables (roll by itself, pitch and yaw coupled: 4), the ratio of the friction
of yaw and pitch, and the presliding distance of each friction contact (3). Positions do not depend on the common scale
of stiffness and friction, nor on that of roll alone. Both follow from the friction that the parameter set of the arm
has for these joints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from trocar.arms.wrist_cables import CABLE_JOINTS, WristCables
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.mechanics.cable_wrist import friction_torques
from trocar.spatial import Array

STEP = 1e-4  # of the numerical derivatives
# Start of a fit: identity coupling, 0.1 rad of play in every joint, short presliding.
START = np.concatenate([np.zeros(9), np.log([0.02, 0.3]), [0.0], np.log([0.3]), [0.0], np.log([0.01, 0.03, 0.03])])
SECOND_START = np.where(np.arange(17) == 9, np.log(0.01), START)  # less play of roll
# The results among the 21 `numbers` of cables: not the coupling of roll's stiffness, which is zero, nor its friction.
RESULTS = np.delete(np.arange(21), [10, 11, 15])
# Rows of one block of the covariance: residuals are correlated over some ten rows, and there must be many blocks.
MIN_BLOCK, MAX_BLOCK, BLOCKS = 10, 100, 50


def joint_friction(mechanism: Mechanism) -> Array:
    """Coulomb friction (3,) that a motor works against when one wrist joint moves alone [N m]."""
    rows = [mechanism.arm.joint_names.index(joint) for joint in CABLE_JOINTS]
    drives = mechanism.drives
    friction = (drives.Fc + drives.S @ drives.F) @ np.abs(drives.A[:, rows])
    if not (friction > 0).all():
        raise TrocarError(f"the parameter set of {mechanism.arm.name} has no friction of the wrist to set the scale by")
    return np.asarray(friction)


def terms(x: Array) -> tuple[Array, Array, Array, Array]:
    """G, C (..., 3, 3), F and presliding (..., 3) of numbers x (..., 17), with friction 1 as the unit."""
    G = np.eye(3) + x[..., :9].reshape(*x.shape[:-1], 3, 3)
    L = np.zeros_like(G)
    L[..., 0, 0], L[..., 1, 1], L[..., 2, 2] = np.exp(0.5 * x[..., 9]), np.exp(x[..., 10]), np.exp(x[..., 12])
    L[..., 2, 1] = x[..., 11]
    F = np.stack([np.ones(x.shape[:-1]), np.exp(-0.5 * x[..., 13]), np.exp(0.5 * x[..., 13])], axis=-1)
    return G, L @ np.swapaxes(L, -1, -2), F, np.exp(x[..., 14:17]) / F


def rest(x: Array, q_motor: Array) -> Array:
    """Rest positions (..., T, 3) [rad] of cables with numbers x (..., 17) along motor positions (T, 3)."""
    G, C, F, presliding = terms(x)
    r = q_motor @ np.swapaxes(G, -1, -2)
    return np.asarray(r - friction_torques(r, C, F, presliding, r[..., 0, :]) @ C)


def cables_of(x: Array, anchor: Array, name: str, source: str) -> WristCables:
    """Numbers in SI units: roll has the friction of the set (`anchor`), pitch and yaw the same geometric mean."""
    G, C, F, presliding = terms(x)
    common = np.sqrt(anchor[1] * anchor[2])
    unit = np.array([anchor[0], common, common])
    S = np.linalg.inv(C) * np.sqrt(np.outer(unit, unit))
    return WristCables(
        name=name, source=source, stiffness=0.5 * (S + S.T), friction=F * unit, presliding=presliding / unit, coupling=G
    )


def anchored(cables: WristCables, anchor: Array) -> WristCables:
    """Cables with the same rest positions and the scale of `cables_of`, for comparisons; roll must not be coupled."""
    common = np.sqrt(np.prod(anchor[1:] / cables.friction[1:]))
    unit = np.array([anchor[0] / cables.friction[0], common, common])
    S = cables.stiffness * np.sqrt(np.outer(unit, unit))
    return replace(cables, stiffness=S, friction=cables.friction * unit, presliding=cables.presliding / unit)


def central_steps(n: int) -> Array:
    """Steps (2 n, n) up and down in every number, for central differences."""
    return STEP * np.concatenate([np.eye(n), -np.eye(n)])


def central_differences(values: Array) -> Array:
    """Derivatives (..., n) of values (2 n, ...) at `central_steps`."""
    n = len(values) // 2
    return np.moveaxis((values[:n] - values[n:]) / (2.0 * STEP), 0, -1)


def covariance(J: Array, e: Array, counts: Sequence[int], prior: Array | None = None) -> Array:
    """Covariance (n, n) of a least-squares fit with derivatives J (rows, k, n) and residuals e (rows, k).

    Residuals may be correlated within blocks of rows, not between them.

    Args:
        counts: rows of each motion. prior: (n,) information on every number. Default: none.
    """
    information = np.einsum("tia,tib->ab", J, J) + np.diag(np.zeros(J.shape[-1]) if prior is None else prior)
    H = np.linalg.pinv(information, hermitian=True)
    scores = np.array([np.einsum("tia,ti->a", J[rows], e[rows]) for rows in _blocks(counts)])
    return np.asarray(H @ (scores.T @ scores) @ H * len(scores) / max(1, len(scores) - J.shape[-1]))


def with_covariance(x: Array, cables: Callable[[Array], WristCables], spread: Array) -> WristCables:
    """The cables of x with the covariance of their numbers, from that of x (17, 17)."""
    slope = central_differences(np.array([cables(x + h).numbers for h in central_steps(len(x))]))
    numbers = slope @ spread @ slope.T
    return replace(cables(x), covariance=0.5 * (numbers + numbers.T))


def _blocks(counts: Sequence[int]) -> Iterator[slice]:
    """Blocks of consecutive rows of the residuals, each within one motion."""
    length = int(np.clip(sum(counts) // BLOCKS, MIN_BLOCK, MAX_BLOCK))
    for first, count in zip(np.cumsum([0, *counts]), counts, strict=False):
        for start in range(0, count, length):
            yield slice(first + start, first + min(start + length, count))
