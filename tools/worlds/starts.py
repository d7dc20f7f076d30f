"""Starts of NeedlePick or PegLift for training: `python -m tools.worlds.starts FILE [TASK EPISODES EXPERTS]`.

The file has two `Episodes`: "train", from seeds 100,000 on, mixed with states that the expert passes on its way, and
"test", from seeds 200,000 on. Seeds below 100,000 stay for scores.
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from tools.worlds.lift_settings import SETTINGS, LiftSetting
from trocar.files import write_whole
from trocar.spatial import Array
from trocar_learning.envs.arrays import pose_numbers
from trocar_learning.envs.registration import make_task
from trocar_learning.envs.worlds import Episodes

TRAIN, EXPERT, TEST = 100_000, 150_000, 200_000  # first seeds
STATES = 8  # of every expert episode


def passed(setting: LiftSetting, count: int, rng: np.random.Generator) -> dict[str, Array]:
    """States of expert episodes at random times: qpos, qvel, commanded joints, place and memory, rows are states."""
    env = make_task(setting.task)
    rows: dict[str, list[Array]] = {}
    for seed in range(EXPERT, EXPERT + count):
        observation, _ = env.reset(seed=seed)
        expert, over, k = env.expert(), False, 0
        chosen = set(rng.choice(np.arange(5, setting.expert), STATES, replace=False).tolist())
        while not over:
            observation, _, terminated, truncated, _ = env.step(expert(observation))
            over, k = terminated or truncated, k + 1
            if k in chosen:
                scene, T = env.world.scene, env.world.scene.objects[setting.fixed].pose
                row = {
                    "qpos": scene.data.qpos.copy(),
                    "qvel": scene.data.qvel.copy(),
                    "place": pose_numbers(np, T[None])[0],
                }
                row["commanded"] = env.modes["PSM"].q.copy()
                row |= {name: values[0] for name, values in env.world.memory.items()}
                for name, value in row.items():
                    rows.setdefault(name, []).append(value)
        print(f"\rexpert {seed - EXPERT + 1} of {count}", end="", flush=True)
    print()
    return {name: np.array(values) for name, values in rows.items()}


def main(path: str, task: str = "NeedlePick", episodes: str = "2000", experts: str = "150") -> None:
    """Write the starts."""
    rng, setting = np.random.default_rng(0), SETTINGS[task]
    drawn = Episodes.drawn(task, range(TRAIN, TRAIN + int(episodes)))
    states = passed(setting, int(experts), rng)
    order = rng.permutation(len(drawn) + len(states["goal"]))

    def mixed(first: Array, name: str) -> Array:
        return np.concatenate([first, states[name]])[order]

    train = replace(
        drawn,
        qpos=mixed(drawn.qpos, "qpos"),
        qvel=mixed(drawn.qvel, "qvel"),
        commanded=mixed(drawn.commanded, "commanded"),
        places={setting.fixed: mixed(drawn.places[setting.fixed], "place")},
        numbers={name: mixed(values, name) for name, values in drawn.numbers.items()},
    )
    test = Episodes.drawn(task, range(TEST, TEST + 512))
    write_whole(Path(path), pickle.dumps({"train": train, "test": test}))
    print(f"{len(train)} starts for training, {len(test)} for tests: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
