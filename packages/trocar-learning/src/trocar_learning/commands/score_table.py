"""`trocar score --table`: success rates of policies on tasks and levels, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from trocar.commands.terminal import progress_bar, show_table, show_written
from trocar.files import check_writable, write_json
from trocar_learning.commands.task_names import task_name


def list_tasks() -> None:
    """Print the names of the tasks."""
    from trocar_learning.envs.registration import ALL_TASKS, task_kind

    rows = [(task, (task_kind(task).__doc__ or "").partition("\n")[0]) for task in ALL_TASKS]
    show_table("Tasks", ("name", ""), rows, left=(0, 1))


def score_table(
    tasks: Sequence[str],
    policies: Sequence[str],
    levels: Sequence[str],
    seeds: Sequence[int],
    output: Path | None,
    json_file: Path | None,
    wrist: Mapping[str, str],
) -> None:
    """Run policies on tasks and print a row for each.

    "held" is the share of episodes in which the success condition held for the required time, "first" the share in
    which it was met once; steps/s are control periods of 20 ms per second of processor time.

    Args:
        tasks: default: all, which takes hours. policies: random, pid, expert or a file. Default: these three.
        levels: default: all. output: JSON lines; an interrupted run continues the file.
        wrist: options wrist and compensation of the environments.
    """
    from trocar_learning.envs.episode import Episode
    from trocar_learning.envs.levels import LEVELS
    from trocar_learning.envs.policies import POLICIES, own_task, policy_of
    from trocar_learning.envs.registration import ALL_TASKS, TASKS
    from trocar_learning.envs.scoring import COLUMNS, episodes, table

    check_writable(*(file for file in (output, json_file) if file is not None))
    chosen = list(policies) or list(POLICIES)
    own = [own_task(policy_of(name)) for name in chosen]
    known = [task for task in ALL_TASKS if (None in own and task in TASKS) or task in own]
    names = [task_name(task) for task in tasks or known]
    results: list[Episode] = []
    try:
        with progress_bar("score --table") as progress:
            for episode in episodes(names, chosen, list(levels) or list(LEVELS), seeds, output, progress, wrist):
                results.append(episode)
    finally:
        # also after an error: a file of an earlier run must not be mistaken for this one's
        if json_file is not None:
            write_json(json_file, {"episodes": [episode.entries() for episode in results]})
    show_table("Tasks", COLUMNS, table(results), left=(0, 1, 2))
    show_written([file for file in (output, json_file) if file is not None])
    typer.echo("held: condition met for the required time; first: met once.")
