"""Scores: figures and tables over episodes, for `trocar score`; runs over tasks, policies, levels and seeds."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from trocar.errors import TrocarError, check_known
from trocar.files import Json, write_whole
from trocar.report.success_rate import clopper_pearson
from trocar_learning.envs.episode import Episode, play
from trocar_learning.envs.levels import LEVELS
from trocar_learning.envs.policies import POLICIES, environment_options, file_name, own_task, policy_of
from trocar_learning.envs.registration import ALL_TASKS, make_task
from trocar_learning.envs.task_env import TaskEnv

WRIST_OPTIONS = ("wrist", "compensation")  # of `TaskEnv`
UNLISTED = ("task", "policy", "level", "wrist", "steps", "seconds")  # entries that one score has once, or not at all
COLUMNS = ("task", "level", "policy", "n", "held (95 % interval)", "first", "steps/s")
TITLES = MappingProxyType({"last_point": "last point [s]"})  # of columns, where the name of a figure is not enough


def wrist_label(options: Mapping[str, str]) -> str:
    """Options wrist and compensation of an environment in words, such as "wrist=cables, compensation=cables"."""
    return ", ".join(f"{name}={options[name]}" for name in WRIST_OPTIONS if name in options)


def episodes(
    tasks: Sequence[str],
    policies: Sequence[str],
    levels: Sequence[str],
    seeds: Sequence[int],
    file: Path | None = None,
    progress: Callable[[float], None] | None = None,
    wrist: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Episode]:
    """All episodes, in order. Those that `file` has are not run again; it is written after every episode.

    Args:
        policies: random, pid, expert or the file of a policy; a network runs on its own task only.
        file: JSON lines, one per episode. wrist: options wrist and compensation of the environments.
    """
    check_known("task", ALL_TASKS, *tasks)
    players = {_label(policy): policy_of(policy) for policy in policies}
    check_known("level of randomisation", LEVELS, *levels)
    check_known("option of the wrist", WRIST_OPTIONS, *wrist)
    label = wrist_label(wrist)
    done = {} if file is None or not file.exists() else {_key(episode): episode for episode in read(file)}
    pairs = [(t, level, p) for t in tasks for level in levels for p in players if own_task(players[p]) in (None, t)]
    if not pairs:
        raise TrocarError(f"no policy fits the tasks {', '.join(tasks)}")
    jobs = [(t, p, level, seed) for t, level, p in pairs for seed in seeds]
    env: TaskEnv | None = None
    current = None
    for k, (task, policy, level, seed) in enumerate(jobs):
        key = (task, policy, level, seed, label)
        if key not in done:
            options = environment_options(players[policy])
            if env is None or current != (task, level, options):
                env, current = make_task(task, level=level, **options, **wrist), (task, level, options)
            result = play(env, players[policy], seed)
            done[key] = replace(result, task=task, policy=policy, level=level, wrist=label)
            if file is not None:
                write_whole(file, "".join(json.dumps(episode.entries()) + "\n" for episode in done.values()))
        if progress is not None:
            progress((k + 1) / len(jobs))
        yield done[key]


def _label(policy: str) -> str:
    """Name of a policy in `Episode`."""
    return policy if policy in POLICIES or not Path(policy).is_file() else file_name(Path(policy))


def read(file: Path) -> list[Episode]:
    """Episodes of a file that `episodes` wrote."""
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return [Episode.read(row) for row in rows]
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise TrocarError(f"{file} holds no episodes of trocar score --table: {error}") from None


def _key(episode: Episode) -> tuple[str, str, str, int, str]:
    return episode.task, episode.policy, episode.level, episode.seed, episode.wrist


def table(results: Sequence[Episode]) -> list[tuple[str, ...]]:
    """Rows of text: task, level, policy, count, held with its interval, first, periods per second."""
    rows: dict[tuple[str, str, str], list[Episode]] = {}
    for episode in results:
        level = ", ".join(part for part in (episode.level, episode.wrist) if part)
        rows.setdefault((episode.task, level, episode.policy), []).append(episode)
    lines: list[tuple[str, ...]] = []
    for (task, level, policy), group in rows.items():
        n, held, first = len(group), sum(e.held for e in group), sum(e.first for e in group)
        low, high = clopper_pearson(held, n)
        speed = sum(e.steps for e in group) / max(sum(e.seconds for e in group), 1e-9)
        interval = f"{100 * held / n:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
        lines.append((task, level, policy, str(n), interval, f"{100 * first / n:.0f} %", f"{speed:.0f}"))
    return lines


def markdown(results: Sequence[Episode]) -> str:
    """The table in Markdown."""
    rows = [COLUMNS, tuple("---" for _ in COLUMNS), *table(results)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def summary(trials: Sequence[Episode]) -> Json:
    """Figures over all trials: rates with exact 95 % intervals, means, and the mean of every number of the task."""
    n, held = len(trials), sum(trial.held for trial in trials)
    low, high = clopper_pearson(held, n)
    figures: Json = {
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


def to_json(task: str, policy: str, level: str, trials: Sequence[Episode]) -> Json:
    """The content of the file of `trocar score --json`."""
    figures = summary(trials) if trials else {"n": 0}
    listed = [{name: value for name, value in trial.entries().items() if name not in UNLISTED} for trial in trials]
    return {"task": task, "policy": policy, "level": level, "summary": figures, "trials": listed}


def headings(trials: Sequence[Episode]) -> tuple[str, ...]:
    """Names of the columns of `row`."""
    details = (TITLES.get(name, name.replace("_", " ")) for name in trials[0].details)
    return ("seed", "success", "time [s]", "path [m]", "peak force [N]", "drops", *details)


def row(trial: Episode) -> tuple[str, ...]:
    """A trial as a line of a table."""
    success = "yes" if trial.held else "once" if trial.first else "no"
    numbers = f"{trial.time:.2f}", f"{trial.path:.3f}", f"{trial.peak_force:.2f}", str(trial.drops)
    details = [f"{value:.2f}" if isinstance(value, float) else str(value) for value in trial.details.values()]
    return (str(trial.seed), success, *numbers, *details)


def sentence(trials: Sequence[Episode]) -> str:
    """The result in one line."""
    figures = summary(trials)
    low, high = 100 * figures["success_low"], 100 * figures["success_high"]
    rate = f"success {100 * figures['success']:.0f} % (95 % interval {low:.0f} to {high:.0f} %, n = {figures['n']})"
    points = f"mean points {figures['mean_points']:.2f}, " if "mean_points" in figures else ""
    force, drops = f"peak force {figures['peak_force']:.2f} N", f"{figures['drops']} drops"
    return f"{points}{rate}, {drops}, mean time {figures['mean_time']:.2f} s, {force}"
