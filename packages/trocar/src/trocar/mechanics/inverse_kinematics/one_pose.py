"""Closed-form inverse kinematics of one pose in scalar arithmetic, for control loops.

The batch forms of `remote_centre` and `master` take arrays, which costs hundreds of microseconds for a single pose.
These handle the regular case only: strictly within limits and away from singularities. They return None otherwise,
and the caller uses the batch form, which handles every case and reports why a pose has no solution.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from trocar.arms import Arm
from trocar.arms.structure import GimballedArm, WristedShaft
from trocar.laws.law import ScalarLaw
from trocar.laws.offset_wrist import POSE, TURN, offset_wrist
from trocar.laws.sources.function_source import on_numbers
from trocar.mechanics.inverse_kinematics.descent import NEAR
from trocar.mechanics.inverse_kinematics.remote_centre import wrist_flips
from trocar.spatial import Array, inverse

_BRANCH = on_numbers(ScalarLaw(offset_wrist, vectors=POSE, quotients=True))

Solver = Callable[[Array, Array], Array | None]


def solver(arm: Arm) -> Solver | None:
    """Solver of one pose (4, 4) for a seed (n,), nearest to it; None for structures without one."""
    return OneWristed(arm) if isinstance(arm.structure, WristedShaft) else None


def platform_solver(arm: Arm) -> OneGimballed | None:
    """Solver of one pose at a given wrist platform angle; None for structures without one."""
    return OneGimballed(arm) if isinstance(arm.structure, GimballedArm) else None


class OneWristed:
    """A shaft with an offset wrist (PSM)."""

    def __init__(self, arm: Arm) -> None:
        self._T_tip_6 = inverse(arm.T_last_tip)
        self._d_roll, self._a = float(arm.serial[3].placement[2, 3]), float(arm.serial[5].placement[0, 3])
        self._d_insertion = float(arm.serial[2].placement[:3, 3] @ arm.serial[2].placement[:3, 2])
        self._limits = _limits(arm, 6)
        self._flips = wrist_flips(arm)

    def __call__(self, T: Array, seed: Array) -> Array | None:
        """Joints of a tip pose (4, 4) in the base for a seed (6,) or (7,); the jaw is the seed's."""
        (x0, y0, z0, p0), (x1, y1, z1, p1), (x2, y2, z2, p2), _ = T.dot(self._T_tip_6).tolist()
        pose, near = (x0, x1, x2, y0, y1, y2, z0, z1, z2, p0, p1, p2), seed.tolist()
        best, best_cost = None, math.inf
        for flips in self._flips:
            q1, q2, L, q4, q5, q6, reach, horizontal = _BRANCH(*pose, self._a, *flips, near[0], near[4], near[5])
            if abs(L) < NEAR or abs(reach) < NEAR:
                return None
            insertion = L - self._d_insertion - self._d_roll
            if not self._limits[2][0] <= insertion <= self._limits[2][1]:  # a length, which has no whole turns
                continue
            if horizontal < NEAR:
                return None
            joints = _within((q1, q2, insertion, q4, q5, q6), near, self._limits)
            if joints is not None and joints[1] < best_cost:
                best, best_cost = joints
        return None if best is None else np.array(best + near[6:])


