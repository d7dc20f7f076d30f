"""Speed of the CUDA backend on this machine's GPU, as reported by `trocar bench batch --gpu`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from trocar.batch.arms import BatchArms
from trocar.batch.control import BatchJointPD
from trocar.batch.loading import load
from trocar.spatial import Array

TIMESTEP = 1e-3  # [s]
BANDWIDTH = 15.0  # servo bandwidth [rad/s]
HIDDEN = 64  # neurons in each of two layers of the policy
BETWEEN = 20  # steps between two calls of the policy
SECONDS = 0.3  # of each measurement
ROLLOUTS, HORIZON, TICK = 16_384, 60, 10  # of sampling control: rollouts, their steps, steps between two plans


def gpu_figures(
    arm: str = "PSM", sizes: Sequence[int] = (1024, 16_384, 262_144), steps: int = 1000, seconds: float = SECONDS
) -> dict[str, float]:
    """Steps of all arms per second under `JointPD` along sines, with sticking friction and joint limits, in float32.

    cuda_compile_s is the time to the first result. The figures for float64, for masses of each arm and for a policy are
    those of the largest size. cuda_gradient_ms is a rollout of 100 steps of 4,096 arms and its gradient by state and
    efforts. cuda_policy_share is the share of a JAX policy with two layers of 64 neurons that sets the servo's targets
    every 20 steps. cuda_mppi_ms is one plan of sampling control (MPPI) under motor limits: from a measured state,
    16,384 random shifts of the setpoints of the next 60 steps, their rollouts, and the weighted mean of the shifts.
    Both are omitted if JAX has no GPU.
    """
    figures: dict[str, float] = {}
    arms = load(arm, backend="cuda", precision="float32")
    start = time.perf_counter()
    gains = _gains(arms)
    _moving(arms, 32, 1, gains)()
    figures["cuda_compile_s"] = time.perf_counter() - start
    for size in sizes:
        figures[f"cuda_steps_per_s_{size}"] = size * steps / _best(_moving(arms, size, steps, gains), seconds)
    most = max(sizes)
    wide = load(arm, backend="cuda", precision="float64")
    figures[f"cuda_float64_steps_per_s_{most}"] = most * steps / _best(_moving(wide, most, steps, gains), seconds)
    mass = arms.mechanism.tree.mass[:, None] * np.random.default_rng(0).uniform(0.8, 1.2, most)
    own = arms.with_parameters(mass=mass)
    figures[f"cuda_own_masses_steps_per_s_{most}"] = most * steps / _best(_moving(own, most, steps, gains), seconds)
    few = min(4096, most)
    figures["cuda_gradient_ms"] = 1e3 * _best(_gradient(arms, few, min(100, steps)), seconds)
    jax = _jax_on_gpu()
    if jax is not None:
        figures |= _policy_figures(jax, arms, most, seconds, gains)
        planning = load(arm, backend="cuda", precision="float32", motor_limits=True)
        figures["cuda_mppi_ms"] = 1e3 * _best(_plan(jax, planning, min(ROLLOUTS, most), gains), seconds)
    return figures


def _best(call: Callable[[], Any], seconds: float) -> float:
    """Shortest time of a call [s], after a first call that compiles."""
    call()
    end, best = time.perf_counter() + seconds, np.inf
    while time.perf_counter() < end or best == np.inf:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def _gains(arms: BatchArms) -> tuple[Array, Array]:
    M = np.diag(arms.mass_matrix(arms.mechanism.arm.home))
    return BANDWIDTH**2 * M, 2 * BANDWIDTH * M


def _spread(arms: BatchArms, size: int) -> Array:
    """Positions (n, size) in the middle of the joints' ranges."""
    arm = arms.mechanism.arm
    share = np.random.default_rng(1).uniform(0.3, 0.7, (arm.n, size))
    return arm.lower[:, None] * share + arm.upper[:, None] * (1 - share)


def _moving(arms: BatchArms, size: int, steps: int, gains: tuple[Array, Array]) -> Callable[[], Any]:
    arm = arms.mechanism.arm
    t = TIMESTEP * np.arange(steps)[:, None]
    centre, way = (arm.lower + arm.upper) / 2, 0.1 * (arm.upper - arm.lower)
    reference = centre + way * np.sin(6.0 * t + np.arange(arm.n))
    state, control = arms.state(_spread(arms, size)), BatchJointPD(reference, *gains)
    return lambda: arms.rollout(state, control, TIMESTEP, log=False)


