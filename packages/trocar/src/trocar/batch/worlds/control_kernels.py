"""Warp kernels of motors: references, the dVRK's PID, PD, Dahl friction, and their reset.

Rows are worlds. Arrays named `A`, `D`, `D_measured` and `B` are (rows, width): row k acts on `width` entries of qpos
or qvel from `first[k]` on. Numbers of modes are those of `status`. Arrays of (1 or n, ...) are indexed by world modulo
their length, as in MuJoCo Warp.
"""

# mypy: ignore-errors
# ruff: noqa: UP018, SIM109 - float(0.0) declares a variable that a kernel changes; a kernel has no `in`

import warp as wp

from trocar.batch.worlds import status
from trocar.laws.dahl import dahl_effort, dahl_state
from trocar.laws.law import ScalarLaw
from trocar.laws.servo import servo
from trocar.laws.sources.function_source import on_warp

wp.set_module_options({"enable_backward": False})

RAW = wp.constant(status.RAW)
SERVO = wp.constant(status.SERVO)
JOINT_PD = wp.constant(status.JOINT_PD)
COMPUTED_TORQUE = wp.constant(status.COMPUTED_TORQUE)

servo_law = on_warp(ScalarLaw(servo))
dahl_state_law = on_warp(ScalarLaw(dahl_state))
dahl_effort_law = on_warp(ScalarLaw(dahl_effort))


@wp.struct
class MotorConstants:
    """Constants of all motors and Dahl elements; see `MotorTable`."""

    first_q: wp.array(dtype=int)
    first_v: wp.array(dtype=int)
    first_u: wp.array(dtype=int)
    joints: wp.array(dtype=int)
    A: wp.array2d(dtype=float)
    D: wp.array2d(dtype=float)
    D_measured: wp.array2d(dtype=float)
    coupling: wp.array2d(dtype=float)
    limit: wp.array(dtype=float)
    deadband: wp.array(dtype=float)
    output: wp.array(dtype=float)
    cutoff: wp.array(dtype=float)
    momentum: wp.array(dtype=float)
    element_q: wp.array(dtype=int)
    element_v: wp.array(dtype=int)
    B: wp.array2d(dtype=float)


@wp.struct
class Control:
    """Modes (N,), arrays (n, N) of the controllers, z and s (n, K) of Dahl elements, cycles (n,) since the reset."""

    mode: wp.array(dtype=int)
    measured: wp.array2d(dtype=float)
    measured_rate: wp.array2d(dtype=float)
    ref: wp.array2d(dtype=float)
    rate: wp.array2d(dtype=float)
    acceleration: wp.array2d(dtype=float)
    effort: wp.array2d(dtype=float)
    model_effort: wp.array2d(dtype=float)
    integral: wp.array2d(dtype=float)
    explained: wp.array2d(dtype=float)
    observer: wp.array2d(dtype=float)
    applied: wp.array2d(dtype=float)
    commanded: wp.array2d(dtype=float)
    z: wp.array2d(dtype=float)
    s: wp.array2d(dtype=float)
    cycles: wp.array(dtype=int)


@wp.func
def row_product(A: wp.array2d(dtype=float), k: int, x: wp.array2d(dtype=float), w: int, first: int) -> float:
    """Product of row k of A with the entries of world w from `first` on."""
    total = float(0.0)
    for i in range(A.shape[1]):
        a = A[k, i]
        if a != 0.0:
            total += a * x[w, first + i]
    return total


@wp.func
def joint_value(motors: MotorConstants, x: wp.array2d(dtype=float), w: int, k: int) -> float:
    """Joint k of a world from values of the motors."""
    first = motors.first_u[k]
    total = float(0.0)
    for i in range(motors.joints[k]):
        total += motors.coupling[k, i] * x[w, first + i]
    return total


@wp.kernel
def move_references(dt: float, now: Control):
    """References of the PID and of PD move at their rates by one step, before they act."""
    w, m = wp.tid()
    if now.mode[m] == SERVO or now.mode[m] == JOINT_PD:
        now.ref[w, m] = now.ref[w, m] + dt * now.rate[w, m]


@wp.func
def servo_effort(
    motors: MotorConstants, now: Control, dt: float, kp: float, ki: float, kd: float, w: int, m: int
) -> float:
    """Effort of the dVRK's PID with its deadband and disturbance observer."""
    tau, _e, integral, explained, observer = servo_law(
        now.ref[w, m],
        now.rate[w, m],
        now.measured[w, m],
        now.measured_rate[w, m],
        now.integral[w, m],
        now.explained[w, m],
        now.observer[w, m],
        1.0,
        kp,
        ki,
        kd,
        motors.deadband[m],
        motors.output[m],
        motors.limit[m],
        motors.cutoff[m],
        motors.momentum[m],
        dt,
    )
    now.integral[w, m] = integral
    now.explained[w, m] = explained
    now.observer[w, m] = observer
    return tau


