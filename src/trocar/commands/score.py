"""`trocar score`: the result of an expert, a policy or a client on a task, with a page and a film."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trocar.commands.options import argument, flag, option, task_name
from trocar.commands.terminal import plain_errors, progress_bar, show_table, show_written
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.envs.policies import PolicyOf
    from trocar.envs.score_film import EpisodeFilm
    from trocar.envs.scoring import ScoredTrial

FOLDER = Path("trocar-score")


@plain_errors()
def score(
    task: Annotated[str, argument("TASK", "Task, such as PegTransfer; trocar bench-tasks --list prints them.")],
    expert: Annotated[bool, flag("Score the scripted expert.", "--expert")] = False,
    policy: Annotated[
        Path | None,
        option("FILE", "Score a policy: a network (.npz), or a Python file that defines policy(env). It is executed."),
    ] = None,
    client: Annotated[
        str | None, option("COMMAND", "Score a program that plays PegTransfer over ROS 2. It is executed.")
    ] = None,
    count: Annotated[int, option("N", "Trials, each with its own seed.", "--count", "-n")] = 1,
    seed: Annotated[int, option("K", "First seed.")] = 0,
    level: Annotated[str, option("LEVEL", "Randomisation: nominal, 1sigma or 3sigma.")] = "nominal",
    json_file: Annotated[Path | None, option("FILE", "Write all figures to FILE.", "--json")] = None,
    report: Annotated[Path | None, option("DIR", "Write a page with all trials to DIR/score.html.")] = None,
    domain: Annotated[
        int | None, option("N", "With --client: domain of ROS 2, 0 to 101. Default: ROS_DOMAIN_ID or 0.")
    ] = None,
    images: Annotated[float | None, option("HZ", "With --client: rate of the images; 0: none. Default: 30.")] = None,
    image_size: Annotated[str | None, option("WxH", "With --client: size of the images. Default: 1280x800.")] = None,
    video: Annotated[
        bool, flag("Also film the first trial; the page's default folder is trocar-score.", "--video")
    ] = False,
) -> None:
    """Score the expert, a policy or a client on a task.

    Example: [bold]trocar score PegTransfer --policy my_policy.py -n 5 --video[/bold],
    then open trocar-score/score.html in a browser.

    A policy is a Python file with a function policy(env), which is called after every reset and returns another
    function: action = f(observation); or a learned network (.npz), which is data. A client is a program that plays
    PegTransfer over the topics of trocar serve peg_transfer --ros2, which this command offers in ROS_DOMAIN_ID; its
    time begins with its first motion.

    Prints success with its exact 95 % interval (Clopper and Pearson), times, paths, drops and forces; for PegTransfer
    also points, by the rules of the ICRA 2026 competition. The file and the command run with your permissions.
    Requires gymnasium: pip install 'trocar\\[envs]'; clients also cyclonedds: 'trocar\\[ros2]'.
    """
    from trocar.envs import LEVELS
    from trocar.envs.scoring import headings, row, sentence, to_json
    from trocar.files import check_writable, write_json

    name = task_name(task)
    if expert + (policy is not None) + (client is not None) != 1:
        raise TrocarError("choose one of --expert, --policy FILE and --client COMMAND")
    if count < 1 or seed < 0:
        raise TrocarError(f"-n must be at least 1 and --seed at least 0, got {count} and {seed}")
    check_known("level of randomisation", LEVELS, level)
    if client is not None:
        number = _checked_client(name, level, video, domain)
    elif (images, image_size, domain) != (None, None, None):
        raise TrocarError("--images, --image-size and --domain go with --client")
    folder = FOLDER if video and report is None else report
    check_writable(json_file, *([] if folder is None else [folder / "score.html", folder / "score.gif"]))
    player, seeds = "expert" if expert else str(policy or client), range(seed, seed + count)
    trials: list[ScoredTrial] = []
    film: EpisodeFilm | None = None
    try:
        with progress_bar(f"score {name}") as progress:
            if client is None:
                film = _play(name, policy, level, seeds, video, trials, progress)
            else:
                _referee(client, seeds, number, (images, image_size), trials, progress)
    finally:
        # also after an error: a file of an earlier run must not be mistaken for this one's
        if json_file is not None:
            write_json(json_file, to_json(name, player, level, trials))
    columns = [heading.replace("[", r"\[") for heading in headings(trials)]  # no markup
    show_table(f"{name}: {player}, {level}", columns, [row(trial) for trial in trials], left=(1,))
    typer.echo(f"{name}: {sentence(trials)}")
    written = [] if json_file is None else [json_file]
    if folder is not None:
        written += _write_page(folder, name, player, level, trials, film)
    show_written(written)


def _checked_client(task: str, level: str, filmed: bool, domain: int | None) -> int:
    """The domain of ROS 2 for a client; options that do not go with one raise an error."""
    from trocar.transports.ros2.domain import check_installed, chosen_domain

    if task != "PegTransfer":
        raise TrocarError(f"--client plays PegTransfer, got {task}; score other tasks with --expert or --policy")
    if level != "nominal":
        raise TrocarError(f"--client plays the nominal robot, got --level {level}")
    if filmed:
        raise TrocarError("--video goes with --expert and --policy; watch a client with trocar serve ... --view")
    check_installed()
    return chosen_domain(domain)


def _referee(
    command: str,
    seeds: Sequence[int],
    domain: int,
    images: tuple[float | None, str | None],
    trials: list[ScoredTrial],
    progress: Callable[[float], None],
) -> None:
    """Run a client on all seeds and append the trials."""
    from trocar.commands.contest import client_trial

    for seed in seeds:
        trials.append(
            client_trial(command, seed, domain, images, lambda share: progress((len(trials) + share) / len(seeds)))
        )


def _play(
    name: str,
    policy: Path | None,
    level: str,
    seeds: Sequence[int],
    filmed: bool,
    trials: list[ScoredTrial],
    progress: Callable[[float], None],
) -> EpisodeFilm | None:
    """Play all seeds in process and append the trials; returns the film of the first."""
    from trocar.envs import TaskEnv, make_task
    from trocar.envs.policies import environment_options, load_policy
    from trocar.envs.score_film import EpisodeFilm
    from trocar.envs.scoring import play

    policy_of: PolicyOf = TaskEnv.expert if policy is None else load_policy(policy)
    env = make_task(name, level=level, **environment_options(policy_of))
    film = EpisodeFilm(env.task.duration) if filmed else None

    def watch(env: TaskEnv) -> None:
        progress((len(trials) + min(env.world.time / env.task.duration, 1.0)) / len(seeds))
        if film is not None and not trials:
            film(env)

    for seed in seeds:
        trials.append(play(env, policy_of, seed, watch))
    return film


def _write_page(
    folder: Path, task: str, player: str, level: str, trials: Sequence[ScoredTrial], film: EpisodeFilm | None
) -> list[Path]:
    from trocar.envs.score_report import score_report

    if film is None:
        return [score_report(task, player, level, trials).write_html(folder / "score.html")]
    clip = film.save(folder / "score.gif")
    caption = f"Seed {trials[0].seed}, {film.speed:.3g} times real time."
    return [score_report(task, player, level, trials, clip, caption).write_html(folder / "score.html"), clip]
