"""Warp kernels of a shaft with an offset wrist (PSM): closed-form inverse kinematics, tip increments."""

# mypy: ignore-errors
# ruff: noqa: UP018 - float(0.0) declares a variable that a kernel changes

import warp as wp

from trocar.laws import offset_wrist
from trocar.laws.law import ScalarLaw
from trocar.laws.sources.function_source import on_warp

wp.set_module_options({"enable_backward": False})

NEAR = wp.constant(1e-5)  # distance from a singularity below which a pose has no solution [m, rad], for float32
nearest_joints = on_warp(ScalarLaw(offset_wrist.nearest_joints, vectors=offset_wrist.NEAREST))
vec3 = wp.types.vector(length=3, dtype=float)
vec6 = wp.types.vector(length=6, dtype=float)
vec7 = wp.types.vector(length=7, dtype=float)


@wp.struct
class Wrist:
    """Constants of an arm; see `WristLayout`."""

    T_world_base: wp.mat44
    T_base_world: wp.mat44
    T_6_tip: wp.mat44
    T_tip_6: wp.mat44
    P0: wp.mat44
    P1: wp.mat44
    P2: wp.mat44
    P3: wp.mat44
    P4: wp.mat44
    P5: wp.mat44
    lower: vec6
    upper: vec6
    roll: float
    offset: float
    insertion: float


@wp.func
def turned(P: wp.mat44, q: float) -> wp.mat44:
    """P times a rotation about z."""
    c = wp.cos(q)
    s = wp.sin(q)
    return P * wp.mat44(c, -s, 0.0, 0.0, s, c, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@wp.func
def tip_in_world(arm: Wrist, q: vec6) -> wp.mat44:
    """Tip pose in the world for joints (6)."""
    slide = wp.mat44(1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, q[2], 0.0, 0.0, 0.0, 1.0)
    T = arm.T_world_base * turned(arm.P0, q[0]) * turned(arm.P1, q[1]) * (arm.P2 * slide)
    return T * turned(arm.P3, q[3]) * turned(arm.P4, q[4]) * turned(arm.P5, q[5]) * arm.T_6_tip


@wp.func
def joints_of(arm: Wrist, T_world: wp.mat44, seed: vec6) -> vec7:
    """Joints nearest to a seed, within limits if possible, else cut at them; the last entry is 0 if there are none."""
    T = arm.T_base_world * T_world * arm.T_tip_6
    x = vec3(T[0, 0], T[1, 0], T[2, 0])
    y = vec3(T[0, 1], T[1, 1], T[2, 1])
    z = vec3(T[0, 2], T[1, 2], T[2, 2])
    p = vec3(T[0, 3], T[1, 3], T[2, 3])
    q1, q2, q3, q4, q5, q6, solved = nearest_joints(
        x, y, z, p, arm.offset, arm.insertion, arm.roll, NEAR, seed, arm.lower, arm.upper
    )
    return vec7(q1, q2, q3, q4, q5, q6, solved)


@wp.kernel
def move_tips(
    arm: Wrist,
    first: int,
    duration: float,
    increment: wp.array2d(dtype=float),
    motor_from_joint: wp.array2d(dtype=float),
    commanded: wp.array2d(dtype=float),
    ref: wp.array2d(dtype=float),
    rate: wp.array2d(dtype=float),
):
    """Tip increments (n, 7) of one arm, whose first joint is `first`, as references of its servo over a duration.

    The reference starts at the last commanded joints, `commanded` (n, all joints), and reaches the new ones at the end.
    """
    w = wp.tid()
    seed = vec6()
    for i in range(6):
        seed[i] = commanded[w, first + i]
    T = tip_in_world(arm, seed)
    spin = wp.vec3(increment[w, 3], increment[w, 4], increment[w, 5])
    angle = wp.length(spin)
    R = wp.identity(n=3, dtype=float)
    if angle > 1.0e-12:
        R = wp.quat_to_matrix(wp.quat_from_axis_angle(spin / angle, angle))
    goal = wp.mat44(T)
    for r in range(3):
        for c in range(3):
            goal[r, c] = R[r, 0] * T[0, c] + R[r, 1] * T[1, c] + R[r, 2] * T[2, c]
        goal[r, 3] = T[r, 3] + increment[w, r]
    solution = joints_of(arm, goal, seed)
    for m in range(7):
        start = float(0.0)
        change = float(0.0)
        for j in range(7):
            a = motor_from_joint[m, j]
            start += a * commanded[w, first + j]
            if j == 6:
                change += a * increment[w, 6]
            elif solution[6] > 0.0:
                change += a * (solution[j] - commanded[w, first + j])
        ref[w, first + m] = start
        rate[w, first + m] = change / duration
    if solution[6] > 0.0:
        for j in range(6):
            commanded[w, first + j] = solution[j]
    commanded[w, first + 6] = commanded[w, first + 6] + increment[w, 6]
