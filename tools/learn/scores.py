"""Scores of the committed policies on seeds that no training used, with exact intervals; resumable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trocar.files import write_json, write_whole
from trocar.report.success_rate import clopper_pearson
from trocar_learning.envs import TaskEnv, make_task
from trocar_learning.envs.episode import PolicyOf, play
from trocar_learning.envs.network_policy import load_network
from trocar_learning.envs.tasks.track import TrackTask

LEVELS = {"reach": "nominal", "track": "3sigma", "needle_pick": "nominal"}
COUNTS = {"reach": 100, "track": 40, "needle_pick": 100}  # seeds from 0 on


def nominal(env: TaskEnv) -> Any:
    """No residual: nominal computed torque alone."""
    assert env.action_space.shape is not None
    size = env.action_space.shape[0]
    return lambda observation: np.zeros(size)


def rows(name: str, player: str, policy_of: PolicyOf, task: str, options: dict[str, str], file: Path) -> list[Any]:
    """Success, time and tip error of every seed; those that the file has are not run again."""
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {(row["player"], row["seed"]): row for row in done}
    env = make_task(task, level=LEVELS[name], **options)
    for seed in range(COUNTS[name]):
        if (player, seed) not in known:
            trial = play(env, policy_of, seed)
            row = {"player": player, "seed": seed, "held": trial.held, "time": trial.time}
            if isinstance(env.task, TrackTask):
                row["rms"] = float(env.task.rms(env.world)[0])
            known[player, seed] = row
            write_whole(file, "".join(json.dumps(entry) + "\n" for entry in known.values()))
    return [known[player, seed] for seed in range(COUNTS[name])]


def write(folder: Path, names: Sequence[str]) -> None:
    """Score the policies of a folder; prints the figures and writes folder/scores.json."""
    result = folder / "scores.json"
    figures = json.loads(result.read_text()) if result.exists() else {}
    for name in names:
        policy = load_network(folder / f"{name}.npz")
        file = Path("build") / "learn" / f"{name}-scores.jsonl"
        trials = rows(name, "policy", policy, policy.task, policy.options, file)
        held = sum(row["held"] for row in trials)
        low, high = clopper_pearson(held, len(trials))
        entry = {"n": len(trials), "success": held / len(trials), "low": round(low, 4), "high": round(high, 4)}
        if name == "track":
            plain = rows(name, "nominal", nominal, policy.task, policy.options, file)
            errors = np.array([[row["rms"] for row in group] for group in (trials, plain)])
            ratio = np.sqrt(np.mean(errors**2, axis=1))
            entry |= {"rms_mm": 1e3 * ratio[0], "nominal_rms_mm": 1e3 * ratio[1], "reduction": 1 - ratio[0] / ratio[1]}
            entry |= {"reduction_interval": reduction_interval(errors), "better_on": int((errors[0] < errors[1]).sum())}
        figures[name] = entry | {"level": LEVELS[name], "notes": dict(policy.notes)}
        write_json(result, figures)
        print(name, entry)


def reduction_interval(errors: Any, draws: int = 2000) -> list[float]:
    """95 % interval of the reduction of the RMS error, by a bootstrap over seeds; errors: (2, n)."""
    rng = np.random.default_rng(0)
    chosen = errors[:, rng.integers(errors.shape[1], size=(draws, errors.shape[1]))]
    ratio = np.sqrt(np.mean(chosen[0] ** 2, axis=1) / np.mean(chosen[1] ** 2, axis=1))
    return [round(float(value), 4) for value in 1.0 - np.quantile(ratio, [0.975, 0.025])]
