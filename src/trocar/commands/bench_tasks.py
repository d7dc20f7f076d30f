"""`trocar bench-tasks`: success rates of scripted and learned policies on the tasks of `trocar.envs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trocar.commands.options import argument, flag, option, task_name
from trocar.commands.terminal import plain_errors, progress_bar, show_table, show_written
from trocar.errors import TrocarError


@plain_errors("run it again with the same options to continue")
def bench_tasks(
    tasks: Annotated[
        list[str] | None, argument("TASK", "Tasks. Default: all, which takes hours.", show_default=False)
    ] = None,
    policy: Annotated[
        list[str] | None,
        option("random|pid|expert|FILE", "Policy or its file (.npz, .py), repeatable. Default: random, pid, expert."),
    ] = None,
    level: Annotated[list[str] | None, option("LEVEL", "nominal, 1sigma, 3sigma; repeatable. Default: all.")] = None,
    count: Annotated[int, option("N", "Seeds per row.", "--count", "-n")] = 100,
    seed: Annotated[int, option("N", "First seed.")] = 0,
    output: Annotated[
        Path | None,
        option("FILE", "Write the episodes as JSON lines; continue the file if it exists.", "--output", "-o"),
    ] = None,
    report: Annotated[Path | None, option("FILE", "Write the table in Markdown.", "--markdown")] = None,
    listed: Annotated[bool, flag("Print the names of the tasks and exit.", "--list")] = False,
) -> None:
    """Run scripted and learned policies on tasks and print success rates with 95 % intervals.

    Example: [bold]trocar bench-tasks Reach Track -n 100 -o episodes.jsonl --markdown table.md[/bold]

    A learned network (.npz) runs on the task on which it was trained; a Python file is executed.
    "held" is the share of episodes in which the success condition held for the required time, "first" the share in
    which it was met once. Intervals are exact (Clopper and Pearson). steps/s are control periods of 20 ms per second of
    processor time. With -o, an interrupted run continues where it stopped.
    Requires gymnasium: pip install 'trocar\\[envs]'.
    """
    from trocar.envs.bench import COLUMNS, POLICIES, episodes, markdown, own_task, player, table
    from trocar.envs.levels import LEVELS
    from trocar.envs.registration import ALL_TASKS, TASKS, task_kind
    from trocar.files import check_writable, write_whole

    if listed:
        rows = [(task, (task_kind(task).__doc__ or "").partition("\n")[0]) for task in ALL_TASKS]
        show_table("Tasks", ("name", ""), rows, left=(0, 1))
        return

    if count < 1 or seed < 0:
        raise TrocarError(f"-n must be at least 1 and --seed at least 0, got {count} and {seed}")
    for file in (output, report):
        if file is not None:
            check_writable(file)
    policies = policy or list(POLICIES)
    own = [own_task(player(name)[1]) for name in policies]
    known = [task for task in ALL_TASKS if (None in own and task in TASKS) or task in own]
    chosen = [task_name(task) for task in tasks or known], policies, level or list(LEVELS), range(seed, seed + count)
    with progress_bar("bench-tasks") as progress:
        results = list(episodes(*chosen, output, progress))
    show_table("Tasks", COLUMNS, table(results), left=(0, 1, 2))
    if report is not None:
        write_whole(report, markdown(results))
    show_written([file for file in (output, report) if file is not None])
    typer.echo("held: condition met for the required time; first: met once.")
