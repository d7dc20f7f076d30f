"""A JAX policy and sampling control on top of the CUDA backend, on this machine's GPU.

cuda_policy_share is the share of a JAX policy with two layers of 64 neurons that sets the servo's targets every 20
steps. cuda_mppi_ms is one plan of sampling control (MPPI) under motor limits: from a measured state, 16,384 random
shifts of the setpoints of the next 60 steps, their rollouts, and the weighted mean of the shifts.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from trocar.batch import BatchArms, JointPD, load
from trocar.batch.speed import SECONDS, TIMESTEP, best_time, servo_gains, spread
from trocar.errors import TrocarError
from trocar.spatial import Array

HIDDEN = 64  # neurons in each of two layers of the policy
BETWEEN = 20  # steps between two calls of the policy
ROLLOUTS, HORIZON, TICK = 16_384, 60, 10  # of sampling control: rollouts, their steps, steps between two plans


def figures(
    rounds: int, progress: Callable[[float], None], *, arm: str = "PSM", arms: int = 262_144, seconds: float = SECONDS
) -> dict[str, float]:
    """Figures of a policy for this many arms and of sampling control, the best of what fits into `seconds`."""
    jax = jax_on_gpu()
    free, limited = (
        load(arm, backend="cuda", precision="float32", motor_limits=motor_limits) for motor_limits in (False, True)
    )
    gains = servo_gains(free)
    values = _policy_figures(jax, free, arms, seconds * rounds, gains)
    progress(0.5)
    plan = _plan(jax, limited, min(ROLLOUTS, arms), gains)
    return values | {"cuda_mppi_ms": 1e3 * best_time(plan, seconds * rounds)}


def jax_on_gpu() -> Any:
    """JAX, which must have a GPU."""
    try:
        jax = import_module("jax")
        jax.devices("gpu")
    except (ImportError, RuntimeError) as error:
        raise TrocarError(f"the figures need JAX with a GPU: {error}") from error
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
        _, log = arms.rollout(state, JointPD(reference.block_until_ready(), *gains), TIMESTEP, every=TICK)
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

    state = arms.state(spread(arms, size))

    def policy() -> Any:
        return targets(jnp.asarray(state.q), jnp.asarray(state.dq)).block_until_ready()

    def both() -> Any:
        return arms.rollout(state, JointPD(policy(), *gains), TIMESTEP, BETWEEN, log=False)

    whole = best_time(both, seconds)
    return {
        f"cuda_policy_steps_per_s_{size}": size * BETWEEN / whole,
        "cuda_policy_share": best_time(policy, seconds) / whole,
    }
