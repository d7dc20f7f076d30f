"""Speed and accuracy of batches of scenes on a GPU: all figures of docs/worlds.md in one run below six minutes.

    python -m tools.worlds.bundle build/worlds.pickle                              # anywhere
    python -m tools.worlds.measure build/worlds.pickle build/worlds.json           # on the GPU; cuda:0
    python -m tools.worlds.measure build/worlds.pickle build/worlds.json cpu 8     # a trial on 8 worlds without one
    python -m tools.worlds.measure build/worlds.pickle build/worlds.json cuda:0 Track   # parts with this name alone

The file is written again after each part; a part that fails is named in it and does not stop the others.
"""

from __future__ import annotations

import json
import multiprocessing
import pickle
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tools.worlds.parity import held, parity
from trocar.batch.worlds.status import FAILURES
from trocar.errors import TrocarError

SIZES = (1024, 4096, 16384)
ROUNDS, STEPS, PERIOD = 5, 100, 30  # repetitions of the timing, timesteps in each, timesteps of a control period
MAX_COST_WORLDS, MAX_TASK_WORLDS = 8192, 4096
TASK_PERIODS = 10


def best(call: Callable[[], Any], wait: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Shortest time of a call [s]; the first one is not counted."""
    call()
    wait()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - start)
    return min(times)


def speeds(scene: Any, device: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Steps per second by number of worlds, with contacts per world."""
    rows: dict[str, Any] = {}
    for n in sizes:
        try:
            worlds = held(scene, n, backend="warp", device=device)
        except TrocarError as error:
            rows[str(n)] = str(error)
            continue
        seconds = best(partial(worlds.worlds.step, STEPS), worlds.worlds.synchronize)
        engine: Any = worlds.worlds
        count = np.bincount(engine.d.contact.worldid.numpy()[: engine.d.nacon.numpy()[0]], minlength=n)
        failed = int((worlds.status & FAILURES != 0).sum())
        rows[str(n)] = {"steps_per_s": n * STEPS / seconds, "contacts": float(count.mean()), "failed": failed}
        print(n, rows[str(n)], flush=True)
    return rows


def costs(scene: Any, device: str, n: int) -> dict[str, Any]:
    """Times of a control period relative to shared parameters and no resets.

    `own_arrays`: every world has its own rows of masses, inertias, damping and friction, with equal values: the cost of
    the arrays. `own_values`: they differ by 10 %. A step then lasts until the solver of the slowest world converges;
    `iterations` are the most and the mean of all worlds. `states`: the same cost of worlds with shared parameters whose
    states differ. `resets`: one world in 64 is reset by a mask in every period.
    """
    plain = held(scene, n, backend="warp", device=device)
    wait = plain.worlds.synchronize
    base = best(partial(plain.worlds.step, PERIOD), wait, 20)
    iterations = {"shared": _iterations(plain)}
    mask = plain.worlds.put(np.random.default_rng(0).uniform(size=n) < 1 / 64)

    def resetting() -> None:
        plain.worlds.reset(mask)
        plain.worlds.step(PERIOD)

    result = {"period_s": base, "resets": best(resetting, wait, 20) / base - 1.0}
    model, random = scene[0].model, np.random.default_rng(1)
    for name, scale in (("own_arrays", np.ones((n, 1))), ("own_values", random.uniform(0.9, 1.1, (n, 1)))):
        fields = {"body_mass": model.body_mass * scale, "body_inertia": model.body_inertia * scale[..., None]}
        fields["dof_damping"] = model.dof_damping * scale
        fields["geom_friction"] = model.geom_friction * scale[..., None]
        varied = held(scene, n, backend="warp", device=device, fields=fields)
        result[name] = best(partial(varied.worlds.step, PERIOD), wait, 20) / base - 1.0
        iterations[name] = _iterations(varied)
    for arm, q in scene[1].items():
        plain.servo(arm, q + random.uniform(-0.01, 0.01, (n, len(q))))
    result["states"] = best(partial(plain.worlds.step, PERIOD), wait, 20) / base - 1.0
    return result | {"iterations": iterations | {"states": _iterations(plain)}}


def determinism(scene: Any, device: str, n: int) -> dict[str, Any]:
    """Positions of two runs of STEPS steps, bit by bit, with and without `deterministic`, and its cost."""
    result: dict[str, Any] = {}
    for deterministic in (False, True):
        ends, seconds = [], 0.0
        for _ in range(2):
            worlds = held(scene, n, backend="warp", device=device, deterministic=deterministic)
            worlds.step(STEPS)
            ends.append(worlds.numpy(worlds.worlds.array("qpos")).copy())
            seconds = best(partial(worlds.worlds.step, PERIOD), worlds.worlds.synchronize)
        name = "ordered" if deterministic else "unordered"
        result |= {name: bool(np.array_equal(ends[0], ends[1])), f"{name}_s": seconds}
    return result | {"cost": result["ordered_s"] / result["unordered_s"] - 1.0}


def _iterations(worlds: Any) -> tuple[int, float]:
    count = worlds.worlds.d.solver_niter.numpy()
    return int(count.max()), float(count.mean())


def tasks(episodes: Any, device: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Control periods per second of an environment with actions of zero, and of its physics alone."""
    from trocar_learning.envs.worlds import TaskWorlds

    rows: dict[str, Any] = {}
    for n in sizes:
        worlds = TaskWorlds(episodes, n, backend="warp", device=device)
        action, wait = worlds.put(np.zeros((n, worlds.size))), worlds.batch.worlds.synchronize

        def periods(worlds: Any = worlds, action: Any = action) -> None:
            for _ in range(TASK_PERIODS):
                worlds.step(action)

        def physics(worlds: Any = worlds) -> None:
            for _ in range(TASK_PERIODS):
                worlds.batch.worlds.step(PERIOD)

        whole = best(periods, wait, 3)
        worlds.reset()
        alone = best(physics, wait, 3)
        rows[str(n)] = {
            "control_periods_per_s": n * TASK_PERIODS / whole,
            "physics_alone_per_s": n * TASK_PERIODS / alone,
            "share": alone / whole,
        }
        print(n, rows[str(n)], flush=True)
    return rows


def compiled(bundle: str, name: str, device: str) -> None:
    """Compile the kernels of a scene of a bundle, which takes minutes, into Warp's cache."""
    held(pickle.loads(Path(bundle).read_bytes())["scenes"][name], 16, backend="warp", device=device).step(1)


def main(bundle: str, out: str, device: str = "cuda:0", *chosen_by: str) -> None:
    """Measure the scenes and tasks of a bundle; chosen_by: numbers of worlds, and words of the names of parts."""
    sizes, words = ([x for x in chosen_by if x.isdigit() is digits] for digits in (True, False))
    start = time.perf_counter()
    loaded = pickle.loads(Path(bundle).read_bytes())
    scenes, episodes = loaded["scenes"], loaded["episodes"]
    compilers = [
        multiprocessing.get_context("spawn").Process(target=compiled, args=(bundle, k, device)) for k in scenes
    ]
    for process in () if words else compilers:
        process.start()
    for process in () if words else compilers:
        process.join()
    print(f"kernels of {len(scenes)} scenes: {time.perf_counter() - start:.0f} s", flush=True)
    chosen = tuple(map(int, sizes)) or SIZES
    few, some = (min(size, max(chosen)) for size in (MAX_TASK_WORLDS, MAX_COST_WORLDS))
    states = 1000 if max(chosen) > 100 else 8
    parts: dict[str, Callable[[], Any]] = {
        "PSM speed": partial(speeds, scenes["PSM"], device, chosen),
        "cables speed": partial(speeds, scenes["cables"], device, chosen),
        "cables determinism": partial(determinism, scenes["cables"], device, few),
        "PSM costs": partial(costs, scenes["PSM"], device, some),
        "needle speed": partial(speeds, scenes["needle"], device, chosen),
        "needle determinism": partial(determinism, scenes["needle"], device, few),
        "needle parity": partial(parity, scenes["needle"], device, states),
        "needle costs": partial(costs, scenes["needle"], device, some),
        **{f"{name} task": partial(tasks, rows, device, (few, max(chosen))) for name, rows in episodes.items()},
        "pegs speed": partial(speeds, scenes["pegs"], device, chosen),
        "pegs determinism": partial(determinism, scenes["pegs"], device, few),
    }
    figures: dict[str, Any] = {}
    for name, call in parts.items():
        if words and not any(word in name for word in words):
            continue
        begin = time.perf_counter()
        try:
            figures[name] = call()
        except Exception as error:  # the other figures are still worth their device time
            figures[name] = f"failed: {type(error).__name__}: {error}"
        figures[f"{name} [s]"] = round(time.perf_counter() - begin, 1)
        print(name, figures[name], figures[f"{name} [s]"], "s", flush=True)
        figures["total [s]"] = round(time.perf_counter() - start, 1)
        Path(out).write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
