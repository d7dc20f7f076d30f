"""Warp kernels of a batch of scenes: motors and servos, Dahl friction, resets, guards and contacts.

Rows are worlds. Arrays named `A`, `D` and `B` are (rows, width): row k acts on `width` entries of qpos or qvel from
`first[k]` on. Numbers of modes and bits are those of `status`. Arrays of (1 or n, ...) are indexed by world modulo
their length, as in MuJoCo Warp.
"""

# mypy: ignore-errors
# ruff: noqa: UP018, RUF046 - float(0.0) declares a variable that a kernel changes

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def row_product(A: wp.array2d(dtype=float), k: int, x: wp.array2d(dtype=float), w: int, first: int) -> float:
    """Product of row k of A with the entries of world w from `first` on."""
    total = float(0.0)
    for i in range(A.shape[1]):
        a = A[k, i]
        if a != 0.0:
            total += a * x[w, first + i]
    return total


@wp.kernel
def move_references(dt: float, mode: wp.array(dtype=int), rate: wp.array2d(dtype=float), ref: wp.array2d(dtype=float)):
    """References move at their rates by one step, before they act."""
    w, m = wp.tid()
    if mode[m] == 1 or mode[m] == 3:
        ref[w, m] = ref[w, m] + dt * rate[w, m]


@wp.kernel
def control_motors(
    dt: float,
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    mode: wp.array(dtype=int),
    first_q: wp.array(dtype=int),
    first_v: wp.array(dtype=int),
    first_u: wp.array(dtype=int),
    joints: wp.array(dtype=int),
    A: wp.array2d(dtype=float),
    D: wp.array2d(dtype=float),
    coupling: wp.array2d(dtype=float),
    kp: wp.array2d(dtype=float),
    ki: wp.array2d(dtype=float),
    kd: wp.array2d(dtype=float),
    deadband: wp.array(dtype=float),
    output: wp.array(dtype=float),
    limit: wp.array(dtype=float),
    cutoff: wp.array(dtype=float),
    momentum: wp.array(dtype=float),
    ref: wp.array2d(dtype=float),
    rate: wp.array2d(dtype=float),
    effort: wp.array2d(dtype=float),
    integral: wp.array2d(dtype=float),
    explained: wp.array2d(dtype=float),
    observer: wp.array2d(dtype=float),
    applied: wp.array2d(dtype=float),
    ctrl: wp.array2d(dtype=float),
):
    """Efforts of the motors for the next step, and their sum in `applied`."""
    w, m = wp.tid()
    tau = float(0.0)
    kind = mode[m]
    if kind == 0 or kind == 2:
        tau = effort[w, m]
    elif kind == 1:
        s = row_product(A, m, qpos, w, first_q[m])
        ds = row_product(A, m, qvel, w, first_v[m])
        e = ref[w, m] - s
        de = rate[w, m] - ds
        if deadband[m] > 0.0:
            e = e - wp.clamp(e, -deadband[m], deadband[m])
            if e == 0.0:
                de = 0.0
        tau = kp[w % kp.shape[0], m] * e + kd[w % kd.shape[0], m] * de
        gain = ki[w % ki.shape[0], m]
        if gain != 0.0:
            integral[w, m] = integral[w, m] + dt * e
            tau = tau + gain * integral[w, m]
        if cutoff[m] > 0.0:
            p = momentum[m] * ds
            observer[w, m] = observer[w, m] + (explained[w, m] + p - observer[w, m]) * cutoff[m] * dt
            tau = tau + observer[w, m] - p
        tau = wp.clamp(tau, -output[m], output[m])
        if cutoff[m] > 0.0:
            explained[w, m] = wp.clamp(tau, -limit[m], limit[m])
    else:
        u = first_u[m]
        for j in range(joints[m]):
            k = u + j
            share = coupling[k, m - u]
            if share != 0.0:
                e = ref[w, k] - row_product(D, k, qpos, w, first_q[m])
                de = rate[w, k] - row_product(D, k, qvel, w, first_v[m])
                tau = tau + share * (kp[w % kp.shape[0], k] * e + kd[w % kd.shape[0], k] * de)
    if kind != 0:
        tau = wp.clamp(tau, -limit[m], limit[m])
    applied[w, m] = applied[w, m] + tau
    ctrl[w, m] = tau


@wp.kernel
def apply_dahl(
    qpos: wp.array2d(dtype=float),
    first_q: wp.array(dtype=int),
    first_v: wp.array(dtype=int),
    B: wp.array2d(dtype=float),
    F: wp.array2d(dtype=float),
    slope: wp.array2d(dtype=float),
    rate: wp.array2d(dtype=float),
    constant: wp.array2d(dtype=float),
    z: wp.array2d(dtype=float),
    s: wp.array2d(dtype=float),
    applied: wp.array2d(dtype=float),
):
    """Constant forces and those of Dahl elements, whose states follow the path since the last step."""
    w = wp.tid()
    v = w % F.shape[0]
    for i in range(applied.shape[1]):
        applied[w, i] = constant[w % constant.shape[0], i]
    for k in range(B.shape[0]):
        here = row_product(B, k, qpos, w, first_q[k])
        path = here - s[w, k]
        s[w, k] = here
        d = wp.sign(path)
        if path == 0.0:
            d = 0.0
        state = d + (z[w, k] - d) * wp.exp(rate[v, k] * wp.abs(path))
        z[w, k] = state
        force = -(F[v, k] + slope[v, k] * here) * state
        for i in range(B.shape[1]):
            b = B[k, i]
            if b != 0.0:
                applied[w, first_v[k] + i] = applied[w, first_v[k] + i] + b * force


