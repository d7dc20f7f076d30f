"""Fit of wrist cables to commanded and seen joints.

Offsets between commanded and seen joints belong to the mounting of the markers: each motion has its own, removed by its
mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from trocar.arms.wrist_cables import WristCables
from trocar.errors import TrocarError
from trocar.identification.wrist.cable_numbers import (
    START,
    cables_of,
    central_differences,
    central_steps,
    covariance,
    joint_friction,
    rest,
    with_covariance,
)
from trocar.identification.wrist.joint_pairs import JointPairs
from trocar.mechanics import Mechanism
from trocar.spatial import Array

FOLDS = 4
SETTLE = 5  # rows at the start of a motion in which the unknown state of friction still matters
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
    folds: int = FOLDS,
) -> IdentifiedWrist:
    """Cables that explain the motions, with a covariance, and the fits of a cross-validation.

    Args:
        folds: contiguous parts of every motion for the cross-validation. 0: none.
    """
    if not motions:
        raise TrocarError("no motion to identify a wrist from; give at least one")
    anchor = joint_friction(mechanism)
    judged: list[Fold] = []
    for k in range(folds):
        progress(f"cross-validation {k + 1} of {folds}")
        parts = [np.arange(len(motion.command)) * folds // len(motion.command) == k for motion in motions]
        training = [_rows(motion, ~part) for motion, part in zip(motions, parts, strict=True)]
        held_out = [_rows(motion, part) for motion, part in zip(motions, parts, strict=True)]
        fitted, arms = cables_of(_solution(training), anchor, name, source), registration(training)
        judged += [Fold(rows, fitted, arms) for rows in held_out]
    progress("fit")
    every = [_rows(motion) for motion in motions]
    x = _solution(every)
    spread = covariance(_derivatives(x, every), _residuals(x, every), [int(used.sum()) for _, used in every])
    cables = with_covariance(x, partial(cables_of, anchor=anchor, name=name, source=source), spread)
    return IdentifiedWrist(
        cables=cables,
        registration=registration(every),
        friction_ratio=cables.friction / anchor,
        folds=tuple(judged),
    )


def registration(motions: Sequence[MotionRows]) -> Array:
    """Linear map (3, 4) of the arm's joints that explains the seen ones best."""
    command = np.concatenate([motion.command[used, ARM] for motion, used in motions])
    seen = np.concatenate([motion.seen[used, ARM] for motion, used in motions])
    features = np.column_stack([np.ones(len(command)), command])
    return np.asarray(np.linalg.lstsq(features, seen - command, rcond=None)[0].T)


def _rows(motion: JointPairs, used: Array | bool = True) -> MotionRows:
    """Rows of a motion once its unknown start is forgotten."""
    return MotionRows(motion, used & (np.arange(len(motion.command)) >= SETTLE))


def _residuals(x: Array, motions: Sequence[MotionRows]) -> Array:
    """Residuals (..., rows, 3) of the wrist [rad], without the mean of each motion."""
    parts = []
    for motion, used in motions:
        e = (motion.seen[:, WRIST] - rest(x, motion.command[:, WRIST]))[..., used, :]
        parts.append(e - e.mean(-2, keepdims=True))
    return np.concatenate(parts, axis=-2)


def _derivatives(x: Array, motions: Sequence[MotionRows]) -> Array:
    """Derivatives (rows, 3, 17) of the residuals, all columns in one pass."""
    return central_differences(_residuals(x + central_steps(len(x)), motions))


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
