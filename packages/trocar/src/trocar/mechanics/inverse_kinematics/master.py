"""Inverse kinematics of the MTM: closed form except for the redundant wrist platform angle.

The four wrist axes intersect in one point, so the position alone gives q1, q2, q3. The orientation leaves one degree of
freedom: for every platform angle q4 there is one (q5, q6, q7). Among those within limits the solution nearest to the
seed is taken, in the sense of the smallest sum of squared joint differences [rad].
"""

from __future__ import annotations

import numpy as np

from trocar.arms import Arm
from trocar.arms.structure import GimballedArm
from trocar.mechanics.inverse_kinematics.descent import NEAR, IkBranch
from trocar.spatial import Array, rotation

# Limits are widened by this [rad] while searching, so that rounding does not push out a pose on a limit.
SLACK = 5e-10
GRID = 97  # platform angles tried before refinement
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def gimballed(arm: Arm, T: Array, q_seed: Array) -> list[IkBranch]:
    """Branches of an MTM: in front of or behind the yaw axis, elbow to either side."""
    lengths = arm.structure
    assert isinstance(lengths, GimballedArm)
    a_2, r, gamma = lengths.upper_arm, lengths.r, lengths.gamma
    p, R = T[:, :3, 3], T[:, :3, :3]
    branches = []
    for side in (1.0, -1.0):
        u, v = side * np.hypot(p[:, 0], p[:, 1]), p[:, 2]
        q1 = np.where(np.abs(u) > 0, np.arctan2(side * p[:, 0], -side * p[:, 1]), q_seed[:, 0])
        cos_elbow = (u * u + v * v - a_2 * a_2 - r * r) / (2.0 * a_2 * r)
        failure = {
            int(i): f"the wrist centre is {np.hypot(u[i], v[i]):.3f} m from the shoulder; "
            f"the arm spans {abs(a_2 - r):.3f} to {a_2 + r:.3f} m"
            for i in np.flatnonzero(np.abs(cos_elbow) > 1.0)
        }
        for bend in (1.0, -1.0):
            elbow = bend * np.arccos(np.clip(cos_elbow, -1.0, 1.0))
            q3 = elbow - gamma - np.pi / 2
            q2 = np.arctan2(v, u) - np.arctan2(r * np.sin(elbow), a_2 + r * np.cos(elbow)) + np.pi / 2
            arm_q = np.stack([_wrapped(q1), _wrapped(q2), _wrapped(q3)], axis=-1)
            if not ((arm_q >= arm.lower[:3] - 1e-2) & (arm_q <= arm.upper[:3] + 1e-2)).all(-1).any():
                continue
            # orientation (N, 3, 3) of the frame in which joint 4 turns about z
            R_3 = rotation("z", arm_q[:, 0] - np.pi / 2) @ rotation("x", np.pi / 2)
            R_3 = R_3 @ rotation("z", arm_q[:, 1] + arm_q[:, 2]) @ rotation("x", -np.pi / 2)
            wrist, solved = _wrist(arm, np.swapaxes(R_3, -1, -2) @ R, q_seed)
            unfound = {
                int(i): "no wrist platform angle keeps the wrist within its limits" for i in np.flatnonzero(~solved)
            }
            near = (np.abs(u) < NEAR) | (np.abs(np.sin(elbow)) < NEAR) | (np.cos(wrist[:, 2]) < NEAR)
            branches.append(IkBranch(np.concatenate([arm_q, wrist], axis=-1), near, {**unfound, **failure}))
    if not branches:  # no branch within limits: report the regular one
        branches.append(IkBranch(np.concatenate([arm_q, q_seed[:, 3:]], axis=-1), np.zeros(len(T), bool), failure))
    return branches


