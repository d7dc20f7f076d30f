"""`trocar eval`: score a policy from outside: of a server, of LeRobot, or of a file."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import Annotated, Any

import typer

from trocar.commands.options import JsonFile, argument, option, pixels, task_name
from trocar.commands.terminal import plain_errors, progress_bar, show_table, show_written
from trocar.errors import TrocarError


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
    steps: Annotated[
        int | None, option("N", "Actions of a server's answer carried out before the next request. Default: 16.")
    ] = None,
    rate: Annotated[
        float | None, option("HZ", "Rate of the actions of a server or a folder; GR00T-H has 30. Default: 50.")
    ] = None,
    size: Annotated[
        str | None, option("WxH", "Size of the pictures, if a server or a folder needs them. Default: 640x480.")
    ] = None,
    timeout: Annotated[float | None, option("S", "Longest time for one answer of a server. Default: 15.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Score a policy of a server, of LeRobot or in a file on a task.

    Example: [bold]trocar eval NeedlePick --policy 127.0.0.1:5555 -n 20 --rate 30[/bold]

    More: [bold]trocar eval Reach --policy outputs/train/checkpoints/last -n 20[/bold] (a policy that lerobot-train
    trained on a data set of trocar record; requires lerobot in this environment);
    [bold]trocar eval Reach --policy my_policy.py[/bold] (a file, as in trocar score).

    A server answers at HOST:PORT with the protocol of GR00T's inference service (ZMQ and msgpack). It gets the state
    of Open-H, the instruction and, if its modality configuration names them, stereo pictures; it commands tip poses and
    jaws. So does a LeRobot policy, which gets the features that it was trained on. If an answer is missing, late or
    contains no valid actions, the arms hold, and the command ends with the reason and status 2; --json then has the
    episodes before the failure. Requires pip install 'trocar\\[data]'.
    """
    from trocar.envs.bench import COLUMNS, Episode, table
    from trocar.envs.bench import episodes as file_episodes
    from trocar.episodes.evaluation import Driving, driven_episodes
    from trocar.episodes.outside import ANSWER_TIMEOUT, check_policy, is_file, open_policy
    from trocar.files import check_writable, write_json

    task = task_name(task)
    if count < 1 or seed < 0:
        raise TrocarError(f"-n must be at least 1 and --seed at least 0, got {count} and {seed}")
    check_writable(json_file)
    check_policy(policy)
    options: Any = {"steps": steps, "rate": rate, "size": None if size is None else pixels("--size", size)}
    options = {name: value for name, value in options.items() if value is not None}
    if is_file(policy) and (options or timeout is not None):
        raise TrocarError("--steps, --rate, --size and --timeout go with a server or a folder of LeRobot, not a file")
    driving = Driving(**options)
    seeds, episodes = range(seed, seed + count), list[Episode]()
    try:
        with progress_bar(f"eval {task}") as progress:
            if is_file(policy):
                for episode in file_episodes([task], [policy], [level], seeds, progress=progress):
                    episodes.append(episode)
            else:
                with closing(open_policy(policy, ANSWER_TIMEOUT if timeout is None else timeout)) as player:
                    for episode in driven_episodes(
                        task, player, seeds, level=level, driving=driving, progress=progress
                    ):
                        episodes.append(episode)
    finally:
        # also after an error: a file of an earlier run must not be mistaken for this one's
        if json_file is not None:
            write_json(json_file, {"episodes": [asdict(episode) for episode in episodes]})
    show_table("Scores", COLUMNS[:-1], [row[:-1] for row in table(episodes)], left=(0, 1, 2))
    show_written([] if json_file is None else [json_file])
    typer.echo("held: condition met for the required time; first: met once.")
