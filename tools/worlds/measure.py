"""Speed and accuracy of the scenes of a bundle: `python -m tools.worlds.measure BUNDLE OUT.json [DEVICE]`."""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from trocar.batch.scenes import SceneBatch
from trocar.errors import TrocarError
from trocar.spatial import Array

SIZES = (1024, 4096, 16384)
ROUNDS, STEPS, PERIOD = 5, 100, 30  # repetitions of the timing, timesteps in each, timesteps of a control period


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


def held(scene: Any, n: int, **options: Any) -> SceneBatch:
    """Worlds of a scene whose arms are held by the dVRK's servo at the commanded joints."""
    layout, commands = scene
    worlds = SceneBatch(layout, n, **options)
    for arm, q in commands.items():
        worlds.servo(arm, q)
    return worlds


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
        count = np.bincount(worlds.worlds.d.contact.worldid.numpy()[: worlds.worlds.d.nacon.numpy()[0]], minlength=n)
        failed = int((worlds.status & 15 != 0).sum())
        rows[str(n)] = {"steps_per_s": n * STEPS / seconds, "contacts": float(count.mean()), "failed": failed}
        print(n, rows[str(n)], flush=True)
    return rows


def costs(scene: Any, device: str, n: int) -> dict[str, float]:
    """Time of a control period with own masses, and with one world in 64 reset by a mask, over that without."""
    plain = held(scene, n, backend="warp", device=device)
    wait = plain.worlds.synchronize
    base = best(lambda: plain.worlds.step(PERIOD), wait, 20)
    mask = plain.worlds.put(np.random.default_rng(0).uniform(size=n) < 1 / 64)

    def resetting() -> None:
        plain.worlds.reset(mask)
        plain.worlds.step(PERIOD)

    reset = best(resetting, wait, 20)
    model = scene[0].model
    scale = np.random.default_rng(1).uniform(0.9, 1.1, (n, 1))
    fields = {"body_mass": model.body_mass * scale, "body_inertia": model.body_inertia * scale[..., None]}
    fields["dof_damping"] = model.dof_damping * scale
    fields["geom_friction"] = model.geom_friction * scale[..., None]
    varied = held(scene, n, backend="warp", device=device, fields=fields)
    own = best(lambda: varied.worlds.step(PERIOD), wait, 20)
    return {"own_parameters": own / base - 1.0, "resets": reset / base - 1.0, "period_s": base}


def parity(scene: Any, device: str, n: int = 1000) -> dict[str, float]:
    """One step from n states with contact, and 200 steps that hold, against the C engine in double precision."""
    _, commands = scene
    rng = np.random.default_rng(2)
    moving = held(scene, n, backend="threads")
    for arm, q in commands.items():
        moving.servo(arm, q + rng.uniform(-0.01, 0.01, (n, len(q))))
    moving.step(40, check=False)
    qpos, qvel = moving.worlds.qpos.copy(), moving.worlds.qvel.copy()
    sound = moving.status == 0
    # both engines start from the same single-precision state
    qpos, qvel = qpos.astype(np.float32).astype(float), qvel.astype(np.float32).astype(float)
    ends = {}
    for backend in ("threads", "warp"):
        worlds = held(scene, n, backend=backend, **({"device": device} if backend == "warp" else {}))
        worlds.worlds.qpos_start, worlds.worlds.qvel_start = worlds.worlds.put(qpos), worlds.worlds.put(qvel)
        worlds.worlds.reset()
        for arm, q in commands.items():
            worlds.servo(arm, q)
        worlds.step(1, check=False)
        ends[backend] = state(worlds)
        if backend == "threads":
            contacts = [worlds.worlds.contacts(k) for k in range(n)]
    (q, v), (q_warp, v_warp) = ends["threads"], ends["warp"]
    apart = np.abs(q - q_warp)[sound].max(axis=1)
    slower = (np.abs(v - v_warp) / np.maximum(1.0, np.abs(v)))[sound].max(axis=1)
    relative = (np.linalg.norm(v - v_warp, axis=1) / np.linalg.norm(v, axis=1))[sound]
    holding = {}
    for backend in ("threads", "warp"):
        worlds = held(scene, 16, backend=backend, **({"device": device} if backend == "warp" else {}))
        worlds.step(200, check=False)
        holding[backend] = state(worlds)[0]
    return {
        "states": int(sound.sum()),
        "with_contact": int(sum(count > 0 for count in contacts)),
        "position_max": float(apart.max()),
        "velocity_max": float(slower.max()),
        "velocity_p99": float(np.quantile(slower, 0.99)),
        "velocity_norm_relative_max": float(relative.max()),
        "velocity_norm_relative_p99": float(np.quantile(relative, 0.99)),
        "held_200_max": float(np.abs(holding["threads"] - holding["warp"]).max()),
    }


def state(worlds: SceneBatch) -> tuple[Array, Array]:
    """Positions and velocities of all worlds in double precision."""
    of = worlds.worlds if worlds.backend == "threads" else worlds.worlds.d
    return worlds.numpy(of.qpos).astype(float), worlds.numpy(of.qvel).astype(float)


def main(bundle: str, out: str, device: str = "cuda:0", *sizes: str) -> None:
    """Measure all scenes; the file is written again after each figure."""
    scenes = pickle.loads(Path(bundle).read_bytes())
    chosen = tuple(map(int, sizes)) or SIZES
    figures: dict[str, Any] = {}
    parts: list[tuple[str, str, Callable[[], Any]]] = []
    for name, scene in scenes.items():
        parts.append((name, "speed", partial(speeds, scene, device, chosen)))
    parts.append(("needle", "parity", lambda: parity(scenes["needle"], device, 1000 if max(chosen) > 100 else 8)))
    parts.append(("needle", "costs", lambda: costs(scenes["needle"], device, min(8192, max(chosen)))))
    parts.append(("PSM", "costs", lambda: costs(scenes["PSM"], device, min(8192, max(chosen)))))
    for name, what, call in parts:
        start = time.perf_counter()
        try:
            figures[f"{name} {what}"] = call()
        except Exception as error:  # the other figures are still worth their device time
            figures[f"{name} {what}"] = f"failed: {type(error).__name__}: {error}"
        print(name, what, figures[f"{name} {what}"], f"{time.perf_counter() - start:.0f} s", flush=True)
        Path(out).write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
