"""Scores of scripted policies over seeds and levels of randomisation, as `trocar score --table` prints them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from trocar.errors import TrocarError, check_known
from trocar.files import write_whole
from trocar.report.success_rate import clopper_pearson
from trocar_learning.envs.levels import LEVELS
from trocar_learning.envs.policies import LOADERS, PolicyOf, environment_options, load_policy
from trocar_learning.envs.registration import ALL_TASKS, make_task
from trocar_learning.envs.task import Policy
from trocar_learning.envs.task_env import TaskEnv

POLICIES = ("random", "pid", "expert")
WRIST_OPTIONS = ("wrist", "compensation")  # of `TaskEnv`


@dataclass(frozen=True)
class Episode:
    """One episode.

    Attributes:
        held, first: the success condition has held, was met once. steps: control periods.
        seconds: processor time without the reset [s]. peak_force: [N]. points: of a task that counts them.
        wrist: options of the arms' wrists, as `wrist_label` writes them; "" for those of the level.
    """

    task: str
    policy: str
    level: str
    seed: int
    held: bool
    first: bool
    steps: int
    seconds: float
    peak_force: float
    drops: int
    points: int | None = None
    wrist: str = ""


def wrist_label(options: Mapping[str, str]) -> str:
    """Options wrist and compensation of an environment in words, such as "wrist=cables, compensation=cables"."""
    return ", ".join(f"{name}={options[name]}" for name in WRIST_OPTIONS if name in options)


def run_episode(env: TaskEnv, policy: str | PolicyOf, seed: int) -> dict[str, float | None]:
    """Run a policy on a seed; the entries of `Episode` that it decides."""
    observation, info = env.reset(seed=seed)
    act = scripted_policy(env, policy, seed) if isinstance(policy, str) else policy(env)
    begin, steps, over = time.process_time(), 0, False
    while not over:
        observation, _, terminated, truncated, info = env.step(act(observation))
        steps, over = steps + 1, terminated or truncated
    return {
        "held": bool(info["is_success"]),
        "first": bool(info["first_success"]),
        "steps": steps,
        "seconds": time.process_time() - begin,
        "peak_force": float(info["peak_force"]),
        "drops": int(info["drops"]),
        "points": int(info["points"]) if "points" in info else None,
    }


def scripted_policy(env: TaskEnv, policy: str, seed: int) -> Policy:
    """The policy "random", "pid" or "expert" for the episode that `reset` has started."""
    if policy == "random":
        env.action_space.seed(seed)
        return lambda observation: env.action_space.sample()
    return env.expert() if policy == "expert" else env.pid()


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
    players = dict(player(policy) for policy in policies)
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
            result: Any = run_episode(env, players[policy], seed)
            done[key] = Episode(task, policy, level, seed, **result, wrist=label)
            if file is not None:
                write_whole(file, "".join(json.dumps(asdict(episode)) + "\n" for episode in done.values()))
        if progress is not None:
            progress((k + 1) / len(jobs))
        yield done[key]


def player(policy: str) -> tuple[str, str | PolicyOf]:
    """Name of a policy in `Episode`, and the policy.

    The name of a file ends in a part of its checksum, so that a changed file does not continue the old row.
    """
    path = Path(policy)
    if path.suffix.lower() not in LOADERS:
        check_known("policy", (*POLICIES, "a file of a policy"), policy)
        return policy, policy
    loaded = load_policy(path)
    return f"{path.name}:{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}", loaded


def own_task(policy: str | PolicyOf) -> str | None:
    """The only task of a policy; None if it runs on any."""
    task = getattr(policy, "task", None)
    return None if task is None else str(task)


def read(file: Path) -> list[Episode]:
    """Episodes of a file that `episodes` wrote."""
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return [Episode(**row) for row in rows]
    except (OSError, ValueError, TypeError) as error:
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


COLUMNS = ("task", "level", "policy", "n", "held (95 % interval)", "first", "steps/s")


def markdown(results: Sequence[Episode]) -> str:
    """The table in Markdown."""
    rows = [COLUMNS, tuple("---" for _ in COLUMNS), *table(results)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
