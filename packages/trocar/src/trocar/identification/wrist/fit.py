"""Fit of wrist cables to commanded and seen joints.

Offsets between commanded and seen joints belong to the mounting of the markers: each motion has its own, removed by its
mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy

from trocar.arms.wrist_cables import WristCables
from trocar.errors import TrocarError
from trocar.identification.wrist.cable_numbers import (
    SECOND_START,
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
CLEARLY = 1e-3  # relative difference of the sums of squares of two minima
WRIST, ARM = slice(3, 6), slice(0, 3)


class MotionRows(NamedTuple):
    """A motion, and which of its rows (N,) count; friction remembers the others."""

    motion: JointPairs
    used: Array


class JointRegistration(NamedTuple):
    """Maps of commanded joints that explain what rest positions do not, without history.

    They contain the errors of the camera and of its hand-eye transform as well as the arm's own, so they are no
    property of the arm, and the simulated arm has none of them.

    Attributes:
        arm: (3, 4) seen yaw, pitch, insertion = commanded ones + arm @ (1, commanded ones) [rad, m].
        wrist: (3, 7) seen wrist joints = rest positions + wrist @ `bends`, up to a constant [rad].
    """

    arm: Array
    wrist: Array

    def arm_joints(self, command: Array) -> Array:
        """Registered yaw, pitch, insertion (N, 3) of commanded joints (N, 6) [rad, m]."""
        return np.asarray(command[:, ARM] + np.column_stack([np.ones(len(command)), command[:, ARM]]) @ self.arm.T)


class Fold(NamedTuple):
    """Held-out rows of a motion, and the fit to all other rows."""

    held_out: MotionRows
    cables: WristCables
    registration: JointRegistration


@dataclass(frozen=True, kw_only=True)
class IdentifiedWrist:
    """Result of `identify_wrist`.

    Attributes:
        cables: with the covariance of their numbers.
        registration: of the joints that the camera saw.
        friction_ratio: (3,) fitted friction over that of the arm's parameter set, joint by joint. Roll: 1, no
            information.
        folds: fits that left out a contiguous part of every motion. Empty without cross-validation.
    """

    cables: WristCables
    registration: JointRegistration
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
        x = _solution(training)
        fitted = cables_of(x, anchor, name, source)
        judged += [Fold(rows, fitted, registration(training, x)) for rows in held_out]
    progress("fit")
    every = [_rows(motion) for motion in motions]
    x = _solution(every)
    spread = covariance(_derivatives(x, every), _residuals(x, every), [int(used.sum()) for _, used in every])
    cables = with_covariance(x, partial(cables_of, anchor=anchor, name=name, source=source), spread)
    return IdentifiedWrist(
        cables=cables,
        registration=registration(every, x),
        friction_ratio=cables.friction / anchor,
        folds=tuple(judged),
    )


def bends(command: Array) -> Array:
    """Squares and cubes (N, 7) of commanded wrist pitch p and yaw y: p^2, p y, y^2, p^3, p^2 y, p y^2, y^3."""
    p, y = command[:, 4], command[:, 5]
    return np.column_stack([p * p, p * y, y * y, p**3, p * p * y, p * y * y, y**3])


def registration(motions: Sequence[MotionRows], x: Array) -> JointRegistration:
    """Maps of the arm's and the wrist's joints that explain the seen ones best, for cables with numbers x (17,)."""
    command = np.concatenate([motion.command[used, ARM] for motion, used in motions])
    seen = np.concatenate([motion.seen[used, ARM] for motion, used in motions])
    features = np.column_stack([np.ones(len(command)), command])
    shapes = [bends(motion.command[used]) for motion, used in motions]
    shape = np.concatenate([part - part.mean(0) for part in shapes])
    arm = np.linalg.lstsq(features, seen - command, rcond=None)[0].T
    return JointRegistration(arm, np.linalg.lstsq(shape, _residuals(x, motions), rcond=None)[0].T)


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
    """Numbers (17,) of the best fit. Rest positions have kinks, so there are local minima, and two starts."""
    first, second = (_minimum(motions, start) for start in (START, SECOND_START))
    return np.asarray(second.x if second.cost < (1.0 - CLEARLY) * first.cost else first.x)


def _minimum(motions: Sequence[MotionRows], start: Array) -> Any:
    result = scipy.optimize.least_squares(
        lambda x: _residuals(x, motions).ravel(),
        start,
        jac=lambda x: _derivatives(x, motions).reshape(-1, len(x)),
        xtol=1e-4,
        ftol=1e-4,
        max_nfev=60,
    )
    if result.status <= 0:
        raise TrocarError(f"the fit of the wrist did not converge: {result.message}")
    return result