def _wrist(arm: Arm, R_3: Array, q_seed: Array) -> tuple[Array, Array]:
    """Joints 4 to 7 (N, 4) nearest to the seed for orientations R_3 below joint 3, and whether any exist."""
    lower, upper = arm.lower - SLACK, arm.upper + SLACK
    q4 = np.sort(_samples(R_3, lower, upper, q_seed[:, 3]), axis=-1)
    cost = _cost(R_3, q4, lower, upper, q_seed)
    best, left, right = _lowest_minima(q4, cost, count=4)
    rows = np.arange(len(R_3))[:, None]
    middle = q4[rows, best]
    # search each side separately, so that infeasible angles drive the search towards the feasible middle
    refined = [
        _golden_section(R_3, a, b, lower, upper, q_seed, ties_left)
        for a, b, ties_left in ((left, middle, False), (middle, right, True))
    ]
    lowest = np.take_along_axis(q4, cost.argmin(-1)[:, None], 1)
    candidates = np.concatenate([*refined, middle, lowest], axis=-1)
    cost = _cost(R_3, candidates, lower, upper, q_seed)
    pick = cost.argmin(-1)
    solved = np.isfinite(cost[rows[:, 0], pick])
    q4_best = candidates[rows[:, 0], pick][:, None]
    return np.concatenate([q4_best, *_family(R_3, q4_best, lower, upper, q_seed)], axis=-1), solved


def _family(R_3: Array, q4: Array, lower: Array, upper: Array, q_seed: Array) -> tuple[Array, Array, Array]:
    """q5, q6, q7 for platform angles q4 (N, K): Z-Y-Z angles with sin(q6 - pi/2) < 0, that is |q6| < pi/2.

    q5 and q7 are moved by whole turns: q5 to the middle of its limits, q7 to the seed.
    """
    c, s = np.cos(q4), np.sin(q4)
    R = R_3[:, :, :, None]
    # rows of (Rz(q4) Rx(pi/2))' are (c, s, 0), (0, 0, 1) and (s, -c, 0)
    A_xz, A_yz, A_zz = c * R[:, 0, 2] + s * R[:, 1, 2], R[:, 2, 2], s * R[:, 0, 2] - c * R[:, 1, 2]
    A_zx, A_zy = s * R[:, 0, 0] - c * R[:, 1, 0], s * R[:, 0, 1] - c * R[:, 1, 1]
    q5 = np.arctan2(-A_yz * np.ones_like(c), -A_xz)
    q6 = np.arctan2(A_zz, np.hypot(A_xz, A_yz))
    q7 = np.arctan2(-A_zy, A_zx) - np.pi / 2
    q5 = _nearest_turn(q5, 0.5 * (lower[4] + upper[4]), lower[4], upper[4])
    return q5, q6, _nearest_turn(q7, q_seed[:, 6:7], lower[6], upper[6])


def _samples(R_3: Array, lower: Array, upper: Array, q4_seed: Array) -> Array:
    """Platform angles (N, B): an even grid, the seed, and every angle at which q5, q6 or q7 reaches a limit.

    So neither a feasible range narrower than the grid nor a jump of the cost is missed. With
    (x, y, z) the roll axis below joint 3, sin q6 = x sin q4 - y cos q4 and tan q5 = z / (x cos q4 + y sin q4), so
    their limits are where a sine or cosine of q4 - phi has a given value; that of q7 where a tangent of q4 has.
    """
    x, y, z = R_3[:, 0, 2], R_3[:, 1, 2], R_3[:, 2, 2]
    rho, phi = np.hypot(x, y), np.arctan2(y, x)
    safe = np.where(rho > 1e-12, rho, 1.0)
    edges = []
    for limit in (lower[5], upper[5]):
        at = np.arcsin(np.clip(np.sin(limit) / safe, -1.0, 1.0))
        edges += [phi + at, phi + np.pi - at]
    for limit in (lower[4], upper[4]):
        at = np.arccos(np.clip(z / (np.tan(limit) * safe), -1.0, 1.0))
        edges += [phi + at, phi - at]
    for theta in (lower[6] + np.pi / 2, upper[6] + np.pi / 2):
        R = R_3[:, :2, 0] * np.sin(theta) + R_3[:, :2, 1] * np.cos(theta)
        at = np.arctan2(R[:, 1], R[:, 0])
        edges += [at, at + np.pi]
    turned = np.stack([edge + 2 * np.pi * k for edge in [*edges, q4_seed] for k in (-1, 0, 1)], axis=-1)
    ends = np.sort(np.clip(turned, lower[3], upper[3]), axis=-1)
    between = 0.5 * (ends[:, 1:] + ends[:, :-1])
    grid = np.broadcast_to(np.linspace(lower[3], upper[3], GRID), (len(R_3), GRID))
    return np.concatenate([ends, between, grid], axis=-1)


