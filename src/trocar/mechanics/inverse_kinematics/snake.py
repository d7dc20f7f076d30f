"""Inverse kinematics of a shaft with a snake wrist: pitch, yaw, yaw, pitch, each axis turning half of its joint.

There is no closed form. But the wrist is short and bends by less than 45 degrees, so that a wrist with both axes at
its middle is a good initial guess, which damped least squares refines.
"""

from __future__ import annotations

import numpy as np

from trocar.arms import Arm
from trocar.arms.arm import poses_at_zero
from trocar.arms.structure import SnakeShaft
from trocar.mechanics.inverse_kinematics.descent import refined
from trocar.mechanics.inverse_kinematics.remote_centre import IkBranch, offset_wrist
from trocar.spatial import Array, inverse, mdh

MAX_BEND = np.pi  # largest bend of the wrist in the search [rad]; a larger one is outside any limit


def snaked(arm: Arm, T: Array, q_seed: Array) -> list[IkBranch]:
    """One branch per start: the seed, and every branch of the wrist without length.

    With the wrist within 1 cm of the port its length is not small relative to the depth: the guess is then poor, and up
    to 1 pose in 100 needs a specific seed.
    """
    starts = [q_seed, *(branch.q for branch in _guesses(arm, T, q_seed))]
    # the caller checks the limits: a step must be able to cross them
    bound = np.array([np.inf] * 4 + [MAX_BEND] * 2)
    return [refined(arm, T, start, q_seed, -bound, bound) for start in starts]


def _guesses(arm: Arm, T: Array, q_seed: Array) -> list[IkBranch]:
    """Branches of a wrist whose axes meet in the middle of the snake, with the same tip at q = 0."""
    at, half = poses_at_zero(arm.serial), np.pi / 2
    assert isinstance(arm.structure, SnakeShaft)
    d_roll = float(arm.serial[3].placement[2, 3]) + 0.5 * arm.structure.length
    T_insertion_6 = mdh(d=d_roll) @ mdh(alpha=-half, theta=-half) @ mdh(alpha=-half, theta=-half)
    T_6_tip = inverse(at["insertion"] @ T_insertion_6) @ at[arm.serial[-1].name] @ arm.T_last_tip
    return offset_wrist(arm, T @ inverse(T_6_tip), q_seed, d_roll, 0.0)
