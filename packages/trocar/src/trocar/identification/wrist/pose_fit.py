"""Fit of wrist cables to commanded joints and seen poses of a marker, together with the hand-eye transforms.

T_tracker_marker = T_tracker_base T_base_tip(q) T_tip_marker. The wrist is that of the cables with constant offsets;
yaw, pitch and insertion follow a linear map of the commanded ones, as in the fit to joints. Weak priors decide what
poses cannot, such as the offset of yaw, which moves the marker like the base does.

Robust: a start in closed form without rows that do not fit, then least squares with a loss that grows linearly, then
without rows far beyond the noise. Position and rotation are weighted by their own noise, estimated on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy
from scipy.spatial.transform import Rotation

from trocar.errors import TrocarError
from trocar.identification.wrist.cable_numbers import (
    SECOND_START,
    START,
    STEP,
    central_differences,
    central_steps,
    rest,
)
from trocar.identification.wrist.fit import ARM, SETTLE, WRIST
from trocar.identification.wrist.joint_pairs import MIN_ROWS
from trocar.identification.wrist.pose_pairs import PosePairs, tip_poses
from trocar.mechanics import Mechanism
from trocar.mechanics.hand_eye import hand_eye
from trocar.spatial import Array, inverse, pose, pose_error

# The numbers of a fit: cables, offsets of the wrist, map of the arm's joints, twists of base and marker.
CABLES, OFFSETS, MAP, TWISTS, COUNT = slice(0, 17), slice(17, 20), slice(20, 32), slice(32, 44), 44
# Standard deviations of the priors: offsets of the wrist [rad]; offset and slopes of yaw, pitch [rad] and insertion [m]
# by (1, yaw, pitch, insertion). Wide: offsets of the encoders are some mrad, slopes some per cent.
# Cables: couplings, and logarithms of the others, about the start of the fit; a number that a motion does not show
# would run away otherwise.
PRIOR = np.concatenate([[0.5] * 9, [2.0] * 8, [0.3] * 3, [0.05, 0.1, 0.1, 1.0] * 2, [0.02, 0.05, 0.05, 0.2]])
INFORMATION = np.concatenate([PRIOR**-2.0, np.zeros(12)])
CENTRE = np.concatenate([START, np.zeros(COUNT - len(START))])
OUTLIER = 6.0  # times the noise, in a coordinate: rows beyond it are left out
LOSS = 2.0  # times the noise, beyond which the loss grows linearly
FAR = 4.0  # times the median: rows left out of the closed-form start
MAD = 1.4826  # standard deviation of normal noise over the median of its absolute values
MAX_MISFIT = np.array([0.03, 0.7])  # [m, rad] medians beyond which commands and poses do not belong together


class PoseRows(NamedTuple):
    """A motion, and which of its rows (N,) count; friction remembers the others."""

    motion: PosePairs
    used: Array


class HandEye(NamedTuple):
    """Transforms around the arm: base in the tracker's frame, and marker in the tip's frame (4, 4) [m]."""

    T_tracker_base: Array
    T_tip_marker: Array

    def marker(self, T_base_tip: Array) -> Array:
        """T_tracker_marker (..., 4, 4)."""
        return self.T_tracker_base @ T_base_tip @ self.T_tip_marker

    def tip(self, T_tracker_marker: Array) -> Array:
        """T_base_tip (..., 4, 4)."""
        return inverse(self.T_tracker_base) @ T_tracker_marker @ inverse(self.T_tip_marker)


@dataclass(frozen=True, kw_only=True)
class PoseFit:
    """Cables with what connects them to seen poses.

    Attributes:
        x: (44,) numbers of the fit; its twists are zero, they are in `transforms`.
        transforms: hand-eye transforms. rigid: those for the commanded joints, without cables, offsets and map.
        noise: (2,) standard deviation of a coordinate of the residuals, in position [m] and rotation [rad].
        outliers: number of rows left out.
    """

    x: Array
    transforms: HandEye
    rigid: HandEye
    noise: Array
    outliers: int = 0

    def joints(self, command: Array) -> Array:
        """True joints (N, 6) along commanded ones (N, 6), relaxed at the first row [rad, m]."""
        wrist = rest(self.x[CABLES], command[:, WRIST]) + self.x[OFFSETS]
        arm = command[:, ARM] + _features(command) @ self.x[MAP].reshape(3, 4).T
        return np.column_stack([arm, wrist])


def pose_rows(motion: PosePairs, used: Array | bool = True) -> PoseRows:
    """Rows of a motion in which the marker is seen, once its unknown start is forgotten."""
    return PoseRows(motion, used & motion.visible & (np.arange(len(motion.command)) >= SETTLE))


def fit_poses(motions: Sequence[PoseRows], mechanism: Mechanism) -> PoseFit:
    """Robust fit of all numbers to the used rows; the motions share tracker, base and marker."""
    command = np.concatenate([motion.command[used] for motion, used in motions])
    seen = np.concatenate([motion.seen[used] for motion, used in motions])
    if len(command) < MIN_ROWS:
        raise TrocarError(f"a fit needs at least {MIN_ROWS} rows with a seen marker, got {len(command)}")
    tips = tip_poses(mechanism, command)
    rigid, noise = _rigid(tips, seen)
    fits = []
    for start in (START, SECOND_START):  # there are local minima, as in the fit to joints
        x = np.concatenate([start, CENTRE[len(start) :]])
        fits.append(_solution(PoseFit(x=x, transforms=rigid, rigid=rigid, noise=noise), motions, mechanism))
    fit = _solution(min(fits, key=lambda one: float(np.log(one.noise).sum())), motions, mechanism)
    kept = inliers(fit, motions, mechanism)
    return replace(_solution(fit, kept, mechanism), outliers=len(command) - sum(int(used.sum()) for _, used in kept))


def inliers(fit: PoseFit, motions: Sequence[PoseRows], mechanism: Mechanism) -> list[PoseRows]:
    """The rows whose residuals are not far beyond the noise."""
    kept = []
    for motion, used in motions:
        good = used.copy()
        good[used] = (np.abs(residuals(fit, [PoseRows(motion, used)], mechanism)) <= OUTLIER).all(1)
        kept.append(PoseRows(motion, good))
    return kept


def residuals(fit: PoseFit, motions: Sequence[PoseRows], mechanism: Mechanism) -> Array:
    """Residuals (rows, 6) of the marker's pose over the noise of the fit."""
    errors = [
        pose_error(motion.seen[used], fit.transforms.marker(tip_poses(mechanism, fit.joints(motion.command)[used])))
        for motion, used in motions
    ]
    return np.concatenate(errors) / np.repeat(fit.noise, 3)


