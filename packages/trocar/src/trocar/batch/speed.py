"""Speed of the CUDA backend on this machine's GPU, as reported by `trocar bench batch --gpu`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from trocar.batch.arms import BatchArms
from trocar.batch.control import BatchJointPD
from trocar.batch.loading import load
from trocar.spatial import Array

TIMESTEP = 1e-3  # [s]
BANDWIDTH = 15.0  # servo bandwidth [rad/s]
SECONDS = 0.3  # of each measurement


def gpu_figures(
    arm: str = "PSM", sizes: Sequence[int] = (1024, 16_384, 262_144), steps: int = 1000, seconds: float = SECONDS
) -> dict[str, float]:
    """Steps of all arms per second under `JointPD` along sines, with sticking friction and joint limits, in float32.

    cuda_compile_s is the time to the first result. The figures for float64, for masses of each arm and for wrist cables
    (arms with an instrument) are those of the largest size. cuda_gradient_ms is a rollout of 100 steps of 4,096 arms
    and its gradient by state and efforts.
    """
    figures: dict[str, float] = {}
    arms, wide = (load(arm, backend="cuda", precision=precision) for precision in ("float32", "float64"))
    start = time.perf_counter()
    gains = servo_gains(arms)
    _moving(arms, 32, 1, gains)()
    figures["cuda_compile_s"] = time.perf_counter() - start
    most = max(sizes)
    mass = arms.mechanism.tree.mass[:, None] * np.random.default_rng(0).uniform(0.8, 1.2, most)
    cases = {f"cuda_steps_per_s_{size}": (arms, size) for size in sizes} | {
        f"cuda_float64_steps_per_s_{most}": (wide, most),
        f"cuda_own_masses_steps_per_s_{most}": (arms.with_parameters(mass=mass), most),
    }
    if arms.mechanism.arm.carries == "instrument":
        cables = load(arm, backend="cuda", precision="float32", wrist="cables")
        cases[f"cuda_cables_steps_per_s_{most}"] = cables, most
    for name, (loaded, size) in cases.items():
        figures[name] = size * steps / best_time(_moving(loaded, size, steps, gains), seconds)
    figures["cuda_gradient_ms"] = 1e3 * best_time(_gradient(arms, min(4096, most), min(100, steps)), seconds)
    return figures


def best_time(call: Callable[[], object], seconds: float) -> float:
    """Shortest time of a call [s], after a first call that compiles."""
    call()
    end, best = time.perf_counter() + seconds, np.inf
    while time.perf_counter() < end or best == np.inf:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def servo_gains(arms: BatchArms) -> tuple[Array, Array]:
    """Gains of `JointPD` for the bandwidth at the home position."""
    M = np.diag(arms.mass_matrix(arms.mechanism.arm.home))
    return BANDWIDTH**2 * M, 2 * BANDWIDTH * M


def spread(arms: BatchArms, size: int) -> Array:
    """Positions (n, size) in the middle of the joints' ranges."""
    arm = arms.mechanism.arm
    share = np.random.default_rng(1).uniform(0.3, 0.7, (arm.n, size))
    return arm.lower[:, None] * share + arm.upper[:, None] * (1 - share)


def _moving(arms: BatchArms, size: int, steps: int, gains: tuple[Array, Array]) -> Callable[[], object]:
    arm = arms.mechanism.arm
    t = TIMESTEP * np.arange(steps)[:, None]
    centre, way = (arm.lower + arm.upper) / 2, 0.1 * (arm.upper - arm.lower)
    reference = centre + way * np.sin(6.0 * t + np.arange(arm.n))
    state, control = arms.state(spread(arms, size)), BatchJointPD(reference, *gains)
    return lambda: arms.rollout(state, control, TIMESTEP, log=False)


def _gradient(arms: BatchArms, size: int, steps: int) -> Callable[[], object]:
    state = arms.state(spread(arms, size))
    tau = arms.backend.placed(np.zeros((steps, arms.n, size)))
    weights = arms.backend.placed(np.random.default_rng(2).normal(size=(steps + 1, arms.n, size)))
    return lambda: arms.gradients(state, tau, TIMESTEP, weights)
