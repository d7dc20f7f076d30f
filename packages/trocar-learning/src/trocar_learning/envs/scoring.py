"""Scores of a policy on a task: one `ScoredTrial` per seed, and figures over all of them, for `trocar score`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from trocar.errors import TrocarError
from trocar.report.success_rate import clopper_pearson
from trocar_learning.envs.policies import PolicyOf, described
from trocar_learning.envs.task_env import TaskEnv

COMMON = ("is_success", "first_success", "time", "path", "peak_force", "drops", "saturation", "clipped")
TITLES = MappingProxyType({"last_point": "last point [s]"})  # of columns, where the name of a figure is not enough
Watch = Callable[[TaskEnv], None]  # called after the reset and after every control period


@dataclass(frozen=True)
class ScoredTrial:
    """One episode, or one run of a client.

    Attributes:
        held, first: the success condition has held, was met once. time: [s] by the simulation's clock.
        path: length of all tips' paths [m]. peak_force: [N]. details: figures of the task, such as points.
        ended: reason for which the trial ended early; "" if there is none.
    """

    seed: int
    held: bool
    first: bool
    time: float
    path: float
    peak_force: float
    drops: int
    details: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    ended: str = ""

    def to_json(self) -> dict[str, Any]:
        """Entries by name, those of the task among them."""
        entries = {**vars(self), "details": None}
        return {name: value for name, value in entries.items() if name != "details"} | dict(self.details)


def play(env: TaskEnv, policy_of: PolicyOf, seed: int, watch: Watch | None = None) -> ScoredTrial:
    """Play an episode; an error of the policy is raised as one line with seed and time."""
    observation, info = env.reset(seed=seed)
    act, over = policy_of(env), False
    if watch is not None:
        watch(env)
    while not over:
        try:
            action = act(observation)
        except (Exception, SystemExit) as error:  # a policy that leaves has failed, too
            reason = str(error) if isinstance(error, TrocarError) else described(error)
            raise TrocarError(f"the policy failed at {info['time']:.2f} s of seed {seed}: {reason}") from error
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        if watch is not None:
            watch(env)
    return of_info(seed, info)


def of_info(seed: int, info: Mapping[str, Any], ended: str = "") -> ScoredTrial:
    """The trial that the last `info` of an episode describes; ended: see `ScoredTrial`."""
    return ScoredTrial(
        seed=seed,
        held=bool(info["is_success"]),
        first=bool(info["first_success"]),
        time=float(info["time"]),
        path=float(info["path"]),
        peak_force=float(info["peak_force"]),
        drops=int(info["drops"]),
        details={name: value for name, value in info.items() if name not in COMMON},
        ended=ended,
    )


def summary(trials: Sequence[ScoredTrial]) -> dict[str, Any]:
    """Figures over all trials: rates with exact 95 % intervals, means, and the mean of every number of the task."""
    n, held = len(trials), sum(trial.held for trial in trials)
    low, high = clopper_pearson(held, n)
    figures: dict[str, Any] = {
        "n": n,
        "success": held / n,
        "success_low": low,
        "success_high": high,
        "first_success": sum(trial.first for trial in trials) / n,
        "mean_time": statistics.fmean(trial.time for trial in trials),
        "mean_path": statistics.fmean(trial.path for trial in trials),
        "peak_force": max(trial.peak_force for trial in trials),
        "drops": sum(trial.drops for trial in trials),
    }
    for name, value in trials[0].details.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            figures[f"mean_{name}"] = statistics.fmean(float(trial.details[name]) for trial in trials)
    return figures


def to_json(task: str, policy: str, level: str, trials: Sequence[ScoredTrial]) -> dict[str, Any]:
    """The content of the file of `trocar score --json`."""
    figures = summary(trials) if trials else {"n": 0}
    listed = [trial.to_json() for trial in trials]
    return {"task": task, "policy": policy, "level": level, "summary": figures, "trials": listed}


def headings(trials: Sequence[ScoredTrial]) -> tuple[str, ...]:
    """Names of the columns of `row`."""
    details = (TITLES.get(name, name.replace("_", " ")) for name in trials[0].details)
    return ("seed", "success", "time [s]", "path [m]", "peak force [N]", "drops", *details)


def row(trial: ScoredTrial) -> tuple[str, ...]:
    """A trial as a line of a table."""
    success = "yes" if trial.held else "once" if trial.first else "no"
    numbers = f"{trial.time:.2f}", f"{trial.path:.3f}", f"{trial.peak_force:.2f}", str(trial.drops)
    details = [f"{value:.2f}" if isinstance(value, float) else str(value) for value in trial.details.values()]
    return (str(trial.seed), success, *numbers, *details)


def sentence(trials: Sequence[ScoredTrial]) -> str:
    """The result in one line."""
    figures = summary(trials)
    low, high = 100 * figures["success_low"], 100 * figures["success_high"]
    rate = f"success {100 * figures['success']:.0f} % (95 % interval {low:.0f} to {high:.0f} %, n = {figures['n']})"
    points = f"mean points {figures['mean_points']:.2f}, " if "mean_points" in figures else ""
    force, drops = f"peak force {figures['peak_force']:.2f} N", f"{figures['drops']} drops"
    return f"{points}{rate}, {drops}, mean time {figures['mean_time']:.2f} s, {force}"
