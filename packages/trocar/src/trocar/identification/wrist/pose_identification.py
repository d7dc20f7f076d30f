"""Identification of wrist cables from seen poses: cables with covariance, cross-validation and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from trocar.arms.wrist_cables import WristCables
from trocar.errors import TrocarError
from trocar.identification.wrist.cable_numbers import (
    cables_of,
    central_differences,
    central_steps,
    covariance,
    joint_friction,
    with_covariance,
)
from trocar.identification.wrist.fit import FOLDS
from trocar.identification.wrist.joint_pairs import JointPairs
from trocar.identification.wrist.pose_fit import (
    CABLES,
    INFORMATION,
    PoseFit,
    PoseRows,
    derivatives,
    fit_poses,
    inliers,
    pose_rows,
    residuals,
)
from trocar.identification.wrist.pose_pairs import PosePairs, tip_poses
from trocar.mechanics import Mechanism
from trocar.spatial import Array, pose_error


class PoseFold(NamedTuple):
    """Held-out rows of a motion, and the fit to all other rows."""

    held_out: PoseRows
    fit: PoseFit


@dataclass(frozen=True, kw_only=True)
class PoseIdentifiedWrist:
    """Result of `identify_wrist_from_poses`.

    Attributes:
        cables: with the covariance of their numbers. fit: hand-eye transforms, offsets and noise.
        friction_ratio: (3,) fitted friction over that of the arm's parameter set. Roll: 1, no information.
        folds: fits that left out a contiguous part of every motion.
    """

    cables: WristCables
    fit: PoseFit
    friction_ratio: Array
    folds: tuple[PoseFold, ...]


@dataclass(frozen=True, kw_only=True)
class PoseScore:
    """Mean errors of modelled poses: commanded joints with their best hand-eye transforms, and with cables.

    Attributes:
        name, rows: of the motion.
        raw_tip, raw_marker, tip, marker: distances [m]. raw_angle, angle: rotations [rad].
        median_tip, median_angle: medians with cables, which ignore outliers of the tracker.
    """

    name: str
    rows: int
    raw_tip: float
    raw_marker: float
    raw_angle: float
    tip: float
    marker: float
    angle: float
    median_tip: float
    median_angle: float


def identify_wrist_from_poses(
    motions: Sequence[PosePairs],
    mechanism: Mechanism,
    name: str,
    source: str,
    progress: Callable[[str], None] = lambda text: None,
    folds: int = FOLDS,
) -> PoseIdentifiedWrist:
    """Cables and hand-eye transforms that explain the motions, which share tracker, base and marker.

    Args:
        folds: contiguous parts of every motion for the cross-validation. 0: none.
    """
    if not motions:
        raise TrocarError("no motion to identify a wrist from; give at least one")
    judged: list[PoseFold] = []
    for k in range(folds):
        progress(f"cross-validation {k + 1} of {folds}")
        parts = [np.arange(len(motion.command)) * folds // len(motion.command) == k for motion in motions]
        pairs = list(zip(motions, parts, strict=True))
        fit = fit_poses([pose_rows(motion, ~part) for motion, part in pairs], mechanism)
        judged += [PoseFold(pose_rows(motion, part), fit) for motion, part in pairs]
    progress("fit")
    every = [pose_rows(motion) for motion in motions]
    fit, anchor = fit_poses(every, mechanism), joint_friction(mechanism)
    kept = inliers(fit, every, mechanism)
    counts = [int(used.sum()) for _, used in kept]
    spread = covariance(derivatives(fit, kept, mechanism), residuals(fit, kept, mechanism), counts, INFORMATION)
    build = partial(cables_of, anchor=anchor, name=name, source=source)
    cables = with_covariance(fit.x[CABLES], build, spread[CABLES, CABLES])
    return PoseIdentifiedWrist(cables=cables, fit=fit, friction_ratio=cables.friction / anchor, folds=tuple(judged))


def pose_score(rows: PoseRows, fit: PoseFit, mechanism: Mechanism) -> PoseScore:
    """Errors of a fit on the used rows, which it may not have seen; nothing is adapted to them."""
    motion, used = rows
    seen = motion.seen[used]
    errors = []
    for transforms, q in ((fit.rigid, motion.command), (fit.transforms, fit.joints(motion.command))):
        tips = tip_poses(mechanism, q[used])
        at_tip, at_marker = pose_error(transforms.tip(seen), tips), pose_error(seen, transforms.marker(tips))
        errors.append([np.linalg.norm(e, axis=1) for e in (at_tip[:, :3], at_marker[:, :3], at_marker[:, 3:])])
    raw, modelled = ([float(e.mean()) for e in part] for part in errors)
    return PoseScore(
        name=motion.name,
        rows=int(used.sum()),
        raw_tip=raw[0],
        raw_marker=raw[1],
        raw_angle=raw[2],
        tip=modelled[0],
        marker=modelled[1],
        angle=modelled[2],
        median_tip=float(np.median(errors[1][0])),
        median_angle=float(np.median(errors[1][2])),
    )


def joints_seen(motion: PosePairs, fit: PoseFit, mechanism: Mechanism) -> JointPairs:
    """The motion in joints: those that bring the modelled marker to the seen one, by Gauss-Newton from the model.

    Rows in which the marker is not seen, or is an outlier, have the modelled joints.
    """
    (_, good), model = inliers(fit, [pose_rows(motion)], mechanism)[0], fit.joints(motion.command)
    q, target = model[good], fit.transforms.tip(motion.seen[good])
    for _ in range(3):
        J = central_differences(pose_error(target, tip_poses(mechanism, q + central_steps(6)[:, None])))
        q = q - (np.linalg.pinv(J, rcond=1e-6) @ pose_error(target, tip_poses(mechanism, q))[..., None])[..., 0]
    seen = model.copy()
    seen[good] = q
    return JointPairs(name=motion.name, command=motion.command, seen=seen)