class OneGimballed:
    """An MTM at a given angle of its wrist platform: joints 1 to 3 from the position, 5 to 7 from the orientation."""

    def __init__(self, arm: Arm) -> None:
        lengths = arm.structure
        assert isinstance(lengths, GimballedArm)
        self._a, self._r, self._gamma = lengths.upper_arm, lengths.r, lengths.gamma
        self._limits = _limits(arm, 7)

    def __call__(self, T: Array, platform: float, seed: Array) -> Array | None:
        """Joints (7,) of a tip pose (4, 4) in the base at a platform angle [rad], nearest to the seed.

        None if there are none within limits, or near a singularity.
        """
        r0, r1, r2, _ = T.tolist()
        x, y, v = r0[3], r1[3], r2[3]
        a, r, near = self._a, self._r, seed.tolist()
        radius = math.hypot(x, y)
        cosine = (radius * radius + v * v - a * a - r * r) / (2.0 * a * r)
        if not self._has(platform) or radius < NEAR or not abs(cosine) < 1.0 - 0.5 * NEAR * NEAR:
            return None
        best, best_cost = None, math.inf
        for side in (1.0, -1.0):
            q1, u = math.atan2(side * x, -side * y), side * radius
            for bend in (1.0, -1.0):
                elbow = bend * math.acos(cosine)
                shoulder = math.atan2(v, u) - math.atan2(r * math.sin(elbow), a + r * cosine)
                q2, q3 = _wrapped(shoulder + math.pi / 2), _wrapped(elbow - self._gamma - math.pi / 2)
                if _within((q1, q2, q3), near, self._limits) is None:
                    continue
                wrist = wrist_angles(T, q1, q2 + q3, platform)
                joints = wrist and _within((q1, q2, q3, platform, *wrist), near, self._limits)
                if joints is not None and joints[1] < best_cost:
                    best, best_cost = joints
        return None if best is None else np.array(best)

    def _has(self, platform: float) -> bool:
        return self._limits[3][0] <= platform <= self._limits[3][1]

    def wrist(self, R: Array, q: Array, platform: float) -> Array | None:
        """Joints 4 to 7 (4,) that give the tip an orientation R (3, 3) with joints 1 to 3 as in q (7,)."""
        if not self._has(platform):
            return None
        near = q.tolist()
        angles = wrist_angles(R, near[0], near[1] + near[2], platform)
        joints = angles and _within((platform, *angles), near[3:], self._limits[3:])
        return None if joints is None else np.array(joints[0])


def wrist_angles(T: Array, q1: float, q23: float, platform: float) -> tuple[float, float, float] | None:
    """Joints 5 to 7 [rad] for the orientation of T, given joint 1, the sum of 2 and 3, and the platform angle.

    None if the wrist is singular, |q6| near pi/2. The formulas are those of `master`.
    """
    (xa, xb, xc), (ya, yb, yc), (za, zb, zc) = T[:3, :3].tolist()
    s1, c1, s23, c23 = math.sin(q1), math.cos(q1), math.sin(q23), math.cos(q23)
    s4, c4 = math.sin(platform), math.cos(platform)
    # the inverse of R_3 = Rz(q1 - pi/2) Rx(pi/2) Rz(q23) Rx(-pi/2) has the rows (a0, a1, s23), (c1, s1, 0) and
    # (-s1 s23, c1 s23, c23); that of R_3 Rz(q4) Rx(pi/2) has the row (x2, y2, z2) last
    a0, a1 = s1 * c23, -c1 * c23
    x2, y2, z2 = s4 * a0 - c4 * c1, s4 * a1 - c4 * s1, s4 * s23
    xz = (c4 * a0 + s4 * c1) * xc + (c4 * a1 + s4 * s1) * yc + c4 * s23 * zc
    yz = -s1 * s23 * xc + c1 * s23 * yc + c23 * zc
    cos6 = math.hypot(xz, yz)
    if cos6 < NEAR:
        return None
    yaw = math.atan2(x2 * xc + y2 * yc + z2 * zc, cos6)
    roll = math.atan2(-(x2 * xb + y2 * yb + z2 * zb), x2 * xa + y2 * ya + z2 * za)
    return math.atan2(-yz, -xz), yaw, roll - math.pi / 2


def _limits(arm: Arm, joints: int) -> list[tuple[float, float]]:
    return list(zip(arm.lower[:joints].tolist(), arm.upper[:joints].tolist(), strict=True))


def _within(
    q: tuple[float, ...], seed: list[float], limits: list[tuple[float, float]]
) -> tuple[list[float], float] | None:
    """q moved by whole turns into the limits, nearest to the seed, and its squared distance to it; None if outside."""
    joints, cost = [], 0.0
    for angle, near, (low, high) in zip(q, seed, limits, strict=False):
        if angle < low or angle > high or high - low > TURN:
            turned = angle + round((near - angle) / TURN) * TURN
            if not (low <= turned <= high):  # the nearest one is outside
                turns = [angle + k * TURN for k in (-2, -1, 0, 1, 2)]
                inside = [turned for turned in turns if low <= turned <= high]
                if not inside:
                    return None
                turned = min((abs(turned - near), turned) for turned in inside)[1]
            angle = turned
        joints.append(angle)
        cost += (angle - near) ** 2
    return joints, cost


def _wrapped(angle: float) -> float:
    return (angle + math.pi) % TURN - math.pi
