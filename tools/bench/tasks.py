"""Benchmarks of environments: overhead over the bare control loop, two processes, threads."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tools.bench.processes import Answering
from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar.transports.link import receive, send
from trocar_learning.envs import TASKS, TaskEnv, make_task
from trocar_learning.envs.vector_env import ThreadedVectorEnv

SEED = 12
MAX_PERIODS = 150  # of an episode that is replayed
CYCLES = 30  # of the control loop per period
PERIODS = 200  # of the task in two processes and in threads
PARALLEL = "Reach"
ENVS = 4  # of the vector environment


def figures(rounds: int = 3, progress: Callable[[float], None] | None = None) -> dict[str, float]:
    """Medians over the rounds. The actions of the expert are recorded first and then replayed.

    TASK_overhead: processor time of `step` over that of the bare loop (action mode, motors, engine, sensors) with the
    same actions. Both run in turn, period by period, on copies of one episode; the smallest time of each period over
    five repetitions counts, so that other load on the machine does not.
    TASK_real_time: simulated time over processor time of `step`.
    two_processes_speedup: periods per second of processor time of two processes at once, over those of one alone. The
    processes wait for nothing, so that this is the speed-up on two idle processors, also measured on busy ones.
    threads_speedup: those of the vector environment with two threads over those of one thread.
    """
    if rounds < 1:
        raise TrocarError(f"rounds must be 1 or more, got {rounds}")
    tell = progress or (lambda fraction: None)
    samples: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        samples.setdefault(name, []).append(value)

    jobs, done = rounds * (len(TASKS) + 2), 0
    for _ in range(rounds):
        for task in TASKS:
            ratio, factor = overhead(task)
            note(f"{task}_overhead", ratio)
            note(f"{task}_real_time", factor)
            done += 1
            tell(done / jobs)
        note("two_processes_speedup", _two_processes())
        tell((done := done + 1) / jobs)
        note("threads_speedup", _periods_per_second(2) / _periods_per_second(1))
        tell((done := done + 1) / jobs)
    return {name: float(np.median(values)) for name, values in samples.items()}


def overhead(task: str, repetitions: int = 5) -> tuple[float, float]:
    """Time of `step` over that of the bare loop, and simulated time over the time of `step`."""
    env = make_task(task)
    actions = _recorded(env)
    start = _started(env)
    stepped, bare = (np.full(len(actions), np.inf) for _ in range(2))
    for _ in range(repetitions):
        one, two = pickle.loads(start), pickle.loads(start)
        for k, action in enumerate(actions):
            begin = time.thread_time()
            one.step(action)
            middle = time.thread_time()
            _bare_period(two, action)
            stepped[k], bare[k] = min(stepped[k], middle - begin), min(bare[k], time.thread_time() - middle)
    return float(stepped.sum() / bare.sum()), float(len(actions) * env.period / stepped.sum())


def _started(env: TaskEnv) -> bytes:
    env.reset(seed=SEED)
    return pickle.dumps(env)


def _recorded(env: TaskEnv) -> list[Array]:
    """Actions of the expert."""
    observation, _ = env.reset(seed=SEED)
    policy, over = env.expert(), False
    actions: list[Array] = []
    while not over and len(actions) < MAX_PERIODS:
        actions.append(policy(observation))
        observation, _, terminated, truncated, _ = env.step(actions[-1])
        over = terminated or truncated
    return actions


def _bare_period(env: TaskEnv, action: Array) -> None:
    """One period of the control loop with the same controller."""
    world, modes, place = env.stepped, env.modes.values(), 0
    for mode in modes:
        mode.accept(world, action[place : place + mode.size])
        place += mode.size
    for _ in range(CYCLES):
        for mode in modes:
            mode.command(world)
        world.loop.act()


def _replayed(env: TaskEnv, actions: Sequence[Array], periods: int) -> None:
    for k in range(periods):
        if k % len(actions) == 0:
            env.reset(seed=SEED)
        env.step(actions[k % len(actions)])


def _serve(pipe: Any) -> None:
    """Run periods on request, in a process of its own."""
    env = make_task(PARALLEL)
    actions = _recorded(env)
    _replayed(env, actions, len(actions))
    send(pipe, None)
    while True:
        periods, begin = receive(pipe), time.process_time()
        _replayed(env, actions, periods)
        send(pipe, time.process_time() - begin)


def _two_processes() -> float:
    with Answering(_serve) as one, Answering(_serve) as two, ThreadPoolExecutor(2) as pool:
        alone = one.ask(PERIODS)
        together = max(pool.map(lambda process: process.ask(PERIODS), (one, two)))
        return float(2.0 * alone / together)


def _periods_per_second(threads: int) -> float:
    vector = ThreadedVectorEnv(PARALLEL, ENVS, threads)
    vector.reset(seed=SEED)
    actions = np.zeros(vector.action_space.shape or ())
    begin = time.perf_counter()
    for _ in range(PERIODS // ENVS):
        vector.step(actions)
    seconds = time.perf_counter() - begin
    vector.close()
    return PERIODS / seconds