def _cost(R_3: Array, q4: Array, lower: Array, upper: Array, q_seed: Array) -> Array:
    """Squared distance (N, K) of joints 4 to 7 to the seed; infinite outside the limits."""
    wrist = list(enumerate((q4, *_family(R_3, q4, lower, upper, q_seed)), start=3))
    inside = np.logical_and.reduce([(q >= lower[j]) & (q <= upper[j]) for j, q in wrist])
    return np.where(inside, sum((q - q_seed[:, j : j + 1]) ** 2 for j, q in wrist), np.inf)


def _lowest_minima(x: Array, cost: Array, count: int) -> tuple[Array, Array, Array]:
    """Indices (N, count) of the lowest local minima of cost over sorted x, and the different x on either side."""
    index = np.arange(x.shape[1])
    rises = x[:, 1:] > x[:, :-1] + 1e-12  # clipped and wrapped edges are equal up to rounding
    first = np.maximum.accumulate(np.where(np.pad(rises, ((0, 0), (1, 0))), index, 0), axis=1)
    last = np.pad(rises, ((0, 0), (0, 1)))
    last = np.minimum.accumulate(np.where(last, index, x.shape[1] - 1)[:, ::-1], axis=1)[:, ::-1]
    before, after = np.maximum(first - 1, 0), np.minimum(last + 1, x.shape[1] - 1)
    lowest = (cost <= np.take_along_axis(cost, before, 1)) & (cost <= np.take_along_axis(cost, after, 1))
    lowest &= first == index  # equal angles count once
    best = np.argsort(np.where(lowest, cost, np.inf), axis=-1)[:, :count]
    left, right = (np.take_along_axis(x, np.take_along_axis(side, best, 1), 1) for side in (before, after))
    return best, left, right


def _golden_section(
    R_3: Array, left: Array, right: Array, lower: Array, upper: Array, q_seed: Array, ties_left: bool
) -> Array:
    """Minimiser of `_cost` between left and right (N, K); infeasible values count as infinite."""
    a, b = left.copy(), right.copy()
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    f_c, f_d = (_cost(R_3, x, lower, upper, q_seed) for x in (c, d))
    for _ in range(42):  # 0.618^42 of a grid cell is 1e-10 rad
        go_left = f_c <= f_d if ties_left else f_c < f_d
        a, b = np.where(go_left, a, c), np.where(go_left, d, b)
        new = np.where(go_left, b - GOLDEN * (b - a), a + GOLDEN * (b - a))
        f_new = _cost(R_3, new, lower, upper, q_seed)
        c, d = np.where(go_left, new, d), np.where(go_left, c, new)
        f_c, f_d = np.where(go_left, f_new, f_d), np.where(go_left, f_c, f_new)
    return 0.5 * (a + b)


def _nearest_turn(angle: Array, target: Array | float, lower: float, upper: float) -> Array:
    """The angle plus whole turns nearest to the target, moved by whole turns into the limits if possible."""
    turn = 2.0 * np.pi
    angle = angle + turn * np.round((target - angle) / turn)
    angle = angle + turn * np.ceil(np.maximum(lower - angle, 0.0) / turn)
    return np.asarray(angle - turn * np.ceil(np.maximum(angle - upper, 0.0) / turn))


def _wrapped(angle: Array) -> Array:
    return np.asarray((angle + np.pi) % (2.0 * np.pi) - np.pi)