@wp.kernel
def read_joints(
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    first_q: wp.array(dtype=int),
    first_v: wp.array(dtype=int),
    D: wp.array2d(dtype=float),
    q: wp.array2d(dtype=float),
    dq: wp.array2d(dtype=float),
):
    """Joint positions and velocities of all arms."""
    w, j = wp.tid()
    q[w, j] = row_product(D, j, qpos, w, first_q[j])
    dq[w, j] = row_product(D, j, qvel, w, first_v[j])


@wp.kernel
def reset_worlds(
    mask: wp.array(dtype=wp.bool),
    qpos_start: wp.array2d(dtype=float),
    qvel_start: wp.array2d(dtype=float),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    warm: wp.array2d(dtype=float),
    qacc: wp.array2d(dtype=float),
    time: wp.array(dtype=float),
    overflow: wp.array(dtype=int),
    status: wp.array(dtype=int),
):
    """Start the masked worlds at given states, at time 0."""
    w = wp.tid()
    if not mask[w]:
        return
    for i in range(qpos.shape[1]):
        qpos[w, i] = qpos_start[w % qpos_start.shape[0], i]
    for i in range(qvel.shape[1]):
        qvel[w, i] = qvel_start[w % qvel_start.shape[0], i]
        warm[w, i] = 0.0
        qacc[w, i] = 0.0
    time[w] = 0.0
    overflow[w] = 0
    status[w] = 0


@wp.kernel
def reset_velocities(
    mask: wp.array(dtype=wp.bool),
    bodies: wp.array2d(dtype=wp.spatial_vector),
    axes: wp.array2d(dtype=wp.spatial_vector),
):
    """Zero velocities of bodies and joint axes of the masked worlds.

    The loops of the next step use those of the last one: after a world had diverged, they would keep its NaN.
    """
    w, k = wp.tid()
    if mask[w]:
        if k < bodies.shape[1]:
            bodies[w, k] = wp.spatial_vector()
        if k < axes.shape[1]:
            axes[w, k] = wp.spatial_vector()


@wp.kernel
def reset_constraints(
    mask: wp.array(dtype=wp.bool),
    J: wp.array3d(dtype=float),
    D: wp.array2d(dtype=float),
    aref: wp.array2d(dtype=float),
    force: wp.array2d(dtype=float),
):
    """Zero rows of constraints of the masked worlds: MuJoCo Warp multiplies unused rows by zero, which keeps a NaN."""
    w, r = wp.tid()
    if mask[w]:
        for i in range(J.shape[2]):
            J[w, r, i] = 0.0
        if r < D.shape[1]:
            D[w, r] = 0.0
        if r < aref.shape[1]:
            aref[w, r] = 0.0
        if r < force.shape[1]:
            force[w, r] = 0.0


@wp.kernel
def reset_control(
    mask: wp.array(dtype=wp.bool),
    qpos: wp.array2d(dtype=float),
    first_q: wp.array(dtype=int),
    mode: wp.array(dtype=int),
    A: wp.array2d(dtype=float),
    D: wp.array2d(dtype=float),
    ref: wp.array2d(dtype=float),
    rate: wp.array2d(dtype=float),
    effort: wp.array2d(dtype=float),
    integral: wp.array2d(dtype=float),
    explained: wp.array2d(dtype=float),
    observer: wp.array2d(dtype=float),
    applied: wp.array2d(dtype=float),
    commanded: wp.array2d(dtype=float),
):
    """References of the masked worlds at their positions, at rest; no efforts, no memory."""
    w, m = wp.tid()
    if not mask[w]:
        return
    commanded[w, m] = row_product(D, m, qpos, w, first_q[m])
    if mode[m] == 3:
        ref[w, m] = commanded[w, m]
    else:
        ref[w, m] = row_product(A, m, qpos, w, first_q[m])
    rate[w, m] = 0.0
    effort[w, m] = 0.0
    integral[w, m] = 0.0
    explained[w, m] = 0.0
    observer[w, m] = 0.0
    applied[w, m] = 0.0


@wp.kernel
def reset_dahl(
    mask: wp.array(dtype=wp.bool),
    qpos: wp.array2d(dtype=float),
    first_q: wp.array(dtype=int),
    B: wp.array2d(dtype=float),
    z: wp.array2d(dtype=float),
    s: wp.array2d(dtype=float),
):
    """Dahl elements of the masked worlds relaxed, at their positions."""
    w, k = wp.tid()
    if mask[w]:
        z[w, k] = 0.0
        s[w, k] = row_product(B, k, qpos, w, first_q[k])


