"""Closed-form inverse kinematics of the arms that pivot about a remote centre (PSM and ECM, Classic and Si).

Everything is in the base frame, whose origin is the remote centre. The shaft points along
s = (cos q2 sin q1, -sin q2, -cos q2 cos q1) and the wrist pitch axis (ECM: the tip) is at L s.
"""

from __future__ import annotations

import numpy as np

from trocar.arms import Arm
from trocar.arms.arm import poses_at_zero
from trocar.arms.structure import SnakeShaft
from trocar.laws.law import ScalarLaw
from trocar.laws.offset_wrist import POSE, VANISHING, offset_wrist
from trocar.laws.sources.function_source import on_arrays
from trocar.mechanics.inverse_kinematics.descent import NEAR, IkBranch, refined
from trocar.spatial import Array, inverse, mdh

HALF_TURN_RANGE = np.pi / 2 - 2e-3  # a joint that stays below it is determined by its sine alone [rad]
MAX_BEND = np.pi  # largest bend of a snake wrist in the search [rad]; a larger one is outside any limit
_BRANCH = on_arrays(ScalarLaw(offset_wrist, vectors=POSE))


def wristed(arm: Arm, T: Array, q_seed: Array) -> list[IkBranch]:
    """Branches of a PSM: offset wrist of length a between the pitch and yaw axes."""
    d_roll, a = float(arm.serial[3].placement[2, 3]), float(arm.serial[5].placement[0, 3])
    return wrist_branches(arm, T @ inverse(arm.T_last_tip), q_seed, d_roll, a)


def wrist_branches(arm: Arm, T_6: Array, q_seed: Array, d_roll: float, a: float) -> list[IkBranch]:
    """Branches that bring the wrist yaw frame to T_6 (N, 4, 4), with the lengths d_roll and a >= 0 [m]."""
    d_insertion = float(arm.serial[2].placement[:3, 3] @ arm.serial[2].placement[:3, 2])
    pose = [T_6[:, row, column] for column in range(4) for row in range(3)]
    branches = []
    for flips in wrist_flips(arm):
        *joints, reach, horizontal = _BRANCH(*pose, a, *flips, q_seed[:, 0], q_seed[:, 4], q_seed[:, 5])
        singular = (np.abs(joints[2]) < NEAR) | (np.abs(reach) < NEAR) | (horizontal < NEAR)
        joints[2] = joints[2] - d_insertion - d_roll
        branches.append(IkBranch(np.column_stack([*joints, q_seed[:, 6:]]), singular, {}))
    return branches


def rolling(arm: Arm, T: Array, q_seed: Array, tolerance: float = 1e-6) -> list[IkBranch]:
    """The one branch of an ECM: the position gives yaw, pitch and insertion, the orientation the roll.

    Four joints cannot reach every pose: the scope axis must point away from the remote centre.
    """
    d_insertion = float(arm.serial[2].placement[:3, 3] @ arm.serial[2].placement[:3, 2])
    d_roll = float(arm.serial[3].placement[2, 3])
    T_4 = T @ inverse(arm.T_last_tip)
    p, x4, z4 = (np.ascontiguousarray(T_4[:, :3, k].T) for k in (3, 0, 2))
    L = np.copysign(np.sqrt(_dot(p, p)), _dot(p, z4))
    sure = np.abs(L) > VANISHING
    s = np.where(sure, p / np.where(sure, L, 1.0), z4)
    q1, q2, x3, y3 = _pivot(s, q_seed[:, 0])
    q4 = np.arctan2(_dot(x4, y3), _dot(x4, x3))
    # |s x z4| is the sine of the angle between the axes; s . z4 > 0 by the sign of L
    off = np.linalg.norm(np.cross(s, z4, axis=0), axis=0)
    failure = {
        int(i): f"the scope axis misses the remote centre by {off[i]:.2g} rad (allowed {tolerance:g}): "
        "an ECM has four joints, use a pose whose z axis is along its position"
        for i in np.flatnonzero(off > tolerance)
    }
    q = np.column_stack([q1, q2, L - d_insertion - d_roll, q4, q_seed[:, 4:]])
    return [IkBranch(q, np.cos(q2) < NEAR, failure)]


def snaked(arm: Arm, T: Array, q_seed: Array) -> list[IkBranch]:
    """Branches of a snake wrist (pitch, yaw, yaw, pitch): one per start, the seed and every branch without its length.

    There is no closed form. But the wrist is short and bends by less than 45 degrees, so that a wrist with both axes at
    its middle is a good initial guess, which damped least squares refines.
    With the wrist within 1 cm of the port its length is not small relative to the depth: the guess is then poor, and up
    to 1 pose in 100 needs a specific seed.
    """
    starts = [q_seed, *(branch.q for branch in _snake_guesses(arm, T, q_seed))]
    # the caller checks the limits: a step must be able to cross them
    bound = np.array([np.inf] * 4 + [MAX_BEND] * 2)
    return [refined(arm, T, start, q_seed, -bound, bound) for start in starts]


def _snake_guesses(arm: Arm, T: Array, q_seed: Array) -> list[IkBranch]:
    """Branches of a wrist whose axes meet in the middle of the snake, with the same tip at q = 0."""
    at, half = poses_at_zero(arm.serial), np.pi / 2
    assert isinstance(arm.structure, SnakeShaft)
    d_roll = float(arm.serial[3].placement[2, 3]) + 0.5 * arm.structure.length
    T_insertion_6 = mdh(d=d_roll) @ mdh(alpha=-half, theta=-half) @ mdh(alpha=-half, theta=-half)
    T_6_tip = inverse(at["insertion"] @ T_insertion_6) @ at[arm.serial[-1].name] @ arm.T_last_tip
    return wrist_branches(arm, T @ inverse(T_6_tip), q_seed, d_roll, 0.0)


def _pivot(s: Array, q1_seed: Array) -> tuple[Array, Array, Array, Array]:
    """Yaw and pitch [rad] of a shaft direction s (3, N), with the axes x3, y3 of the insertion frame."""
    horizontal = np.hypot(s[0], s[2])
    q1 = np.where(horizontal > VANISHING, np.arctan2(s[0], -s[2]), q1_seed)
    q2 = np.arctan2(-s[1], horizontal)
    s1, c1, s2, c2 = np.sin(q1), np.cos(q1), np.sin(q2), np.cos(q2)
    x3 = np.stack([-s1 * s2, -c2, c1 * s2])
    y3 = np.stack([-c1, np.zeros_like(c1), -s1])
    return q1, q2, x3, y3


def wrist_flips(arm: Arm) -> list[tuple[float, float]]:
    """Branches of wrist yaw and pitch: only one of a joint whose range is below a half turn."""
    wide = (max(-arm.lower[joint], arm.upper[joint]) >= HALF_TURN_RANGE for joint in (5, 4))
    yaw, pitch = ((1.0, -1.0) if both else (1.0,) for both in wide)
    return [(y, p) for y in yaw for p in pitch]


def _dot(u: Array, v: Array) -> Array:
    return np.asarray(u[0] * v[0] + u[1] * v[1] + u[2] * v[2])
