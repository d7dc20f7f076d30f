"""Pivot calibration (Gondokaryono et al. 2019, section 4.1): the fixed point of a rotating body. Pose of an arm's base
in the camera frame, by axes or by hand-eye calibration; offsets of the joints.

Hand-eye: markers at an unknown place on the tip, T_camera_marker = T_camera_base T_base_tip(q) T_tip_marker. Motions
between rows give A X = X B with X = T_tip_marker (Park and Martin 1994); a least-squares fit over all rows gives the
rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.spatial.transform import Rotation

from trocar.calibration.axes import MIN_ROWS
from trocar.errors import TooLittleMotion, TrocarError
from trocar.mechanics import Mechanism
from trocar.mechanics.hand_eye import hand_eye
from trocar.spatial import Array, inverse, pose, pose_error, unit

LEVER = 0.1  # [m] an angular error is weighted as a distance by this lever
MAX_ROWS = 200  # of a long recording, evenly spaced: enough to fit a few numbers
# Smallest allowed relative singular value of [R -1], per row. A turn of 0.15 rad about a second axis gives 0.03.
MIN_SPREAD = 0.02


@dataclass(frozen=True, kw_only=True)
class Pivot:
    """The fixed point of a motion.

    Attributes:
        post: (3,) in the reference frame, tip: (3,) in the body's frame [m] (their b_post and b_tip).
        points: (N, 3) R_i tip + p_i, the point in each row [m].
        covariance: (3, 3) of `post`, from the noise of the rows [m^2].
    """

    post: Array
    tip: Array
    points: Array
    covariance: Array

    @property
    def rms(self) -> Array:
        """(3,) root mean square of each coordinate about `post` [m].

        Their eq. (5) lacks the factor 1/n: as printed, the value grows with the square root of the number of rows.
        """
        return np.sqrt(np.mean((self.points - self.post) ** 2, axis=0))

    @property
    def spread(self) -> float:
        """Root mean square distance from `post` [m]."""
        return float(np.linalg.norm(self.rms))


def pivot(T: Array, what: str = "the body") -> Pivot:
    """Least-squares fixed point of poses (N, 4, 4): [R_i -1] [tip; post] = -p_i."""
    if len(T) < MIN_ROWS:
        raise TooLittleMotion(f"{what} is seen in {len(T)} rows only; at least {MIN_ROWS} are needed")
    R, p = T[:, :3, :3], T[:, :3, 3]
    A = np.concatenate([R, np.broadcast_to(-np.eye(3), R.shape)], axis=2).reshape(-1, 6)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    if s[-1] < MIN_SPREAD * np.sqrt(len(T)):
        raise TooLittleMotion(
            f"{what} rotates about one axis only, or hardly at all: a fixed point needs rotations about two axes "
            "(move yaw and pitch)"
        )
    x = Vt.T @ ((U.T @ -p.ravel()) / s)
    points = R @ x[:3] + p
    variance = float(np.sum((points - x[3:]) ** 2) / max(1, p.size - 6))
    covariance = variance * (Vt.T / s**2) @ Vt
    return Pivot(post=x[3:], tip=x[:3], points=points, covariance=covariance[3:, 3:])


@dataclass(frozen=True, kw_only=True)
class Registration:
    """Registration of an arm in front of the cameras.

    Attributes:
        T_camera_base: (4, 4) the base (RCM) frame of the arm. T_tip_marker: (4, 4) the markers on the tip.
        offsets: true value minus reading of each identifiable joint [rad, m]. The others (always the first joint,
            which moves like the base, and the last one, which moves like the markers) are assumed to be 0.
        position_rms, rotation_rms: rms of the residuals [m, rad].
    """

    T_camera_base: Array
    T_tip_marker: Array
    offsets: dict[str, float]
    position_rms: float
    rotation_rms: float


def base_from_axes(rcm: Array, u_yaw: Array, h_pitch: Array) -> Array:
    """T_camera_base from the RCM [m] and the directions of yaw and pitch axis at yaw 0, all in the camera frame.

    In the base they are the origin, -y and -x.
    """
    y = unit(-u_yaw)
    x = unit(-h_pitch - (-h_pitch @ y) * y)
    return pose(np.stack([x, y, np.cross(x, y)], axis=1), rcm)


def register(mechanism: Mechanism, q: Array, T_camera_marker: Array) -> Registration:
    """Base in the cameras, markers on the tip and joint offsets, from readings (N, n) and poses (N, 4, 4)."""
    if len(q) < MIN_ROWS:
        raise TooLittleMotion(f"the tip is seen in {len(q)} rows only; at least {MIN_ROWS} are needed")
    rows = np.unique(np.linspace(0, len(q) - 1, min(len(q), MAX_ROWS)).astype(int))
    q, T_cm = mechanism.checked_state(q)[rows], T_camera_marker[rows]
    T_bt = mechanism.forward_kinematics(q)
    # motions over half the recording, which are large
    other = np.roll(np.arange(len(q)), len(q) // 2)
    X = hand_eye(inverse(T_bt) @ T_bt[other], inverse(T_cm) @ T_cm[other])
    T_cb = T_cm @ inverse(T_bt @ X)
    Y = pose(Rotation.from_matrix(T_cb[:, :3, :3]).mean().as_matrix(), T_cb[:, :3, 3].mean(0))
    m, joints = mechanism.arm.tip_joints, mechanism.arm.joint_names

    def residual(x: Array) -> Array:
        shifted = q.copy()
        shifted[:, :m] += x[12:]
        error = pose_error(T_cm, Y @ _small(x[:6]) @ mechanism.forward_kinematics(shifted) @ X @ _small(x[6:12]))
        return (error * [1.0, 1.0, 1.0, LEVER, LEVER, LEVER]).ravel()

    identifiable = _told(residual, m)
    columns = np.concatenate([np.arange(12), 12 + identifiable])

    def full(y: Array) -> Array:
        x = np.zeros(12 + m)
        x[columns] = y
        return x

    solution = scipy.optimize.least_squares(
        lambda y: residual(full(y)), np.zeros(columns.size), xtol=1e-15, ftol=1e-15, gtol=1e-15
    )
    if not solution.success:
        raise TrocarError(f"the registration does not converge: {solution.message}")
    x, left = full(solution.x), solution.fun.reshape(-1, 6)
    return Registration(
        T_camera_base=Y @ _small(x[:6]),
        T_tip_marker=X @ _small(x[6:12]),
        offsets={joints[j]: float(x[12 + j]) for j in identifiable},
        position_rms=float(np.sqrt(np.mean(np.sum(left[:, :3] ** 2, axis=1)))),
        rotation_rms=float(np.sqrt(np.mean(np.sum(left[:, 3:] ** 2, axis=1))) / LEVER),
    )


def _told(residual: Callable[[Array], Array], m: int) -> Array:
    """Joints whose offset is not equivalent to a move of base, markers and earlier joints."""
    h = 1e-6
    J = np.stack([(residual(h * e) - residual(-h * e)) / (2 * h) for e in np.eye(12 + m)], axis=1)
    scale = np.linalg.norm(J, axis=0)
    basis = np.linalg.qr(J[:, :12])[0]
    identifiable = []
    for j in range(m):
        column = J[:, 12 + j]
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)
        if scale[12 + j] > 0 and np.linalg.norm(rest) > 0.02 * scale[12 + j]:
            identifiable.append(j)
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
    return np.array(identifiable, dtype=int)


def _small(x: Array) -> Array:
    return pose(Rotation.from_rotvec(x[3:]).as_matrix(), x[:3])
