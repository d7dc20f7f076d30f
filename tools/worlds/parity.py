"""One step of worlds on Warp against the C engine in double precision, from states in which jaws hold a needle.

Three comparisons, each by the norm of all velocities after the step:

- `scene`: Warp against the C engine on a `Scene`'s model, whose loops are stiffer and whose friction weighs more.
- `same_model`: Warp against the C engine on the model that Warp runs. What is left is single precision.
- `rounding`: the C engine against itself, on the model that Warp runs, from states that differ by at most half a unit
  of the last place of float32. No engine that keeps its state in float32 can be expected below it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from trocar.batch.scenes import SceneBatch
from trocar.batch.worlds.layout import SceneLayout
from trocar.spatial import Array

SETTLE, HOLD = 40, 200  # steps towards the disturbed commands, and of holding


def held(scene: Any, n: int, **options: Any) -> SceneBatch:
    """Worlds of a scene whose arms are held by the dVRK's servo at the commanded joints."""
    layout, commands = scene
    worlds = SceneBatch(layout, n, **options)
    for arm, q in commands.items():
        worlds.servo(arm, q)
    return worlds


def state(worlds: SceneBatch) -> tuple[Array, Array]:
    """Positions and velocities of all worlds in double precision."""
    qpos, qvel = (worlds.numpy(worlds.worlds.array(name)) for name in ("qpos", "qvel"))
    return qpos.astype(float), qvel.astype(float)


def parity(scene: Any, device: str, n: int = 1000) -> dict[str, Any]:
    """The three comparisons from n states, and the largest difference of positions after 200 steps that hold."""
    from trocar.batch.worlds.warp_worlds import conditioned

    layout, commands = scene
    same = dataclasses.replace(layout, model=conditioned(layout.model, layout.loop_stiffening)), commands
    rng = np.random.default_rng(2)
    moving = held(scene, n, backend="threads")
    for arm, q in commands.items():
        moving.servo(arm, q + rng.uniform(-0.01, 0.01, (n, len(q))))
    moving.step(SETTLE, check=False)
    sound = moving.status == 0
    # all start from the same single-precision state
    qpos, qvel = (x.astype(np.float32).astype(float) for x in state(moving))
    rounded = qpos + rng.uniform(-0.5, 0.5, qpos.shape) * np.spacing(np.abs(qpos).astype(np.float32))
    contacts: list[int] = []
    c_scene = _after_a_step(scene, qpos, qvel, contacts)
    c_same, c_rounded = _after_a_step(same, qpos, qvel), _after_a_step(same, rounded, qvel)
    warp = _after_a_step(scene, qpos, qvel, device=device)
    holding = [held(scene, 16, backend="threads"), held(same, 16, backend="threads")]
    holding.append(held(scene, 16, backend="warp", device=device))
    for worlds in holding:
        worlds.step(HOLD, check=False)
    ends = [state(worlds)[0] for worlds in holding]
    return {
        "states": int(sound.sum()),
        "with_contact": int(sum(count > 0 for count in contacts)),
        "scene": _differences(c_scene, warp, sound),
        "same_model": _differences(c_same, warp, sound),
        "rounding": _differences(c_same, c_rounded, sound),
        "rounding_of_scene": _differences(c_scene, _after_a_step(scene, rounded, qvel), sound),
        "held_200_max": float(np.abs(ends[0] - ends[2]).max()),
        "held_200_max_same_model": float(np.abs(ends[1] - ends[2]).max()),
    }


def _after_a_step(
    scene: tuple[SceneLayout, dict[str, Any]],
    qpos: Array,
    qvel: Array,
    contacts: list[int] | None = None,
    device: str | None = None,
) -> tuple[Array, Array]:
    """Positions and velocities after one step under the servo, on threads or a device of Warp."""
    n = len(qpos)
    options = {"backend": "threads"} if device is None else {"backend": "warp", "device": device}
    worlds = held(scene, n, **options)
    engine: Any = worlds.worlds
    engine.assign("qpos_start", qpos)
    engine.assign("qvel_start", qvel)
    engine.reset()
    for arm, q in scene[1].items():
        worlds.servo(arm, q)
    worlds.step(1, check=False)
    if contacts is not None:
        contacts.extend(engine.contacts(k) for k in range(n))
    return state(worlds)


def _differences(a: tuple[Array, Array], b: tuple[Array, Array], rows: Array) -> dict[str, float]:
    (q, v), (other_q, other_v) = ((x[rows] for x in pair) for pair in (a, b))
    apart, relative = np.abs(v - other_v), np.linalg.norm(v - other_v, axis=1) / np.linalg.norm(v, axis=1)
    return {
        "position_max": float(np.abs(q - other_q).max()),
        "velocity_max": float((apart / np.maximum(1.0, np.abs(v))).max()),
        "velocity_norm_median": float(np.median(relative)),
        "velocity_norm_p99": float(np.quantile(relative, 0.99)),
        "velocity_norm_max": float(relative.max()),
    }
