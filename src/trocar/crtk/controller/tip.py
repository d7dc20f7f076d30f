"""Kinematics of an arm's tip as the dVRK reports it: poses, twists, wrenches and Jacobians from measured joints."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from trocar.arms import Arm
from trocar.errors import NearLimit, NearSingular, TrocarError
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.mechanics.kinematics import Tree
from trocar.spatial import Array, checked_pose, pose_error

WIDER = {"revolute": 1.0, "prismatic": 0.2}  # beyond the limits, inside which a solution is looked for [rad, m]
WIDEST = 3.0  # a revolute joint of a remote-centre arm [rad]

STEPS, CONVERGED, DAMPING = 12, 1e-9, 1e-10  # of Newton's method: most steps, error at which it ends [m, rad]


class Tip:
    """Forward and inverse kinematics of an arm with n joints that move its tip.

    Poses are in the arm's base, `q` the joints of the tip (n,).
    """

    def __init__(self, arm: Arm) -> None:
        self.arm, self.n = arm, arm.tip_joints
        self._rest = np.zeros(arm.n - arm.tip_joints)
        self._kinematics = ArmKinematics(arm)
        # the dVRK solves without limits and then clips: a pose just outside is approached, not refused
        self._solver = ArmKinematics(_wider(arm)) if arm.has_rcm else self._kinematics
        self._serial = Tree(arm.serial, arm.joint_names)

    def pose(self, q: Array) -> Array:
        """(4, 4) in the base."""
        return self._kinematics.forward_kinematics(self._full(q))

    def link_pose(self, q: Array) -> Array:
        """(4, 4) of link k for k <= n joint positions; of the tip for all n."""
        k = len(q)
        if k == self.n:
            return self.pose(q)
        if k == 0:
            return np.eye(4)
        padded = np.concatenate([q, np.zeros(self.arm.n - k)])
        return self._serial.frame(self._serial.motion(padded[:, None]), k - 1, np.eye(4))[0]

    def depth(self, q: Array) -> float:
        """Distance of the end of the shaft (link 4) from the base origin [m]."""
        return float(np.linalg.norm(self.link_pose(q[: min(4, self.n)])[:3, 3]))

    def jacobians(self, q: Array) -> tuple[Array, Array, Array]:
        """Tip pose (4, 4), body Jacobian (6, n) in tip axes, spatial Jacobian (6, n) at the base origin."""
        full = self._full(q)
        T, J = self._kinematics.forward_kinematics(full), self._kinematics.jacobian(full)
        R, p = T[:3, :3], T[:3, 3]
        body = np.concatenate([R.T @ J[:3], R.T @ J[3:]])
        x, y, z = p
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return T, body, np.concatenate([J[:3] + cross @ J[3:], J[3:]])

    def joints(self, T: Array, seed: Array) -> Array:
        """Joints (n,) for a pose (4, 4) in the base, nearest to a seed (n,); raises TrocarError if there are none."""
        checked_pose(T)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NearSingular)
            warnings.simplefilter("ignore", NearLimit)
            try:
                found = self._kinematics.inverse_kinematics(T, self._full(seed))
            except TrocarError:
                found = self._solver.inverse_kinematics(T, self._full(seed))
        return np.array(found[: self.n])

    def nearby(self, T: Array, seed: Array) -> Array | None:
        """Joints (n,) for a pose (4, 4) that Newton steps reach from a seed (n,) within the limits, or None.

        Steps of least length: a redundant arm stays near its seed.
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


def wrench(J: Array, effort: Array) -> Array:
    """Wrench (6,) that the dVRK reports for joint efforts (n,): pinv(J') tau [N, N m]."""
    return np.linalg.pinv(J.T) @ effort


def _wider(arm: Arm) -> Arm:
    joints = tuple(
        replace(
            joint,
            lower=max(joint.lower - WIDER[joint.kind], -max(WIDEST, -joint.lower)),
            upper=min(joint.upper + WIDER[joint.kind], max(WIDEST, joint.upper)),
        )
        for joint in arm.joints
    )
    return replace(arm, joints=joints)
