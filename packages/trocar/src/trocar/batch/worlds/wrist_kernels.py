"""Warp kernels of a shaft with an offset wrist (PSM): closed-form inverse kinematics, tip increments."""

# mypy: ignore-errors
# ruff: noqa: UP018 - float(0.0) declares a variable that a kernel changes

import warp as wp

wp.set_module_options({"enable_backward": False})

NEAR = 1e-5  # distance from a singularity below which a pose has no solution [m, rad]: float32 resolves no less
TURN = 6.283185307179586
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
def nearest_turn(angle: float, near: float, low: float, high: float) -> float:
    """The angle moved by whole turns to the one nearest to `near`, within the limits if any is."""
    moved = angle + wp.round((near - angle) / TURN) * TURN
    if moved < low:
        moved = moved + TURN
    if moved > high:
        moved = moved - TURN
    return moved


@wp.func
def joints_of(arm: Wrist, T_world: wp.mat44, seed: vec6) -> vec7:
    """Joints nearest to a seed, within limits if possible, else cut at them; the last entry is 0 if there are none."""
    T = arm.T_base_world * T_world * arm.T_tip_6
    x = wp.vec3(T[0, 0], T[1, 0], T[2, 0])
    y = wp.vec3(T[0, 1], T[1, 1], T[2, 1])
    z = wp.vec3(T[0, 2], T[1, 2], T[2, 2])
    p = wp.vec3(T[0, 3], T[1, 3], T[2, 3])
    px = wp.dot(p, x)
    py = wp.dot(p, y)
    pz = wp.dot(p, z)
    rho = wp.sqrt(px * px + py * py)
    best = vec6()
    best_cost = float(1.0e30)
    for branch in range(4):
        yaw_sign = float(1.0)
        if branch >= 2:
            yaw_sign = -1.0
        sign = float(1.0)
        if branch == 1 or branch == 3:
            sign = -1.0
        reach = yaw_sign * rho
        q6 = wp.atan2(yaw_sign * px, yaw_sign * py)
        L = sign * wp.sqrt((reach - arm.offset) * (reach - arm.offset) + pz * pz)
        q5 = wp.atan2(-sign * pz, sign * (reach - arm.offset))
        s6 = wp.sin(q6)
        c6 = wp.cos(q6)
        s5 = wp.sin(q5)
        c5 = wp.cos(q5)
        s = c5 * (s6 * x + c6 * y) - s5 * z
        flat = wp.sqrt(s[0] * s[0] + s[2] * s[2])
        if wp.abs(L) > NEAR and rho > NEAR and flat > NEAR:
            sin1 = s[0] / flat
            cos1 = -s[2] / flat
            q1 = wp.atan2(s[0], -s[2])
            q2 = wp.atan2(-s[1], flat)
            sin2 = wp.sin(q2)
            cos2 = wp.cos(q2)
            z5 = c6 * x - s6 * y
            along = -sin1 * sin2 * z5[0] - cos2 * z5[1] + cos1 * sin2 * z5[2]
            q4 = wp.atan2(-along, -cos1 * z5[0] - sin1 * z5[2])
            q = vec6(q1, q2, L - arm.insertion - arm.roll, q4, q5, q6)
            cost = float(0.0)
            for i in range(6):
                if i != 2:
                    q[i] = nearest_turn(q[i], seed[i], arm.lower[i], arm.upper[i])
                d = q[i] - seed[i]
                cost += d * d
                if q[i] < arm.lower[i] or q[i] > arm.upper[i]:
                    cost += 1.0e6  # only if no branch is within the limits
            if cost < best_cost:
                best_cost = cost
                best = q
    solved = float(1.0)
    if best_cost >= 1.0e30:
        solved = 0.0
    for i in range(6):
        best[i] = wp.clamp(best[i], arm.lower[i], arm.upper[i])
    return vec7(best[0], best[1], best[2], best[3], best[4], best[5], solved)


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
