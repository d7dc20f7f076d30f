"""`trocar score`: the result of an expert, a policy or a client on a task, with a page and a film; tables of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trocar.commands.options import argument, flag, option
from trocar.commands.terminal import plain_errors, progress_bar, show_table, show_written
from trocar.errors import TrocarError
from trocar_learning.commands.players import Player, opened_play, opened_player, settings_of, wrist_options
from trocar_learning.commands.score_table import list_tasks, score_table

if TYPE_CHECKING:
    from trocar_learning.envs.episode import Episode
    from trocar_learning.envs.score_film import EpisodeFilm

FOLDER = Path("trocar-score")
TRIALS = 10  # usual number, of which an interval says something
Count = Annotated[
    int | None,
    option("N", f"Trials, each with its own seed. Default: {TRIALS}; of a client, in real time: 1.", "--count", "-n"),
]
Settings = Annotated[
    list[str] | None,
    option(
        "KEY=VALUE",
        "Server, LeRobot policy: rate=HZ (default: 50), steps=N (16), timeout=S (15), pictures=WxH (640x480); "
        "client: pictures=WxH (1280x800), none; robot: wrist=cables|drawn|FILE, compensation=cables|FILE. Repeat.",
        "--set",
        "-s",
    ),
]


@plain_errors("run it again; with --table and -o it continues where it stopped")
def score(
    tasks: Annotated[
        list[str] | None, argument("TASK", "Task, such as PegTransfer; without one: the list of tasks.")
    ] = None,
    expert: Annotated[bool, flag("Score the scripted expert.", "--expert")] = False,
    policy: Annotated[
        list[str] | None,
        option(
            "POLICY",
            "random or pid; a network (.npz); a Python file that defines policy(env) and is executed; the folder of a "
            "LeRobot policy; or HOST:PORT of a policy server. With --table repeatable.",
        ),
    ] = None,
    client: Annotated[
        str | None, option("COMMAND", "Score a program that plays PegTransfer over ROS 2. It is executed.")
    ] = None,
    table: Annotated[bool, flag("Compare policies on tasks: a row per task, level and policy.", "--table")] = False,
    level: Annotated[
        list[str] | None, option("LEVEL", "nominal, 1sigma, 3sigma or real; with --table repeatable. Default: nominal.")
    ] = None,
    count: Count = None,
    seed: Annotated[int, option("K", "First seed.")] = 0,
    settings: Settings = None,
    json_file: Annotated[Path | None, option("FILE", "Write all figures to FILE.", "--json")] = None,
    output: Annotated[
        Path | None,
        option(
            "DIR | FILE",
            "Write a page with all trials to DIR/score.html. With --table: FILE of the episodes as JSON lines; if it "
            "exists, it is continued.",
            "--output",
            "-o",
        ),
    ] = None,
    video: Annotated[bool, flag("Also film the first trial; the default folder is trocar-score.", "--video")] = False,
    view: Annotated[bool, flag("Watch the policy in the browser, episode after episode.", "--view")] = False,
) -> None:
    """Score the expert, a policy or a client on a task.

    Example: [bold]trocar score PegTransfer --policy my_policy.py -n 5 --video[/bold],
    then open trocar-score/score.html in a browser.

    More: [bold]trocar score NeedlePick --policy 127.0.0.1:5555 -n 20 --set rate=30[/bold] (a server with GR00T's
    protocol); [bold]trocar score Reach --policy outputs/train/checkpoints/last -n 20[/bold] (LeRobot,
    which must be installed); [bold]trocar score Reach --policy examples/policies/reach.npz --view[/bold] (watch it);
    [bold]trocar score --table Reach Track -n 100 -o episodes.jsonl[/bold] (random, PID and expert at all levels).

    A policy file has a function policy(env), which is called after every reset and returns another function:
    action = f(observation). A client is a program that plays PegTransfer over the topics of trocar serve contest, which
    this command offers in ROS_DOMAIN_ID; its time begins with its first motion.

    Prints success with its exact 95 % interval (Clopper and Pearson), times, paths, drops and forces; for PegTransfer
    also points, by the rules of the ICRA 2026 competition. Files and commands run with your permissions. Clients
    require cyclonedds: pip install 'trocar\\[ros2]'.
    """
    if not tasks and not table:
        list_tasks()
        return
    count = (TRIALS if client is None else 1) if count is None else count
    if count < 1 or seed < 0:
        raise TrocarError(f"-n must be at least 1 and --seed at least 0, got {count} and {seed}")
    seeds, chosen = range(seed, seed + count), settings_of(settings)
    if table:
        names = [*(policy or []), *["expert"] * expert]
        score_table(tasks or [], names, level or [], seeds, output, json_file, wrist_options(chosen))
        return
    player = Player.chosen(tasks or [], expert, policy or [], client, level or [], chosen)
    if view:
        _watch(player, seed)
        return
    _score(player, seeds, json_file, FOLDER if video and output is None else output, video)


def _score(player: Player, seeds: Sequence[int], json_file: Path | None, folder: Path | None, filmed: bool) -> None:
    """Play all seeds, print and write the result."""
    from trocar.files import check_writable, write_json
    from trocar_learning.envs.score_film import EpisodeFilm
    from trocar_learning.envs.scoring import headings, row, sentence, to_json

    if filmed and player.client is not None:
        raise TrocarError("--video films policies; watch a client with trocar serve contest --view")
    check_writable(json_file, *([] if folder is None else [folder / "score.html", folder / "score.gif"]))
    trials: list[Episode] = []
    film = EpisodeFilm() if filmed else None
    try:
        with progress_bar(f"score {player.task}") as progress, ExitStack() as running:
            play = opened_play(running, player)
            for k, seed in enumerate(seeds):
                first = [film] if film is not None and k == 0 else []
                trials.append(play(seed, partial(_share, progress, k, len(seeds)), *first))
    finally:
        # also after an error: a file of an earlier run must not be mistaken for this one's
        if json_file is not None:
            write_json(json_file, to_json(player.task, player.name, player.level, trials))
    columns = [heading.replace("[", r"\[") for heading in headings(trials)]  # no markup
    show_table(f"{player.task}: {player.name}, {player.level}", columns, [row(trial) for trial in trials], left=(1,))
    typer.echo(f"{player.task}: {sentence(trials)}")
    written = [] if json_file is None else [json_file]
    if folder is not None:
        written += _write_page(folder, player, trials, film)
    show_written(written)


def _share(progress: Callable[[float], None], done: int, count: int, share: float) -> None:
    """Report a share of one of several trials as progress of all."""
    progress((done + share) / count)


def _watch(player: Player, seed: int) -> None:
    """Show a policy on its task, episode after episode, until Ctrl-C."""
    from trocar.commands.pages import VIEW, open_page, wait_for_end
    from trocar_learning.view.policy_run import PolicyRun

    with VIEW.needed():
        from trocar_learning.view.pages import policy_page
    if player.client is not None:
        raise TrocarError("--view shows policies; watch a client with trocar serve contest --view")
    with ExitStack() as running:
        env, policy_of = opened_player(running, player)
        run = PolicyRun(env, policy_of, seed)
        running.callback(run.close)
        title = f"{player.task}: {player.name}, {player.level}"
        page = open_page(running, partial(policy_page, run=run, title=title))
        run.start()
        wait_for_end(page, "trocar score")


def _write_page(folder: Path, player: Player, trials: Sequence[Episode], film: EpisodeFilm | None) -> list[Path]:
    from trocar_learning.envs.score_report import score_report

    about: Any = {"task": player.task, "policy": player.name, "level": player.level, "trials": trials}
    if film is None:
        return [score_report(**about).write_html(folder / "score.html")]
    clip = film.save(folder / "score.gif")
    caption = f"Seed {trials[0].seed}, {film.speed:.3g} times real time."
    return [score_report(**about, film=clip, caption=caption).write_html(folder / "score.html"), clip]
