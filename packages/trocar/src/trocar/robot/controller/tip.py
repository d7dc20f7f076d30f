"""Tip kinematics as reported by the dVRK: poses, twists, wrenches and Jacobians from measured joints."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from scipy.linalg.lapack import dgelss, dgesv

from trocar.arms import Arm
from trocar.arms.structure import Shaft
from trocar.errors import NearLimit, NearSingular, TrocarError
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.mechanics.inverse_kinematics import one_pose
from trocar.mechanics.kinematics import Tree
from trocar.mechanics.pinocchio_tree import PinocchioChain
from trocar.spatial import Array, pose_error

SEARCH_MARGIN = {"revolute": 1.0, "prismatic": 0.2}  # margin beyond the limits in which solutions are searched [rad, m]
MAX_SEARCHED = 3.0  # a revolute joint of a remote-centre arm [rad]

SINGULAR = 1e-15  # singular values below this share of the largest count as zero, as in np.linalg.pinv
RATE_DAMPING = 1e-8 * np.eye(6)  # relative to squared lengths of about 0.01 m^2 and angles of 1
STEPS, CONVERGED, DAMPING = 12, 1e-9, 1e-10  # Newton's method: largest number of steps, final error [m, rad], damping


class Tip:
    """Forward and inverse kinematics of an arm with n joints that move its tip.

    Poses are in the arm's base, `q` the joints of the tip (n,).
    """

    def __init__(self, arm: Arm) -> None:
        self.arm, self.n = arm, arm.tip_joints
        self._rest = np.zeros(arm.n - arm.tip_joints)
        self._kinematics = ArmKinematics(arm)
        # the dVRK solves without limits and then clips: a pose just outside is approached, not rejected
        self._solver = ArmKinematics(_wider(arm)) if arm.has_rcm else self._kinematics
        self._serial = Tree(arm.serial, arm.joint_names)
        self._chain = PinocchioChain(arm, self._serial.E[:, : self.n])  # for joints that are known to be finite
        self._one_pose, self._at_platform = one_pose.solver(arm), one_pose.platform_solver(arm)

    def pose(self, q: Array) -> Array:
        """Tip pose (4, 4) in the base."""
        return self._chain.pose(q)

    def link_pose(self, q: Array) -> Array:
        """Pose (4, 4) of link k for k <= n joint positions; of the tip for all n."""
        k = len(q)
        if k == self.n:
            return self._kinematics.forward_kinematics(self._full(q))
        if k == 0:
            return np.eye(4)
        padded = np.concatenate([q, np.zeros(self.arm.n - k)])
        return self._serial.frame(self._serial.motion(padded[:, None]), k - 1, np.eye(4))[0]

    def depth(self, q: Array) -> float:
        """Distance of the end of the shaft (link 4) from the base origin [m]."""
        shape = self.arm.structure
        if isinstance(shape, Shaft):
            return abs(float(q[2]) + shape.offset)
        return float(np.linalg.norm(self.link_pose(q[: min(4, self.n)])[:3, 3]))

    def pose_and_jacobian(self, q: Array) -> tuple[Array, Array]:
        """Tip pose (4, 4) in the base, and its Jacobian (6, n): velocity of its origin, base axes."""
        return self._chain.pose_and_jacobian(q)

    def jacobians(self, q: Array) -> tuple[Array, Array, Array]:
        """Tip pose (4, 4), body Jacobian (6, n) in tip axes, spatial Jacobian (6, n) at the base origin."""
        return body_and_spatial(*self.pose_and_jacobian(q))

    def joints(self, T: Array, seed: Array) -> Array:
        """Joints (n,) for a proper pose (4, 4) in the base, nearest to a seed (n,).

        Raises TrocarError if there are none.
        """
        if self._one_pose is not None:
            quick = self._one_pose(T, seed)
            if quick is not None:
                return quick
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NearSingular)
            warnings.simplefilter("ignore", NearLimit)
            try:
                q = self._kinematics.inverse_kinematics(T, self._full(seed))
            except TrocarError:
                q = self._solver.inverse_kinematics(T, self._full(seed))
        return np.array(q[: self.n])

    def at_platform(self, T: Array, platform: float, seed: Array) -> Array | None:
        """Joints (7,) of a master for a pose (4, 4) at a platform angle [rad], or None if there are none in limits."""
        assert self._at_platform is not None
        return self._at_platform(T, platform, seed)

    def wrist(self, R: Array, q: Array, platform: float) -> Array | None:
        """Joints 4 to 7 (4,) of a master that turn its tip to R (3, 3) with the others as in q (7,), or None."""
        assert self._at_platform is not None
        return self._at_platform.wrist(R, q, platform)

    def nearby(self, T: Array, seed: Array) -> Array | None:
        """Joints (n,) for a pose (4, 4) that Newton steps reach from a seed (n,) within the limits, or None.

        Steps have least norm: a redundant arm stays near its seed.
        """
        lower, upper = self.arm.lower[: self.n], self.arm.upper[: self.n]
        q = np.clip(seed, lower, upper)
        for _ in range(STEPS):
            full = self._full(q)
            e = pose_error(T, self._kinematics.forward_kinematics(full))
            if np.abs(e).max() < CONVERGED:
                return q
            J = self._kinematics.jacobian(full)
            q = np.clip(q + J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(6), e), lower, upper)
        return None

    def _full(self, q: Array) -> Array:
        return np.concatenate([q, self._rest]) if len(self._rest) else q


def body_and_spatial(T: Array, J: Array) -> tuple[Array, Array, Array]:
    """T, and the Jacobian J (6, n) of its origin in base axes seen in tip axes and at the base origin."""
    R_t = T[:3, :3].T
    body, spatial = np.empty(J.shape), J.copy()
    body[:3], body[3:] = R_t.dot(J[:3]), R_t.dot(J[3:])
    x, y, z = T[:3, 3].tolist()
    spatial[:3] += np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]).dot(J[3:])
    return T, body, spatial


def turned(R: Array, six: Array) -> Array:
    """A twist or wrench (6,) rotated to other axes by (3, 3)."""
    vector = np.empty(6)
    vector[:3], vector[3:] = R.dot(six[:3]), R.dot(six[3:])
    return vector


def rates(J: Array, twist: Array) -> Array:
    """Joint rates (n,) of least length for a twist (6,); damped, so that they stay finite at a singularity."""
    # the LAPACK routine behind np.linalg.solve, which has five times its overhead
    _, _, solved, failed = dgesv(J.dot(J.T) + RATE_DAMPING, twist)
    if failed:
        raise TrocarError("the Jacobian of the tip is singular")
    return np.asarray(J.T.dot(solved))


def wrench(J: Array, effort: Array) -> Array:
    """Wrench (6,) that the dVRK reports for joint efforts (n,): pinv(J') tau [N, N m]."""
    tau = np.zeros(max(J.shape))  # also takes the result
    tau[: len(effort)] = effort
    # singular value decomposition, as in np.linalg.pinv, which takes four times as long
    _, solution, _, _, _, failed = dgelss(J.T, tau, cond=SINGULAR)
    if failed:
        raise TrocarError("the decomposition of the Jacobian of the tip does not converge")
    return solution[:6]


def _wider(arm: Arm) -> Arm:
    joints = tuple(
        replace(
            joint,
            lower=max(joint.lower - SEARCH_MARGIN[joint.kind], -max(MAX_SEARCHED, -joint.lower)),
            upper=min(joint.upper + SEARCH_MARGIN[joint.kind], max(MAX_SEARCHED, joint.upper)),
        )
        for joint in arm.joints
    )
    return replace(arm, joints=joints)