def derivatives(fit: PoseFit, motions: Sequence[PoseRows], mechanism: Mechanism) -> Array:
    """Derivatives (rows, 6, 44) of the residuals at zero twists."""
    parts = []
    for motion, used in motions:
        command, seen, q = motion.command, motion.seen[used], fit.joints(motion.command)[used]
        slope = np.zeros((len(q), 6, TWISTS.start))  # of the joints
        wrist = rest(fit.x[CABLES] + central_steps(17), command[:, WRIST])[:, used]
        slope[:, WRIST, CABLES], slope[:, WRIST, OFFSETS] = central_differences(wrist), np.eye(3)
        slope[:, ARM, MAP] = np.einsum("ij,tk->tijk", np.eye(3), _features(command[used])).reshape(-1, 3, 12)
        moved = pose_error(seen, fit.transforms.marker(tip_poses(mechanism, q + central_steps(6)[:, None])))
        J = np.zeros((len(q), 6, COUNT))
        J[:, :, : TWISTS.start] = central_differences(moved) @ slope
        J[:, :, TWISTS] = _twist_derivatives(fit.transforms, tip_poses(mechanism, q), seen)
        parts.append(J)
    return np.concatenate(parts) / np.repeat(fit.noise, 3)[:, None]


def _features(command: Array) -> Array:
    return np.column_stack([np.ones(len(command)), command[:, ARM]])


def _twist_derivatives(transforms: HandEye, tips: Array, seen: Array) -> Array:
    """Derivatives (rows, 6, 12) of pose errors by twists of base and marker."""
    steps = central_steps(12)[:, None]
    return central_differences(pose_error(seen, _moved(transforms, steps).marker(tips)))


def _moved(transforms: HandEye, twists: Array) -> HandEye:
    """The transforms moved by twists (..., 12) in their own frames: translation and rotation vector of each."""
    base, marker = (_small(part) for part in (twists[..., :6], twists[..., 6:]))
    return HandEye(transforms.T_tracker_base @ base, transforms.T_tip_marker @ marker)


