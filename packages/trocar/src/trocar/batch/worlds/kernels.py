"""Warp kernels of a batch of scenes: resets, places of objects, guards and contacts; `control_kernels` has the motors.

Rows are worlds. Bits are those of `status`. Arrays of (1 or n, ...) are indexed by world modulo their length, as in
MuJoCo Warp.
"""

# mypy: ignore-errors
# ruff: noqa: UP018, RUF046 - float(0.0) declares a variable that a kernel changes

import warp as wp

from trocar.laws import slip
from trocar.laws.law import ScalarLaw
from trocar.laws.sources.function_source import on_warp

wp.set_module_options({"enable_backward": False})

Twist, Friction = (wp.types.vector(length=size, dtype=float) for size in (6, 5))
slip_rate = on_warp(ScalarLaw(slip.slip_rate, vectors=slip.TWISTS))


@wp.func
def free_twist(dof: int, w: int, qvel: wp.array2d(dtype=float)) -> Twist:
    """Velocity of a free body whose first degree of freedom is `dof`; 0 of a fixed one, beyond the last."""
    twist = Twist()
    if dof < qvel.shape[1]:
        for i in range(6):
            twist[i] = qvel[w, dof + i]
    return twist


@wp.kernel
def write_products(
    first: int, matrix: wp.array2d(dtype=float), rows: wp.array2d(dtype=float), target: wp.array2d(dtype=float)
):
    """Products of a matrix (k, k) with rows (n, k), into the columns of an array from `first` on."""
    w, i = wp.tid()
    total = float(0.0)
    for j in range(matrix.shape[1]):
        total += matrix[i, j] * rows[w, j]
    target[w, first + i] = total


@wp.kernel
def set_slip(
    pair: wp.array(dtype=int),
    dof: wp.array2d(dtype=int),
    radius: wp.array2d(dtype=float),
    fastest: float,
    qvel: wp.array2d(dtype=float),
    friction: wp.array2d(dtype=Friction),
    rates: wp.array2d(dtype=wp.vec2),
):
    """Set the rates (n, pairs of the model) at which pairs of solids brake slip; see `SolidPairs`."""
    w, k = wp.tid()
    p = pair[k]
    one = free_twist(dof[k, 0], w, qvel)
    other = free_twist(dof[k, 1], w, qvel)
    mu = friction[w % friction.shape[0], p][0]
    rates[w, p] = wp.vec2(slip.MARK, -slip_rate(one, other, radius[k, 0], radius[k, 1], mu, fastest))


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
def forget_contacts(
    mask: wp.array(dtype=wp.bool),
    count: wp.array(dtype=int),
    world: wp.array(dtype=int),
    geom: wp.array(dtype=wp.vec2i),
):
    """Contacts of the last step without geoms in the masked worlds: no arm touches what it held before the reset."""
    c = wp.tid()
    if c < count[0] and mask[world[c]]:
        geom[c] = wp.vec2i(-1, -1)


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
    """Parts of arms that touch objects (bits 1, 2: fingers, 4: others); finger: (arms, ngeom) bits, thing: (ngeom,)."""
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
