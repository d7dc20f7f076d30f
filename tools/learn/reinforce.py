"""Soft actor-critic (Stable-Baselines3) on a shaped task: one process, one thread, with a learning curve."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tools.learn.features import LinearFeatures, ShapedTask
from trocar.files import write_whole
from trocar.spatial import Array
from trocar_learning.envs import TaskEnv, make_task
from trocar_learning.envs.network_export import of_sb3
from trocar_learning.envs.network_policy import NetworkPolicy, load_network

TRAINING = 1_000_000  # first seed of training; policies are judged on seeds below it
VALIDATION = 500  # first seed of the learning curve


@dataclass(frozen=True)
class SacRecipe:
    """A training run.

    Attributes:
        task, level: of the environment. features, scale, reward: of `ShapedTask`. steps: at most, control periods.
        chunk: steps between two points of the curve. episodes: of each point. score: of an ended episode, larger is
            better. enough: mean score of a point that ends the training. options: of SAC.
    """

    task: str
    level: str
    features: LinearFeatures
    scale: Array
    reward: Callable[[TaskEnv, Array], float]
    score: Callable[[TaskEnv, dict[str, Any]], float]
    steps: int
    chunk: int
    episodes: int
    enough: float = np.inf
    options: dict[str, Any] = field(default_factory=dict)

    def env(self) -> ShapedTask:
        """A new environment."""
        return ShapedTask(make_task(self.task, level=self.level), self.features, self.scale, self.reward)


def train(recipe: SacRecipe, seed: int, curve: Path, say: Callable[[str], None] = print) -> NetworkPolicy:
    """Train, write the learning curve (JSON lines) and return the policy of its best point.

    The state of the last point is kept beside the curve (.zip, .pkl, .best.npz), so that an interrupted run continues.
    """
    import torch
    from stable_baselines3 import SAC

    torch.set_num_threads(1)
    env, other = recipe.env(), recipe.env()
    state, buffer, best = (curve.with_suffix(suffix) for suffix in (".zip", ".pkl", ".best.npz"))
    rows: list[dict[str, float]] = []
    if state.exists():
        rows = [json.loads(line) for line in curve.read_text(encoding="utf-8").splitlines()]
        model = SAC.load(state, env, device="cpu")
        model.load_replay_buffer(buffer)
        env.reset(seed=TRAINING + seed + 1000 * len(rows))
    else:
        env.reset(seed=TRAINING + seed)
        model = SAC("MlpPolicy", env, seed=TRAINING + seed, device="cpu", **recipe.options)
    spent, wall = rows[-1]["cpu_s"] if rows else 0.0, rows[-1]["wall_s"] if rows else 0.0
    began, since = time.process_time(), time.perf_counter()
    while model.num_timesteps < recipe.steps:
        model.learn(recipe.chunk, reset_num_timesteps=False)
        row: dict[str, float] = {"steps": model.num_timesteps, "cpu_s": spent + time.process_time() - began}
        row |= {"wall_s": wall + time.perf_counter() - since, "score": _score(recipe, model, other)}
        rows.append(row)
        say(f"{recipe.task} seed {seed}: " + ", ".join(f"{name} {value:.4g}" for name, value in row.items()))
        if row["score"] >= max(entry["score"] for entry in rows):
            notes = {"library": "Stable-Baselines3 SAC", "seed": seed, "level": recipe.level, **row}
            of_sb3(model, env, features=env.features.matrix, scale=env.scale, notes=notes).save(best)
        model.save_replay_buffer(buffer)
        model.save(state)
        write_whole(curve, "".join(json.dumps(entry) + "\n" for entry in rows))
        if row["score"] >= recipe.enough:
            break
    for path in (state, buffer):
        path.unlink(missing_ok=True)
    return load_network(best)


def _score(recipe: SacRecipe, model: Any, env: ShapedTask) -> float:
    """Mean score of the deterministic policy on the validation seeds."""
    scores = []
    for seed in range(VALIDATION, VALIDATION + recipe.episodes):
        x, info = env.reset(seed=seed)
        over = False
        while not over:
            x, _, terminated, truncated, info = env.step(model.predict(x, deterministic=True)[0])
            over = terminated or truncated
        scores.append(recipe.score(env.env, info))  # type: ignore[arg-type]
    return float(np.mean(scores))
