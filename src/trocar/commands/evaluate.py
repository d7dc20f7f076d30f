"""`trocar eval`: score a policy from outside: of a server, of LeRobot, or of a file."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from trocar.commands.options import JsonFile, argument, option
from trocar.commands.record import picture_size
from trocar.commands.terminal import plain_errors, progress_bar, show_table, show_written


@plain_errors()
def evaluate(
    task: Annotated[str, argument("TASK", "Task of PSMs, such as Reach.")],
    policy: Annotated[
        str,
        option(
            "HOST:PORT | DIR | FILE",
            "Address of a policy server, folder of a LeRobot policy, or a file of a policy (.py, which is executed,"
            " or .npz).",
        ),
    ],
    count: Annotated[int, option("N", "Episodes.", "--count", "-n")] = 10,
    seed: Annotated[int, option("N", "Seed of the first episode.")] = 0,
    level: Annotated[str, option("LEVEL", "nominal, 1sigma or 3sigma.")] = "nominal",
    steps: Annotated[int, option("N", "Actions of an answer carried out before the next request.")] = 16,
    rate: Annotated[float, option("HZ", "Rate of the policy's actions; GR00T-H has 30.")] = 50.0,
    size: Annotated[str, option("WxH", "Size of the pictures, if the policy needs them.")] = "640x480",
    timeout: Annotated[float, option("S", "Longest time for one answer.")] = 15.0,
    json_file: JsonFile = None,
) -> None:
    """Score a policy from outside on a task.

    Example: [bold]trocar eval NeedlePick --policy 127.0.0.1:5555 -n 20 --rate 30[/bold]

    More: [bold]trocar eval Reach --policy outputs/train/checkpoints/last -n 20[/bold] (a policy that lerobot-train
    trained on a data set of trocar record; requires lerobot in this environment);
    [bold]trocar eval Reach --policy my_policy.py[/bold] (a file, as in trocar score).

    A server answers at HOST:PORT with the protocol of GR00T's inference service (ZMQ and msgpack). It gets the state
    of Open-H, the instruction and, if its modality configuration names them, stereo pictures; it commands tip poses and
    jaws, as a LeRobot policy does, which gets the features that it was trained on. If it answers nothing, late or
    something else than actions, the arms hold, and the command ends with the reason and status 2. Requires pip install
    'trocar\\[data]'.
    """
    from trocar.envs.bench import COLUMNS, table
    from trocar.envs.bench import episodes as file_episodes
    from trocar.episodes import Driving
    from trocar.episodes import evaluate as run
    from trocar.episodes.outside import check_policy, is_file, open_policy
    from trocar.files import check_writable, write_json

    check_writable(json_file)
    check_policy(policy)
    driving = Driving(steps=steps, rate=rate, size=picture_size("--size", size))
    with progress_bar(f"eval {task}") as progress:
        if is_file(policy):
            seeds = range(seed, seed + count)
            episodes = list(file_episodes([task], [policy], [level], seeds, progress=progress))
        else:
            with closing(open_policy(policy, timeout)) as player:
                episodes = run(task, player, count, seed=seed, level=level, driving=driving, progress=progress)
    show_table("Scores", COLUMNS[:-1], [row[:-1] for row in table(episodes)], left=(0, 1, 2))
    if json_file is not None:
        write_json(json_file, {"episodes": [asdict(episode) for episode in episodes]})
        show_written([Path(json_file)])
    typer.echo("held: condition met for the required time; first: met once.")
