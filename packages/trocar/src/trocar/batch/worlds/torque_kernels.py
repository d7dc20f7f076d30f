"""Warp kernels of computed torque: references of sinusoids, and generated inverse dynamics as a native function."""

# mypy: ignore-errors

import hashlib

import warp as wp

from trocar.batch.worlds.control_kernels import Control, MotorConstants, joint_value
from trocar.batch.worlds.torque_law import INPUTS, TorqueLaw

wp.set_module_options({"enable_backward": False})


@wp.kernel
def wave_references(
    dt: float,
    first: int,
    ramp: float,
    centre: wp.array2d(dtype=float),
    size: wp.array2d(dtype=float),
    rate: wp.array2d(dtype=float),
    phase: wp.array2d(dtype=float),
    now: Control,
):
    """References of an arm, whose first motor is `first`, on sinusoids of the time since the reset; see `Waves`."""
    w, j = wp.tid()
    t = dt * float(now.cycles[w])
    u = wp.min(t / ramp, 1.0)
    r = u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)
    dr = 30.0 * u * u * (1.0 - u) * (1.0 - u) / ramp
    ddr = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / (ramp * ramp)
    f = rate[w, j]
    s = size[w, j] * wp.sin(f * t + phase[w, j])
    c = size[w, j] * wp.cos(f * t + phase[w, j])
    now.ref[w, first + j] = centre[w, j] + r * s
    now.rate[w, first + j] = dr * s + r * f * c
    now.acceleration[w, first + j] = ddr * s + 2.0 * dr * f * c - r * f * f * s


@wp.kernel
def law_inputs(
    motors: MotorConstants,
    now: Control,
    first: int,
    joints: int,
    kp: wp.array2d(dtype=float),
    kd: wp.array2d(dtype=float),
    inputs: wp.array2d(dtype=float),
):
    """Inputs (n, 5 joints) of the inverse dynamics: measured state, acceleration with feedback, reference."""
    w, j = wp.tid()
    k = first + j
    q = joint_value(motors, now.measured, w, k)
    dq = joint_value(motors, now.measured_rate, w, k)
    q_ref = now.ref[w, k]
    dq_ref = now.rate[w, k]
    feedback = kd[w % kd.shape[0], k] * (dq_ref - dq) + kp[w % kp.shape[0], k] * (q_ref - q)
    inputs[w, j] = q
    inputs[w, joints + j] = dq
    inputs[w, 2 * joints + j] = now.acceleration[w, k] + feedback
    inputs[w, 3 * joints + j] = q_ref
    inputs[w, 4 * joints + j] = dq_ref


@wp.kernel
def advance_references(dt: float, first: int, now: Control):
    """References of computed torque move on by one step, after they have acted."""
    w, j = wp.tid()
    k = first + j
    a = now.acceleration[w, k]
    now.ref[w, k] = now.ref[w, k] + dt * now.rate[w, k] + 0.5 * dt * dt * a
    now.rate[w, k] = now.rate[w, k] + dt * a


def law_kernel(law: TorqueLaw):
    """Kernel over worlds, (first, inputs (n, 5 joints), efforts (n, N)), of a law's inverse dynamics."""
    assert len(INPUTS) == 5
    snippet = "\n".join(
        (
            "const float *u = &wp::index(inputs, w, 0);",
            "float *y = &wp::index(efforts, w, first);",
            law.native,
        )
    )
    name = f"inverse_dynamics_{hashlib.sha256(law.native.encode()).hexdigest()[:16]}"

    def inverse_dynamics(w: int, first: int, inputs: wp.array2d(dtype=float), efforts: wp.array2d(dtype=float)): ...

    inverse_dynamics.__name__ = inverse_dynamics.__qualname__ = name
    native = wp.func_native(snippet)(inverse_dynamics)

    @wp.kernel(module="unique", enable_backward=False)
    def model_efforts(first: int, inputs: wp.array2d(dtype=float), efforts: wp.array2d(dtype=float)):
        w = wp.tid()
        native(w, first, inputs, efforts)

    return model_efforts
