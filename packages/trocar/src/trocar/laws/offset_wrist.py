"""Closed-form inverse kinematics of a shaft through a remote centre with an offset wrist (PSM).

Everything is in the base frame, whose origin is the remote centre. The shaft points along
s = (cos q2 sin q1, -sin q2, -cos q2 cos q1), and the wrist pitch axis is at L s. The yaw axis z6 and the shaft span a
plane through the remote centre that also holds x5, the direction from the pitch to the yaw axis. So x5 is along the
part of p normal to z6, which gives q6 up to a half turn. The rest of the wrist is a planar triangle: p - a x5 = L s
gives L up to sign, and q5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from trocar.laws.graph import Node, absolute, atan2, both, cos, hypot, maximum, minimum, rint, select, sin, total, whole

# Below this the quantity that determines a joint is rounding error, and the joint is copied from the seed [m].
VANISHING = 1e-12
TURN = 2.0 * math.pi
BEYOND = 1e6  # cost of a joint beyond its limits
UNSOLVED = 1e30  # cost of a pose near a singularity
POSE = {"x": 3, "y": 3, "z": 3, "p": 3}  # axes and origin of the wrist yaw frame in the base
NEAREST = POSE | {"seed": 6, "lower": 6, "upper": 6}
SLIDING = 2  # the insertion, a length, which has no whole turns

Vector = Sequence[Node]


def offset_wrist(
    x: Vector,
    y: Vector,
    z: Vector,
    p: Vector,
    a: Node,
    yaw_flip: Node,
    pitch_flip: Node,
    q1_seed: Node,
    q5_seed: Node,
    q6_seed: Node,
    *,
    quotients: bool = False,
) -> tuple[Node, ...]:
    """One of the four branches of a pose of the wrist yaw frame.

    Args:
        a: distance of the wrist's axes [m]. yaw_flip, pitch_flip: 1 for q6 and q5 within a quarter turn, -1 for the
            others. q1_seed, q5_seed, q6_seed: joints at singularities that leave them free [rad].
        quotients: for numbers, take the sine and cosine of q1 from its sides, which is faster; arrays compute both.

    Returns:
        q1, q2, L, q4, q5, q6; then the distances of p from z6, with the sign of the branch, and of s from the yaw axis:
        the branch is singular where one of them or L is zero.
    """
    px, py, pz = _dot(p, x), _dot(p, y), _dot(p, z)
    rho = hypot(px, py)
    sure = rho > VANISHING
    yaw = yaw_flip * select(py < 0.0, -1.0, 1.0)
    q6 = select(sure, atan2(yaw * px, yaw * py), q6_seed)
    reach = select(sure, yaw * rho, 0.0)  # p . x5 = L cos q5 + a
    along = reach - a
    pitch = pitch_flip * select(along < 0.0, -1.0, 1.0)
    L = pitch * hypot(along, pz)
    sure = absolute(L) > VANISHING
    q5 = atan2(select(sure, -(pitch * pz), sin(q5_seed)), select(sure, pitch * along, cos(q5_seed)))
    s6, c6, s5, c5 = sin(q6), cos(q6), sin(q5), cos(q5)
    s = [whole(c5 * (s6 * x[k] + c6 * y[k]) - s5 * z[k]) for k in range(3)]  # whole: -s keeps the sign of a zero
    z5 = [c6 * x[k] - s6 * y[k] for k in range(3)]
    horizontal = hypot(s[0], s[2])
    sure = horizontal > VANISHING
    q1, q2 = select(sure, atan2(s[0], -s[2]), q1_seed), atan2(-s[1], horizontal)
    s1, c1, s2, c2 = sin(q1), cos(q1), sin(q2), cos(q2)
    if quotients:
        s1, c1 = select(sure, s[0] / horizontal, s1), select(sure, -s[2] / horizontal, c1)
    # the axes of the insertion frame are x3 = (-s1 s2, -c2, c1 s2) and y3 = (-c1, 0, -s1)
    along_x3, along_y3 = whole(-s1 * s2 * z5[0] - c2 * z5[1] + c1 * s2 * z5[2]), -c1 * z5[0] - s1 * z5[2]
    q4 = atan2(-along_x3, along_y3)
    return q1, q2, L, q4, q5, q6, reach, horizontal


def nearest_joints(
    x: Vector,
    y: Vector,
    z: Vector,
    p: Vector,
    a: Node,
    insertion: Node,
    roll: Node,
    near: Node,
    seed: Vector,
    lower: Vector,
    upper: Vector,
) -> tuple[Node, ...]:
    """The branch nearest to a seed, within limits if one is, else cut at them.

    Args:
        insertion, roll: the insertion joint is L - insertion - roll [m].
        near: distance from a singularity below which a pose has no solution [m, rad].

    Returns:
        q1 to q6, and 1 if the pose has a solution, else 0 and the seed.
    """
    graph = a.graph
    best, best_cost = list(seed), graph.node(UNSOLVED)
    for yaw_flip in (1.0, -1.0):
        for pitch_flip in (1.0, -1.0):
            flips = graph.node(yaw_flip), graph.node(pitch_flip)
            *joints, reach, horizontal = offset_wrist(x, y, z, p, a, *flips, seed[0], seed[4], seed[5])
            regular = both(both(absolute(joints[2]) > near, absolute(reach) > near), horizontal > near)
            joints[2] = joints[2] - insertion - roll
            q = [
                angle if k == SLIDING else _turned(angle, seed[k], lower[k], upper[k]) for k, angle in enumerate(joints)
            ]
            beyond = [
                select(v < low, BEYOND, select(v > high, BEYOND, 0.0))
                for v, low, high in zip(q, lower, upper, strict=True)
            ]
            cost = total(graph, ((v - s) * (v - s) for v, s in zip(q, seed, strict=True))) + total(graph, beyond)
            better = both(regular, cost < best_cost)
            best = [select(better, v, w) for v, w in zip(q, best, strict=True)]
            best_cost = select(better, cost, best_cost)
    cut = [minimum(maximum(v, low), high) for v, low, high in zip(best, lower, upper, strict=True)]
    return *cut, select(best_cost < UNSOLVED, 1.0, 0.0)


def _turned(angle: Node, near: Node, low: Node, high: Node) -> Node:
    """The angle moved by whole turns next to another one, and then by one turn into its limits."""
    turned = angle + rint((near - angle) / TURN) * TURN
    return turned + select(turned < low, TURN, select(turned > high, -TURN, 0.0))


def _dot(u: Vector, v: Vector) -> Node:
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