@wp.kernel
def place_bodies(
    mask: wp.array(dtype=wp.bool),
    body: int,
    poses: wp.array2d(dtype=float),
    position: wp.array2d(dtype=wp.vec3),
    turn: wp.array2d(dtype=wp.quat),
):
    """Poses (7) of a fixed body in the masked worlds; quaternions wxyz, as MuJoCo Warp keeps them."""
    w = wp.tid()
    if mask[w]:
        k = w % poses.shape[0]
        position[w, body] = wp.vec3(poses[k, 0], poses[k, 1], poses[k, 2])
        turn[w, body] = wp.quat(poses[k, 3], poses[k, 4], poses[k, 5], poses[k, 6])


@wp.func
def plain_quaternion(wxyz: wp.quat) -> wp.quat:
    """Warp's quaternion, whose scalar is last, of MuJoCo's."""
    return wp.quat(wxyz[1], wxyz[2], wxyz[3], wxyz[0])


@wp.kernel
def place_geoms(
    mask: wp.array(dtype=wp.bool),
    body: int,
    first: int,
    position: wp.array2d(dtype=wp.vec3),
    turn: wp.array2d(dtype=wp.quat),
    geom_pos: wp.array2d(dtype=wp.vec3),
    geom_quat: wp.array2d(dtype=wp.quat),
    geom_xpos: wp.array2d(dtype=wp.vec3),
    geom_xmat: wp.array2d(dtype=wp.mat33),
):
    """Geoms of a fixed body, from `first` on, at its pose: MuJoCo Warp computes them once, when its data are made."""
    w, k = wp.tid()
    if mask[w]:
        g = first + k
        R = wp.quat_to_matrix(plain_quaternion(turn[w % turn.shape[0], body]))
        own = wp.quat_to_matrix(plain_quaternion(geom_quat[w % geom_quat.shape[0], g]))
        geom_xpos[w, g] = position[w % position.shape[0], body] + R * geom_pos[w % geom_pos.shape[0], g]
        geom_xmat[w, g] = R * own


@wp.kernel
def guard_worlds(
    runaway: float,
    qacc: wp.array2d(dtype=float),
    qpos: wp.array2d(dtype=float),
    stop_rows: wp.array(dtype=int),
    stops: wp.array2d(dtype=float),
    overflow: wp.array(dtype=int),
    too_many_contacts: int,
    too_many_constraints: int,
    iterations: int,
    status: wp.array(dtype=int),
):
    """Bits of what went wrong in each world; they stay until its reset."""
    w = wp.tid()
    squares = float(0.0)
    for i in range(qacc.shape[1]):
        squares += qacc[w, i] * qacc[w, i] / runaway
    bits = int(0)
    if not (squares < runaway):  # also true for NaN
        bits = bits | 1
    for i in range(stop_rows.shape[0]):
        q = qpos[w, stop_rows[i]]
        if not (q > stops[i, 0] and q < stops[i, 1]):
            bits = bits | 2
    if (overflow[w] & too_many_contacts) != 0:
        bits = bits | 4
    if (overflow[w] & too_many_constraints) != 0:
        bits = bits | 8
    if (overflow[w] & iterations) != 0:
        bits = bits | 16
    status[w] = status[w] | bits


@wp.kernel
def sum_contacts(
    count: wp.array(dtype=int),
    world: wp.array(dtype=int),
    geom: wp.array(dtype=wp.vec2i),
    force: wp.array(dtype=wp.spatial_vector),
    member: wp.array2d(dtype=int),
    total: wp.array2d(dtype=wp.vec3),
):
    """Force of objects and other arms on the instrument of every arm, world axes; MuJoCo's is on the second geom."""
    c, a = wp.tid()
    if c >= count[0]:
        return
    pair = geom[c]
    first = int(0)
    second = int(0)
    if pair[0] >= 0:
        first = member[a, pair[0]]
    if pair[1] >= 0:
        second = member[a, pair[1]]
    if first == 2 and second == 0:
        wp.atomic_add(total, world[c], a, -wp.spatial_top(force[c]))
    if second == 2 and first == 0:
        wp.atomic_add(total, world[c], a, wp.spatial_top(force[c]))


@wp.kernel
def note_touched(
    count: wp.array(dtype=int),
    world: wp.array(dtype=int),
    geom: wp.array(dtype=wp.vec2i),
    finger: wp.array2d(dtype=int),
    thing: wp.array(dtype=int),
    touched: wp.array3d(dtype=int),
):
    """Fingers (bits 1 and 2) of every arm that touch every object; finger: (arms, ngeom) bits, thing: (ngeom,)."""
    c, a = wp.tid()
    if c >= count[0]:
        return
    pair = geom[c]
    if pair[0] < 0 or pair[1] < 0:
        return
    if finger[a, pair[0]] > 0 and thing[pair[1]] >= 0:
        wp.atomic_or(touched, world[c], a, thing[pair[1]], finger[a, pair[0]])
    if finger[a, pair[1]] > 0 and thing[pair[0]] >= 0:
        wp.atomic_or(touched, world[c], a, thing[pair[0]], finger[a, pair[1]])
