"""Scenes and episodes for machines with a GPU: `python -m tools.worlds.bundle FILE` writes them for `measure`."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

import trocar as tr
from trocar.batch.worlds.layout import SceneLayout
from trocar.files import write_whole
from trocar_learning.contest.peg_board import contest_scene
from trocar_learning.envs.registration import make_task
from trocar_learning.envs.worlds import Episodes

HELD_AFTER = 260  # control periods of NeedlePick's expert, after which the needle is in the jaws, lifted
SEEDS = range(64)
TASKS = (
    ("Reach", "nominal"),
    ("Track", "nominal"),
    ("Track", "3sigma"),
    ("NeedlePick", "nominal"),
    ("PegTransfer", "nominal"),
)


def held_needle(seed: int = 0) -> tuple[SceneLayout, dict[str, Any]]:
    """NeedlePick with the needle in the jaws, and the commanded joints."""
    env = make_task("NeedlePick")
    observation, _ = env.reset(seed=seed)
    expert, held = env.expert(), False
    for _ in range(HELD_AFTER):
        observation, _, terminated, _, info = env.step(expert(observation))
        held = bool(env.world.value("held"))
        if terminated or info["is_success"]:
            break
    if not held:
        raise SystemExit("the expert does not hold the needle; take another seed")
    return SceneLayout.of(env.world.scene), {"PSM": env.modes["PSM"].q.copy()}


def main(path: str) -> None:
    """Write the bundle: layout and commanded joints of `scenes` by name, and `episodes` by task and level."""
    options = {name: {"parameters": "wang2019_refit"} for name in ("PSM1", "PSM2")}
    scenes: dict[str, tuple[SceneLayout, dict[str, Any]]] = {
        "PSM": (SceneLayout.of(tr.Simulator("PSM").scene), {}),
        "cables": (SceneLayout.of(tr.Simulator("PSM", wrist="cables").scene), {}),
        "needle": held_needle(),
        "pegs": (SceneLayout.of(contest_scene(options=options)), {}),
    }
    for layout, commands in scenes.values():
        for name, arm in layout.arms.items():
            commands.setdefault(name, arm.D_measured @ layout.qpos[slice(*arm.q)])
    episodes = {f"{task} {level}": Episodes.drawn(task, SEEDS, level=level) for task, level in TASKS}
    write_whole(Path(path), pickle.dumps({"scenes": scenes, "episodes": episodes}))
    for name, (layout, _) in scenes.items():
        print(name, f"{layout.model.nv} dof, {layout.model.neq} equalities, {layout.model.ngeom} geoms")
    assert all(np.isfinite(layout.qpos).all() for layout, _ in scenes.values())


if __name__ == "__main__":
    main(sys.argv[1])