def _gradient(arms: BatchArms, size: int, steps: int) -> Callable[[], Any]:
    state = arms.state(_spread(arms, size))
    tau = arms.backend.placed(np.zeros((steps, arms.n, size)))
    weights = arms.backend.placed(np.random.default_rng(2).normal(size=(steps + 1, arms.n, size)))
    return lambda: arms.gradients(state, tau, TIMESTEP, weights)


def _jax_on_gpu() -> Any:
    """JAX, or None where it is not installed or has no GPU."""
    try:
        jax = import_module("jax")
        jax.devices("gpu")
    except (ImportError, RuntimeError):
        return None
    return jax


def _plan(jax: Any, arms: BatchArms, size: int, gains: tuple[Array, Array]) -> Callable[[], Array]:
    """One plan of sampling control: the shift (n,) of the setpoints, from a measured state."""
    jnp, arm = jax.numpy, arms.mechanism.arm
    width = arm.upper - arm.lower
    centre, spread = (arm.lower + arm.upper) / 2, 5e-3 * width
    t = TIMESTEP * np.arange(HORIZON)[:, None]
    ahead = jnp.asarray(centre + 0.02 * width * np.sin(6.0 * t + np.arange(arm.n)), dtype=jnp.float32)[..., None]
    scale = jnp.asarray(spread, dtype=jnp.float32)[:, None]

    @jax.jit
    def sampled(seed: int, mean: Any) -> tuple[Any, Any]:
        key = jax.random.PRNGKey(seed)
        shifts = mean[:, None] + scale * jax.random.normal(key, (arm.n, size), dtype=jnp.float32)
        return shifts, ahead + shifts

    @jax.jit
    def weighted(shifts: Any, samples: Any) -> Any:
        cost = (((samples[:, : arm.n] - ahead[::TICK]) / scale) ** 2).sum(axis=(0, 1))
        excess = cost - cost.min()
        share = jnp.exp(-excess / (0.1 * jnp.median(excess) + 1e-12))
        return shifts @ (share / share.sum())

    mean, seeds = jnp.zeros(arm.n, dtype=jnp.float32), count()

    def plan() -> Array:
        state = arms.state(np.tile(centre[:, None], size), np.zeros((arm.n, size)))
        shifts, reference = sampled(next(seeds), mean)
        _, log = arms.rollout(state, BatchJointPD(reference.block_until_ready(), *gains), TIMESTEP, every=TICK)
        assert log is not None
        return np.asarray(weighted(shifts, jnp.asarray(log.samples)))

    return plan


def _policy_figures(
    jax: Any, arms: BatchArms, size: int, seconds: float, gains: tuple[Array, Array]
) -> dict[str, float]:
    jnp, n, rng = jax.numpy, arms.n, np.random.default_rng(3)
    layers = [jnp.asarray(0.1 * rng.normal(size=shape)) for shape in ((HIDDEN, 2 * n), (HIDDEN, HIDDEN), (n, HIDDEN))]
    centre = jnp.asarray((arms.mechanism.arm.lower + arms.mechanism.arm.upper) / 2)[:, None]

    @jax.jit
    def targets(q: Any, dq: Any) -> Any:
        hidden = jnp.tanh(layers[1] @ jnp.tanh(layers[0] @ jnp.concatenate([q, dq])))
        return (centre + 0.1 * jnp.tanh(layers[2] @ hidden)).astype(jnp.float32)

    state = arms.state(_spread(arms, size))

    def policy() -> Any:
        return targets(jnp.asarray(state.q), jnp.asarray(state.dq)).block_until_ready()

    def both() -> Any:
        return arms.rollout(state, BatchJointPD(policy(), *gains), TIMESTEP, BETWEEN, log=False)

    whole = _best(both, seconds)
    return {
        f"cuda_policy_steps_per_s_{size}": size * BETWEEN / whole,
        "cuda_policy_share": _best(policy, seconds) / whole,
    }