@wp.kernel
def control_motors(
    dt: float,
    motors: MotorConstants,
    now: Control,
    kp: wp.array2d(dtype=float),
    ki: wp.array2d(dtype=float),
    kd: wp.array2d(dtype=float),
    ctrl: wp.array2d(dtype=float),
):
    """Efforts of the motors for the next step, and their sum in `applied`."""
    w, m = wp.tid()
    kind = now.mode[m]
    tau = float(0.0)
    if kind == SERVO:
        p = w % kp.shape[0]
        i = w % ki.shape[0]
        d = w % kd.shape[0]
        tau = servo_effort(motors, now, dt, kp[p, m], ki[i, m], kd[d, m], w, m)
    elif kind == JOINT_PD or kind == COMPUTED_TORQUE:
        u = motors.first_u[m]
        if kind == COMPUTED_TORQUE:
            tau = now.effort[w, m]
        for j in range(motors.joints[m]):
            k = u + j
            share = motors.coupling[k, m - u]
            if share != 0.0:
                if kind == COMPUTED_TORQUE:
                    tau = tau + share * now.model_effort[w, k]
                else:
                    e = now.ref[w, k] - joint_value(motors, now.measured, w, k)
                    de = now.rate[w, k] - joint_value(motors, now.measured_rate, w, k)
                    tau = tau + share * (kp[w % kp.shape[0], k] * e + kd[w % kd.shape[0], k] * de)
    else:
        tau = now.effort[w, m]
    if kind != RAW:
        tau = wp.clamp(tau, -motors.limit[m], motors.limit[m])
    now.applied[w, m] = now.applied[w, m] + tau
    ctrl[w, m] = tau


@wp.kernel
def apply_dahl(
    motors: MotorConstants,
    now: Control,
    qpos: wp.array2d(dtype=float),
    F: wp.array2d(dtype=float),
    slope: wp.array2d(dtype=float),
    rate: wp.array2d(dtype=float),
    constant: wp.array2d(dtype=float),
    applied: wp.array2d(dtype=float),
):
    """Constant forces and those of Dahl elements, whose states follow the path since the last step."""
    w = wp.tid()
    v = w % F.shape[0]
    for i in range(applied.shape[1]):
        applied[w, i] = constant[w % constant.shape[0], i]
    for k in range(motors.B.shape[0]):
        here = row_product(motors.B, k, qpos, w, motors.element_q[k])
        state = dahl_state_law(now.z[w, k], here - now.s[w, k], rate[v, k])
        now.s[w, k] = here
        now.z[w, k] = state
        effort = dahl_effort_law(state, here, F[v, k], slope[v, k])
        first = motors.element_v[k]
        for i in range(motors.B.shape[1]):
            b = motors.B[k, i]
            if b != 0.0:
                applied[w, first + i] = applied[w, first + i] - b * effort


@wp.kernel
def measure_motors(motors: MotorConstants, now: Control, qpos: wp.array2d(dtype=float), qvel: wp.array2d(dtype=float)):
    """Positions and velocities of the motors after a step, as ideal sensors read them."""
    w, m = wp.tid()
    now.measured[w, m] = row_product(motors.A, m, qpos, w, motors.first_q[m])
    now.measured_rate[w, m] = row_product(motors.A, m, qvel, w, motors.first_v[m])
    if m == 0:
        now.cycles[w] = now.cycles[w] + 1


@wp.kernel
def read_joints(
    motors: MotorConstants,
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    q: wp.array2d(dtype=float),
    dq: wp.array2d(dtype=float),
):
    """Joint positions and velocities of all arms."""
    w, j = wp.tid()
    q[w, j] = row_product(motors.D, j, qpos, w, motors.first_q[j])
    dq[w, j] = row_product(motors.D, j, qvel, w, motors.first_v[j])


@wp.kernel
def measured_joints(motors: MotorConstants, now: Control, q: wp.array2d(dtype=float), dq: wp.array2d(dtype=float)):
    """Joint positions and velocities of all arms as the sensors report them."""
    w, j = wp.tid()
    q[w, j] = joint_value(motors, now.measured, w, j)
    dq[w, j] = joint_value(motors, now.measured_rate, w, j)


@wp.kernel
def reset_control(
    mask: wp.array(dtype=wp.bool),
    motors: MotorConstants,
    now: Control,
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
):
    """References of the masked worlds at their positions, at rest; no efforts, no memory."""
    w, m = wp.tid()
    if not mask[w]:
        return
    now.commanded[w, m] = row_product(motors.D_measured, m, qpos, w, motors.first_q[m])
    now.measured[w, m] = row_product(motors.A, m, qpos, w, motors.first_q[m])
    now.measured_rate[w, m] = row_product(motors.A, m, qvel, w, motors.first_v[m])
    if now.mode[m] == JOINT_PD or now.mode[m] == COMPUTED_TORQUE:
        now.ref[w, m] = now.commanded[w, m]
    else:
        now.ref[w, m] = now.measured[w, m]
    now.rate[w, m] = 0.0
    now.acceleration[w, m] = 0.0
    now.effort[w, m] = 0.0
    now.integral[w, m] = 0.0
    now.explained[w, m] = 0.0
    now.observer[w, m] = 0.0
    now.applied[w, m] = 0.0
    if m == 0:
        now.cycles[w] = 0


@wp.kernel
def reset_dahl(mask: wp.array(dtype=wp.bool), motors: MotorConstants, now: Control, qpos: wp.array2d(dtype=float)):
    """Dahl elements of the masked worlds relaxed, at their positions."""
    w, k = wp.tid()
    if mask[w]:
        now.z[w, k] = 0.0
        now.s[w, k] = row_product(motors.B, k, qpos, w, motors.element_q[k])
