"""A shaft with an offset wrist (PSM) in arrays: tip poses in NumPy or torch, closed-form inverse kinematics in NumPy.

`wrist_kernels` has both on Warp's devices, in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from trocar.batch.worlds.layout import ArmLayout, WristLayout
from trocar.errors import TrocarError
from trocar.laws import offset_wrist as law
from trocar.laws.law import ScalarLaw
from trocar.laws.sources.function_source import on_arrays
from trocar.spatial import Array, ArrayModule, Values, inverse

NEAR = 1e-9  # distance from a singularity below which a pose has no solution [m, rad]


def wrist_of(arm: ArmLayout) -> WristLayout:
    """The wrist of an arm; an error if it has none."""
    if arm.wrist is None:
        raise TrocarError(f"tip increments need an arm with an offset wrist and jaws, as the PSM; {arm.name} has none")
    return arm.wrist


def tip_poses(xp: ArrayModule, wrist: WristLayout, T_world_base: Array, q: Values) -> Values:
    """Tip poses (n, 4, 4) in the world of joints (n, 6 or more); xp: numpy or torch, of which q is an array."""
    T = _like(xp, T_world_base, q)
    for k, placement in enumerate(wrist.placements):
        T = T @ _like(xp, placement, q) @ (_slid(xp, q[:, k]) if k == 2 else _turned(xp, q[:, k]))
    return T @ _like(xp, wrist.T_6_tip, q)


def _like(xp: ArrayModule, values: Array, array: Values) -> Values:
    """Constants as an array of the same kind, precision and device as another."""
    if xp is np:
        return values
    return xp.as_tensor(np.asarray(values), dtype=array.dtype, device=array.device)


def _turned(xp: ArrayModule, angle: Values) -> Values:
    c, s, zero, one = xp.cos(angle), xp.sin(angle), xp.zeros_like(angle), xp.ones_like(angle)
    rows = [c, -s, zero, zero, s, c, zero, zero, zero, zero, one, zero, zero, zero, zero, one]
    return xp.stack(rows, -1).reshape(-1, 4, 4)


def _slid(xp: ArrayModule, way: Values) -> Values:
    zero, one = xp.zeros_like(way), xp.ones_like(way)
    rows = [one, zero, zero, zero, zero, one, zero, zero, zero, zero, one, way, zero, zero, zero, one]
    return xp.stack(rows, -1).reshape(-1, 4, 4)


def nearest_joints(arm: ArmLayout, T_world: Array, seed: Array) -> tuple[Array, Array]:
    """Joints (n, 6) of tip poses (n, 4, 4) nearest to seeds (n, 6), cut at the limits; mask (n,) of solved poses."""
    wrist = wrist_of(arm)
    T = inverse(arm.T_world_base) @ T_world @ inverse(wrist.T_6_tip)
    pose = (T[:, row, column] for column in range(4) for row in range(3))
    lengths = wrist.offset, wrist.insertion, wrist.roll
    *q, solved = _nearest()(*pose, *lengths, NEAR, *seed.T, *wrist.lower, *wrist.upper)
    return np.stack(q, axis=1), solved > 0.0


@cache
def _nearest() -> Callable[..., Values]:
    return on_arrays(ScalarLaw(law.nearest_joints, vectors=law.NEAREST))
