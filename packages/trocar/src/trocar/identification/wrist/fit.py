"""Fit of wrist cables to commanded and seen joints.

Seventeen numbers: the coupling G (9), the compliance of the cables (roll by itself, pitch and yaw coupled: 4), the
ratio of the friction of yaw and pitch, and the presliding distance of each friction contact (3). Offsets between
commanded and seen joints belong to the mounting of the markers: each motion has its own, removed by its mean.

Positions do not depend on the common scale of stiffness and friction, nor on that of roll alone. Both follow from the
friction that the parameter set of the arm has for these joints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from trocar.arms.wrist_cables import WristCables
from trocar.errors import TrocarError
from trocar.identification.wrist.joint_pairs import JointPairs
from trocar.mechanics import Mechanism
from trocar.mechanics.cable_wrist import friction_torques
from trocar.spatial import Array

FOLDS = 4
SETTLE = 5  # rows at the start of a motion in which the unknown state of friction still matters
# Rows of one block of the covariance: residuals are correlated over some ten rows, and there must be many blocks.
MIN_BLOCK, MAX_BLOCK, BLOCKS = 10, 100, 50
STEP = 1e-4  # of the numerical derivatives
# Start of the fit: identity coupling, 0.1 rad of play in every joint, short presliding.
START = np.concatenate([np.zeros(9), np.log([0.02, 0.3]), [0.0], np.log([0.3]), [0.0], np.log([0.01, 0.03, 0.03])])
WRIST, ARM = slice(3, 6), slice(0, 3)


class MotionRows(NamedTuple):
    """A motion, and which of its rows (N,) count; friction remembers the others."""

    motion: JointPairs
    used: Array


class Fold(NamedTuple):
    """Held-out rows of a motion, and the fit to all other rows."""

    held_out: MotionRows
    cables: WristCables
    registration: Array


@dataclass(frozen=True, kw_only=True)
class IdentifiedWrist:
    """Result of `identify_wrist`.

    Attributes:
        cables: with the covariance of their numbers.
        registration: (3, 4) seen yaw, pitch, insertion = commanded ones + registration @ (1, commanded ones) [rad, m].
            It contains the errors of the camera and of its hand-eye transform, so it is no property of the arm.
        friction_ratio: (3,) fitted friction over that of the arm's parameter set, joint by joint. Roll: 1, no
            information.
        folds: fits that left out a contiguous part of every motion. Empty without cross-validation.
    """

    cables: WristCables
    registration: Array
    friction_ratio: Array
    folds: tuple[Fold, ...]


def identify_wrist(
    motions: Sequence[JointPairs],
    mechanism: Mechanism,
    name: str,
    source: str,
    progress: Callable[[str], None] = lambda text: None,
    cross_validate: bool = True,
) -> IdentifiedWrist:
    """Cables that explain the motions, with a covariance, and the fits of a cross-validation over contiguous parts."""
    if not motions:
        raise TrocarError("no motion to identify a wrist from; give at least one")
    anchor = joint_friction(mechanism)
    folds: list[Fold] = []
    for k in range(FOLDS if cross_validate else 0):
        progress(f"cross-validation {k + 1} of {FOLDS}")
        parts = [np.arange(len(motion.command)) * FOLDS // len(motion.command) == k for motion in motions]
        training = [_rows(motion, ~part) for motion, part in zip(motions, parts, strict=True)]
        held_out = [_rows(motion, part) for motion, part in zip(motions, parts, strict=True)]
        fitted, arms = _cables(_solution(training), anchor, name, source), registration(training)
        folds += [Fold(rows, fitted, arms) for rows in held_out]
    progress("fit")
    every = [_rows(motion) for motion in motions]
    cables = _with_covariance(_solution(every), partial(_cables, anchor=anchor, name=name, source=source), every)
    return IdentifiedWrist(
        cables=cables,
        registration=registration(every),
        friction_ratio=cables.friction / anchor,
        folds=tuple(folds),
    )


def joint_friction(mechanism: Mechanism) -> Array:
    """Coulomb friction (3,) that a motor works against when one wrist joint moves alone [N m]."""
    rows = [mechanism.arm.joint_names.index(joint) for joint in ("roll", "wrist_pitch", "wrist_yaw")]
    drives = mechanism.drives
    friction = (drives.Fc + drives.S @ drives.F) @ np.abs(drives.A[:, rows])
    if not (friction > 0).all():
        raise TrocarError(f"the parameter set of {mechanism.arm.name} has no friction of the wrist to set the scale by")
    return np.asarray(friction)


def registration(motions: Sequence[MotionRows]) -> Array:
    """Linear map (3, 4) of the arm's joints that explains the seen ones best."""
    command = np.concatenate([motion.command[used, ARM] for motion, used in motions])
    seen = np.concatenate([motion.seen[used, ARM] for motion, used in motions])
    features = np.column_stack([np.ones(len(command)), command])
    return np.asarray(np.linalg.lstsq(features, seen - command, rcond=None)[0].T)


