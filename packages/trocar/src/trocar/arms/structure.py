"""Serial structures with closed-form kinematics, recognised from the rows of an arm's kinematic table.

Arms do not declare their structure; it is detected in the table. Arms with no known structure are solved numerically.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trocar.spatial import Array, mdh

if TYPE_CHECKING:
    from trocar.arms.arm import Arm

HALF_PI = np.pi / 2


@dataclass(frozen=True)
class Shaft:
    """A shaft that yaws and pitches about a remote centre, slides through it and rolls.

    The end of the shaft is at depth L = q3 + offset [m] below the remote centre.
    """

    offset: float


@dataclass(frozen=True)
class RollingShaft(Shaft):
    """A shaft with the tip at its end (ECM)."""


@dataclass(frozen=True)
class WristedShaft(Shaft):
    """A shaft that ends in a wrist pitch axis, with the wrist yaw axis `wrist` [m] from it (PSM)."""

    wrist: float


@dataclass(frozen=True)
class SnakeShaft(Shaft):
    """A shaft that ends in a wrist of pitch, yaw, yaw, pitch, each turning half of its joint (some PSM instruments).

    `length` [m] is from the first wrist axis to the last. Inverse kinematics have an initial guess but no closed form.
    """

    length: float


@dataclass(frozen=True)
class GimballedArm:
    """An arm of yaw, shoulder and elbow whose four gimbal axes meet in the tip (MTM).

    Attributes:
        upper_arm: shoulder to elbow, a_2 [m]. r: elbow to tip [m]. gamma: angle of that line to the forearm [rad].
    """

    upper_arm: float
    r: float
    gamma: float


Structure = Shaft | GimballedArm


def structure(arm: Arm) -> Structure | None:
    """The structure of the serial table, with its lengths; None if it is not a known one."""
    rows = [body.placement for body in arm.serial]
    single = [dict(body.coupling) == {name: 1.0} for body, name in zip(arm.serial, arm.joint_names, strict=False)]
    if len(rows) == arm.tip_joints == arm.n == 7 and all(single):
        return _gimballed(rows)
    if len(rows) < 4 or not all(single[:4]):
        return None
    d_insertion, d_roll = float(rows[2][:3, 3] @ rows[2][:3, 2]), float(rows[3][2, 3])
    shaft = [
        mdh(alpha=HALF_PI, theta=HALF_PI),
        mdh(alpha=-HALF_PI, theta=-HALF_PI),
        mdh(alpha=HALF_PI, d=d_insertion),
        mdh(d=d_roll),
    ]
    if not _same(rows[:4], shaft):
        return None
    offset, moving = d_insertion + d_roll, (len(rows), arm.tip_joints)
    if moving == (4, 4):
        return RollingShaft(offset)
    if moving == (6, 6) and all(single):
        a = float(rows[5][0, 3])
        wrist = [mdh(alpha=-HALF_PI, theta=-HALF_PI), mdh(a=a, alpha=-HALF_PI, theta=-HALF_PI)]
        return WristedShaft(offset, a) if _same(rows[4:], wrist) else None
    if moving == (8, 6):
        a = float(rows[5][0, 3])
        snake = [
            mdh(alpha=-HALF_PI, theta=-HALF_PI),
            mdh(a=a, alpha=-HALF_PI),
            mdh(a=a),
            mdh(a=a, alpha=HALF_PI, theta=HALF_PI),
        ]
        pitch, yaw = ({name: 0.5} for name in arm.joint_names[4:6])
        halves = [dict(body.coupling) for body in arm.serial[4:]] == [pitch, yaw, yaw, pitch]
        length = sum(float(np.linalg.norm(row[:3, 3])) for row in rows[4:])
        return SnakeShaft(offset, length) if halves and _same(rows[4:], snake) else None
    return None


def _gimballed(rows: Sequence[Array]) -> GimballedArm | None:
    a_2, T_3_4 = float(rows[2][0, 3]), rows[3]
    a_3, d_4 = float(T_3_4[0, 3]), float(T_3_4[:3, 3] @ T_3_4[:3, 2])
    expected = [
        mdh(theta=-HALF_PI),
        mdh(alpha=HALF_PI, theta=-HALF_PI),
        mdh(a=a_2, theta=HALF_PI),
        mdh(a=a_3, alpha=-HALF_PI, d=d_4),
        mdh(alpha=HALF_PI),
        mdh(alpha=-HALF_PI, theta=-HALF_PI),
        mdh(alpha=HALF_PI, theta=HALF_PI),
    ]
    return GimballedArm(a_2, float(np.hypot(a_3, d_4)), float(np.arctan2(d_4, a_3))) if _same(rows, expected) else None


def _same(rows: Sequence[Array], expected: Sequence[Array]) -> bool:
    return all(np.abs(row - other).max() <= 1e-12 for row, other in zip(rows, expected, strict=True))
