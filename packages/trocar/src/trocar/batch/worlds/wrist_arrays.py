"""A shaft with an offset wrist (PSM) in arrays: tip poses in NumPy or torch, closed-form inverse kinematics in NumPy.

The formulas are those of `wrist_kernels`, which run on Warp's devices in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.batch.worlds.layout import ArmLayout, WristLayout
from trocar.errors import TrocarError
from trocar.spatial import Array, inverse

TURN = 2.0 * np.pi
NEAR = 1e-9  # distance from a singularity below which a pose has no solution [m, rad]
BEYOND = 1e6  # cost of a solution beyond the limits


def wrist_of(arm: ArmLayout) -> WristLayout:
    """The wrist of an arm; an error if it has none."""
    if arm.wrist is None:
        raise TrocarError(f"tip increments need an arm with an offset wrist and jaws, as the PSM; {arm.name} has none")
    return arm.wrist


def tip_poses(xp: Any, wrist: WristLayout, T_world_base: Array, q: Any) -> Any:
    """Tip poses (n, 4, 4) in the world of joints (n, 6 or more); xp: numpy or torch, of which q is an array."""
    T = _like(xp, T_world_base, q)
    for k, placement in enumerate(wrist.placements):
        T = T @ _like(xp, placement, q) @ (_slid(xp, q[:, k]) if k == 2 else _turned(xp, q[:, k]))
    return T @ _like(xp, wrist.T_6_tip, q)


def _like(xp: Any, values: Array, array: Any) -> Any:
    """Constants as an array of the same kind, precision and device as another."""
    if xp is np:
        return values
    return xp.as_tensor(np.asarray(values), dtype=array.dtype, device=array.device)


def _turned(xp: Any, angle: Any) -> Any:
    c, s, zero, one = xp.cos(angle), xp.sin(angle), xp.zeros_like(angle), xp.ones_like(angle)
    rows = [c, -s, zero, zero, s, c, zero, zero, zero, zero, one, zero, zero, zero, zero, one]
    return xp.stack(rows, -1).reshape(-1, 4, 4)


def _slid(xp: Any, way: Any) -> Any:
    zero, one = xp.zeros_like(way), xp.ones_like(way)
    rows = [one, zero, zero, zero, zero, one, zero, zero, zero, zero, one, way, zero, zero, zero, one]
    return xp.stack(rows, -1).reshape(-1, 4, 4)


def nearest_joints(arm: ArmLayout, T_world: Array, seed: Array) -> tuple[Array, Array]:
    """Joints (n, 6) of tip poses (n, 4, 4) nearest to seeds (n, 6), cut at the limits; mask (n,) of solved poses."""
    wrist = wrist_of(arm)
    T = inverse(arm.T_world_base) @ T_world @ inverse(wrist.T_6_tip)
    x, y, z, p = (T[:, :3, k] for k in range(4))
    px, py, pz = (np.sum(p * axis, axis=1) for axis in (x, y, z))
    rho = np.hypot(px, py)
    best, best_cost = seed.copy(), np.full(len(seed), np.inf)
    for yaw_sign in (1.0, -1.0):
        for sign in (1.0, -1.0):
            away = yaw_sign * rho - wrist.offset
            q6, q5 = np.arctan2(yaw_sign * px, yaw_sign * py), np.arctan2(-sign * pz, sign * away)
            L = sign * np.hypot(away, pz)
            s6, c6, s5, c5 = (f(a)[:, None] for a in (q6, q5) for f in (np.sin, np.cos))
            shaft = c5 * (s6 * x + c6 * y) - s5 * z
            flat = np.hypot(shaft[:, 0], shaft[:, 2])
            q1, q2 = np.arctan2(shaft[:, 0], -shaft[:, 2]), np.arctan2(-shaft[:, 1], flat)
            sin2, cos2, sin1, cos1 = np.sin(q2), np.cos(q2), np.sin(q1), np.cos(q1)
            axis = c6 * x - s6 * y
            along = -sin1 * sin2 * axis[:, 0] - cos2 * axis[:, 1] + cos1 * sin2 * axis[:, 2]
            q4 = np.arctan2(-along, -cos1 * axis[:, 0] - sin1 * axis[:, 2])
            q = np.stack([q1, q2, L - wrist.insertion - wrist.roll, q4, q5, q6], axis=1)
            turns = np.where(np.arange(6) == 2, 0.0, np.round((seed - q) / TURN) * TURN)
            q = q + turns
            for k in (0, 1, 3, 4, 5):
                q[:, k] += TURN * ((q[:, k] < wrist.lower[k]) * 1.0 - (q[:, k] > wrist.upper[k]))
            beyond = ((q < wrist.lower) | (q > wrist.upper)).sum(axis=1)
            cost = np.square(q - seed).sum(axis=1) + BEYOND * beyond
            regular = (np.abs(L) > NEAR) & (rho > NEAR) & (flat > NEAR)
            better = regular & (cost < best_cost)
            best[better], best_cost[better] = q[better], cost[better]
    return np.clip(best, wrist.lower, wrist.upper), np.isfinite(best_cost)