def _small(twist: Array) -> Array:
    R = Rotation.from_rotvec(twist[..., 3:].reshape(-1, 3)).as_matrix()
    return pose(R.reshape(*twist.shape[:-1], 3, 3), twist[..., :3])


def _noise(error: Array) -> Array:
    """Standard deviation (2,) of pose errors (N, 6) per coordinate of position and rotation, from their medians."""
    return np.maximum(MAD * np.array([np.median(np.abs(error[:, :3])), np.median(np.abs(error[:, 3:]))]), 1e-9)


def _solution(fit: PoseFit, motions: Sequence[PoseRows], mechanism: Mechanism) -> PoseFit:
    """The fit moved to the optimum at its noise, with the noise that is left there."""
    weights = np.sqrt(INFORMATION)

    def at(x: Array) -> PoseFit:
        numbers = np.concatenate([x[: TWISTS.start], np.zeros(12)])
        return replace(fit, x=numbers, transforms=_moved(fit.transforms, x[TWISTS]))

    def jacobian(x: Array) -> Array:
        J = derivatives(at(x), motions, mechanism)
        return np.concatenate([J.reshape(-1, COUNT), np.diag(weights)])

    result = _least_squares(
        lambda x: np.concatenate([residuals(at(x), motions, mechanism).ravel(), weights * (x - CENTRE)]),
        fit.x,
        jacobian,
    )
    best = at(result)
    error = residuals(best, motions, mechanism) * np.repeat(fit.noise, 3)
    return replace(best, noise=_noise(error))


def _rigid(tips: Array, seen: Array) -> tuple[HandEye, Array]:
    """Transforms that explain the seen poses by those of the tip (N, 4, 4), and the noise (2,) that remains."""
    transforms = _closed_form(tips, seen)
    noise = _noise(pose_error(seen, transforms.marker(tips)))

    def at(x: Array) -> HandEye:
        return _moved(transforms, x)

    scale = np.repeat(noise, 3)
    x = _least_squares(
        lambda x: (pose_error(seen, at(x).marker(tips)) / scale).ravel(),
        np.zeros(12),
        lambda x: (_twist_derivatives(at(x), tips, seen) / scale[:, None]).reshape(-1, 12),
    )
    return at(x), _noise(pose_error(seen, at(x).marker(tips)))


def _closed_form(tips: Array, seen: Array) -> HandEye:
    """Transforms in closed form; rows far from the others are left out in turn."""
    good = np.ones(len(tips), dtype=bool)
    for _ in range(5):
        A, B = tips[good], seen[good]
        other = np.roll(np.arange(len(A)), len(A) // 2)  # motions over half the recording, which are large
        X = hand_eye(inverse(A) @ A[other], inverse(B) @ B[other])
        bases = B @ inverse(A @ X)
        Y = pose(_median_rotation(bases[:, :3, :3]), np.median(bases[:, :3, 3], axis=0))
        error = pose_error(seen, Y @ tips @ X)
        off = np.stack([np.linalg.norm(error[:, part], axis=1) for part in (slice(0, 3), slice(3, 6))], axis=1)
        middle = np.median(off, axis=0)
        good = (off <= FAR * middle).all(1)
    if (middle > MAX_MISFIT).any():
        raise TrocarError(
            f"no hand-eye transform explains the poses: they are off by {1e3 * middle[0]:.0f} mm and "
            f"{np.rad2deg(middle[1]):.0f} deg in the middle row; give poses of the marker in the tracker's frame, and "
            "joints in the order yaw, pitch, insertion, roll, wrist pitch, wrist yaw"
        )
    return HandEye(Y, X)


def _median_rotation(R: Array) -> Array:
    """Rotation (3, 3) with the smallest sum of angles to R (N, 3, 3), by Weiszfeld's iteration."""
    rotations = Rotation.from_matrix(R)
    middle = rotations.mean()
    for _ in range(10):
        middle = rotations.mean(1.0 / (STEP + (middle.inv() * rotations).magnitude()))
    return np.asarray(middle.as_matrix())


def _least_squares(fun: Callable[[Array], Array], start: Array, jac: Callable[[Array], Array]) -> Array:
    result = scipy.optimize.least_squares(
        fun, start, jac, loss="soft_l1", f_scale=LOSS, x_scale="jac", xtol=1e-5, ftol=1e-5, max_nfev=100
    )
    if result.status <= 0:
        raise TrocarError(f"the fit of the wrist to poses did not converge: {result.message}")
    return np.asarray(result.x)
