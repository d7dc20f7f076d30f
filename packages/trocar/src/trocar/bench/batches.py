"""Speed of generated steps of one arm and of many."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from trocar import batch
from trocar.batch.speed import gpu_figures
from trocar.bench.arm import held, jaws_open, simulation_calls
from trocar.bench.timing import TIMESTEP, TimedCall, Timing, elapsed, named_figures, repeated, timed
from trocar.mechanics import load_mechanism


def batch_figures(
    rounds: int = 30, steps: int = 200, arms: int = 4096, arm: str = "PSM", *, jax: bool = True, gpu: bool = False
) -> dict[str, Timing]:
    """Speed of generated steps of one arm and of many, compared with MuJoCo's step of the closed chain in the same run.

    c_step_us is a step within a rollout of one arm; c_call_us and c_step_over_mj_step are the call `step` of one arm
    from Python; c_batch figures are a step of one arm in a batch, on one core; c_two_threads_speedup compares one
    thread with two.

    Args:
        arms: batch size on the CPU. jax: also time JAX if it is installed. gpu: also run
            `trocar.batch.speed.gpu_figures`.
    """
    mech = load_mechanism(arm)
    q = jaws_open(mech)
    tau, one = held(mech, q), batch.load(arm)
    state = one.state(q)

    def rollout(loaded: batch.BatchArms, steps: int) -> TimedCall:
        states = loaded.state(np.tile(q[:, None], arms))
        return TimedCall(lambda: loaded.rollout(states, tau, TIMESTEP, steps, log=False), steps * arms)

    enough = max(1, steps // 2)  # to start a second thread
    calls = {
        "mj_step": simulation_calls(mech, steps)["mj_step"],
        "c_call": repeated(lambda: one.step(state, tau, TIMESTEP), steps),
        "c_step": TimedCall(lambda: one.rollout(state, tau, TIMESTEP, 10 * steps, log=False), 10 * steps),
        "c_batch": rollout(batch.load(arm, threads=1), enough),
        "c_batch_two_threads": rollout(batch.load(arm, threads=2), enough),
    }
    us = timed(calls, rounds)
    values = named_figures(("mj_step_us", "c_step_us", "c_call_us", "c_batch_us_per_step", "c_batch_over_mj_step"), us)
    values["c_step_over_mj_step"] = Timing.of(us["c_call"] / us["mj_step"])
    values["c_two_threads_speedup"] = Timing.of(us["c_batch"] / us["c_batch_two_threads"])
    if jax and find_spec("jax") is not None:
        call = rollout(batch.load(arm, backend="jax", precision="float32"), 20)
        values["jax_compile_s"] = Timing(elapsed(call.run))  # to the first result
        values[f"jax_steps_per_s_{arms}"] = Timing.of(1e6 / timed({"jax": call}, rounds)["jax"])
    return values | {name: Timing(value) for name, value in gpu_figures(arm).items()} if gpu else values