def _rows(motion: JointPairs, used: Array | bool = True) -> MotionRows:
    """Rows of a motion once its unknown start is forgotten."""
    return MotionRows(motion, used & (np.arange(len(motion.command)) >= SETTLE))


def _terms(x: Array) -> tuple[Array, Array, Array, Array]:
    """G, C (..., 3, 3), F and presliding (..., 3) of numbers x (..., 17), with friction 1 as the unit."""
    G = np.eye(3) + x[..., :9].reshape(*x.shape[:-1], 3, 3)
    L = np.zeros_like(G)
    L[..., 0, 0], L[..., 1, 1], L[..., 2, 2] = np.exp(0.5 * x[..., 9]), np.exp(x[..., 10]), np.exp(x[..., 12])
    L[..., 2, 1] = x[..., 11]
    F = np.stack([np.ones(x.shape[:-1]), np.exp(-0.5 * x[..., 13]), np.exp(0.5 * x[..., 13])], axis=-1)
    return G, L @ np.swapaxes(L, -1, -2), F, np.exp(x[..., 14:17]) / F


def _cables(x: Array, anchor: Array, name: str, source: str) -> WristCables:
    """Numbers in SI units: roll has the friction of the set, pitch and yaw the same geometric mean."""
    G, C, F, presliding = _terms(x)
    common = np.sqrt(anchor[1] * anchor[2])
    unit = np.array([anchor[0], common, common])
    S = np.linalg.inv(C) * np.sqrt(np.outer(unit, unit))
    return WristCables(
        name=name, source=source, stiffness=0.5 * (S + S.T), friction=F * unit, presliding=presliding / unit, coupling=G
    )


def _residuals(x: Array, motions: Sequence[MotionRows]) -> Array:
    """Residuals (..., rows, 3) of the wrist [rad], without the mean of each motion."""
    G, C, F, presliding = _terms(x)
    parts = []
    for motion, used in motions:
        r = motion.command[:, WRIST] @ np.swapaxes(G, -1, -2)
        q = r - friction_torques(r, C, F, presliding, r[..., 0, :]) @ C
        e = (motion.seen[:, WRIST] - q)[..., used, :]
        parts.append(e - e.mean(-2, keepdims=True))
    return np.concatenate(parts, axis=-2)


def _derivatives(x: Array, motions: Sequence[MotionRows]) -> Array:
    """Derivatives (rows, 3, 17) of the residuals, all columns in one pass."""
    e = _residuals(x + STEP * np.concatenate([np.eye(len(x)), -np.eye(len(x))]), motions)
    return np.moveaxis((e[: len(x)] - e[len(x) :]) / (2.0 * STEP), 0, -1)


def _solution(motions: Sequence[MotionRows]) -> Array:
    result = least_squares(
        lambda x: _residuals(x, motions).ravel(),
        START,
        jac=lambda x: _derivatives(x, motions).reshape(-1, len(x)),
        xtol=1e-4,
        ftol=1e-4,
        max_nfev=60,
    )
    if result.status <= 0:
        raise TrocarError(f"the fit of the wrist did not converge: {result.message}")
    return np.asarray(result.x)


def _blocks(motions: Sequence[MotionRows]) -> Iterator[slice]:
    """Blocks of consecutive rows of the residuals, each within one motion."""
    counts = [int(used.sum()) for _, used in motions]
    length = int(np.clip(sum(counts) // BLOCKS, MIN_BLOCK, MAX_BLOCK))
    for first, count in zip(np.cumsum([0, *counts]), counts, strict=False):
        for start in range(0, count, length):
            yield slice(first + start, first + min(start + length, count))


def _with_covariance(x: Array, cables: Callable[[Array], WristCables], motions: Sequence[MotionRows]) -> WristCables:
    """The cables with their covariance: residuals may be correlated within blocks of rows, not between them."""
    J, e = _derivatives(x, motions), _residuals(x, motions)
    H = np.linalg.pinv(np.einsum("tia,tib->ab", J, J))
    scores = np.array([np.einsum("tia,ti->a", J[rows], e[rows]) for rows in _blocks(motions)])
    covariance = H @ (scores.T @ scores) @ H * len(scores) / max(1, len(scores) - len(x))
    steps = STEP * np.eye(len(x))
    slope = np.array([(cables(x + h).numbers - cables(x - h).numbers) / (2.0 * STEP) for h in steps]).T
    one = cables(x)
    spread = slope @ covariance @ slope.T
    return WristCables(
        name=one.name,
        source=one.source,
        **{field: getattr(one, field) for field in ("stiffness", "friction", "presliding", "coupling")},
        covariance=0.5 * (spread + spread.T),
    )
