"""`trocar teleop record`: episodes of a person in a task, as a data set."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trocar.commands.masters import chosen_masters
from trocar.commands.options import argument, check_positive, flag, option, pixels
from trocar.commands.pages import VIEW, show_page
from trocar.commands.teleop import Delay, Masters, Scale, checked_delay, checked_scales
from trocar.commands.teleop_live import POLL_INTERVAL
from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError
from trocar_learning.commands.record import FORMATS
from trocar_learning.commands.task_names import task_name

if TYPE_CHECKING:
    from trocar.teleoperation.devices import DeviceConsole, InputDevice
    from trocar_learning.envs.live_task import LiveTask
    from trocar_learning.episodes.person import PersonSession

LIMIT = 120.0  # longest time of an episode [s]


@plain_errors("the finished episodes are kept: run it again with the same options to continue")
def record(
    task: Annotated[str, argument("TASK", "Task of trocar record, such as NeedlePick.")],
    output: Annotated[
        Path, option("DIR", "Folder for the data set; an interrupted one is continued.", "-o", "--output")
    ],
    master: Masters = None,
    scale: Scale = None,
    delay: Delay = 0.0,
    count: Annotated[int, option("N", "Episodes.", "--count", "-n")] = 10,
    seed: Annotated[int, option("K", "Seed of the first episode; the others follow.")] = 0,
    limit: Annotated[float, option("S", "Longest time of an episode.", "--duration")] = LIMIT,
    format: Annotated[str, option("FORMAT", FORMATS)] = "lerobot3",
    stereo: Annotated[str | None, option("WxH", "Record stereo pictures, for example 640x480.")] = None,
    fps: Annotated[int, option("N", "Frames per second, at most 50.")] = 50,
    page: Annotated[bool, flag("Serve a page with the task.", "--page/--no-page")] = True,
) -> None:
    """Record your own episodes of a task as a data set, by teleoperation.

    Example: [bold]trocar teleop record NeedlePick --master keyboard -o demos -n 20 --stereo 640x480[/bold]

    State and action have the names of Open-H, as in [bold]trocar record[/bold]. An interrupted recording continues;
    Ctrl-C discards the current episode.
    """
    from trocar_learning.episodes import EpisodeRecipe
    from trocar_learning.episodes.recipe import usual_pictures

    name = task_name(task)
    chosen = chosen_masters(master or ["keyboard"], page=page)
    if any(kind.tracked for kind in chosen.kinds) or any(":" in text for text in chosen.names):
        raise TrocarError("a data set is recorded with the devices of this machine")
    check_positive(duration=limit)
    if seed < 0:
        raise TrocarError(f"--seed must be at least 0, got {seed}")
    scales, seconds = checked_scales(scale, [kind.scale for kind in chosen.kinds]), checked_delay(delay)
    size = None if stereo is None else pixels("--stereo", stereo)
    person: Any = {"policy": "person", "recovery": 0.0, "pictures": usual_pictures(format)}
    recipe = EpisodeRecipe(task=name, count=count, seed=seed, format=format, size=size, fps=fps, **person)
    with ExitStack() as running:  # ends in the opposite order what was started
        devices = chosen.openers(running)
        record_person(running, recipe, output, devices, limit=limit, scales=scales, delay=seconds, page=page)


def record_person(
    running: ExitStack,
    recipe: Any,
    folder: Path,
    devices: Sequence[Callable[[], InputDevice]],
    *,
    limit: float,
    scales: Sequence[float],
    delay: float,
    page: bool,
) -> None:
    """Record the missing episodes of a data set, and write it when all are there.

    Args:
        devices: open the device of each hand; the first drives the task's first arm. limit: of an episode [s].
        scales: of each hand. delay: as in `DeviceConsole`.
    """
    from trocar_learning.envs.live_task import LiveTask
    from trocar_learning.episodes.person import PersonSession

    session = running.enter_context(PersonSession(recipe, folder))
    if session.complete:
        typer.echo(f"{folder} holds this data set already; nothing was changed")
        return
    if session.recorded < recipe.count:
        task = running.enter_context(LiveTask(recipe.task, limit=limit, seed=recipe.seed))
        console = _console(running, task, devices, scales, delay)
        if page:
            with VIEW.needed():
                from trocar_learning.view.pages import task_page
            words = partial(_words, task, session)
            show_page(running, partial(task_page, task=task, console=console, words=words, delay=delay))
        for arm, hand in console.hands.items():
            typer.echo(f"{arm}: {hand.device.name}. {hand.device.help}")
            typer.echo(f"To begin an episode with {arm}, {hand.device.begin}.")
        typer.echo(f"{recipe.count - session.recorded} episodes to record. Ctrl-C discards the current one and ends.")
        try:
            while session.recorded < recipe.count:
                _episode(task, console, session)
        except KeyboardInterrupt:
            typer.echo("")
    if session.finish():
        typer.echo(f"Written: {folder}, {recipe.count} episodes")
    else:
        done = f"{session.recorded} of {recipe.count} episodes are kept in {folder}"
        typer.echo(f"{done}: run the command again to continue, with -n {session.recorded} to end with these")


def _console(
    running: ExitStack,
    task: LiveTask,
    devices: Sequence[Callable[[], InputDevice]],
    scales: Sequence[float],
    delay: float,
) -> DeviceConsole:
    """The console of a task's arms and the devices that drive them."""
    from trocar.teleoperation.devices import DeviceConsole

    arms = list(task.env.task.arms)
    if len(devices) > len(arms):
        raise TrocarError(f"the task has {len(arms)} arms; give at most as many --master")
    hands = {}
    for arm, opened in zip(arms, devices, strict=False):
        hands[arm] = device = opened()
        running.callback(device.close)
    return DeviceConsole(task.robot, hands, scale=dict(zip(hands, scales, strict=True)), delay=delay)


def _episode(task: LiveTask, console: DeviceConsole, session: PersonSession) -> None:
    """Let the person play one episode and stage it."""
    number = session.recorded
    rows: list[Any] = []

    def rows_of(env: Any) -> Any:
        rows.append(session.rows(env))
        return rows[0]

    task.robot.console().teleop_stop()
    task.begin(session.recipe.seed + number, rows_of)
    console.start()
    while task.info is None:
        console.poll()
        if task.robot.error is not None:
            raise TrocarError(f"the simulation has ended: {task.robot.error!r}")
        time.sleep(POLL_INTERVAL)
    task.robot.pause()
    result = session.add(task, rows[0])
    word = "success" if result.group != "failure" else "failure"
    typer.echo(f"Episode {number + 1} of {session.recipe.count}: {word}, {result.frames} frames")


def _words(task: LiveTask, session: PersonSession) -> str:
    """State of the episode for the page."""
    from trocar_learning.episodes.rollout import instruction_of

    begun = task.time
    state = "waits for your first motion" if begun is None else f"runs for {begun:.1f} s"
    number = min(session.recorded + 1, session.recipe.count)
    return f"{instruction_of(task.env.task)}\nEpisode {number} of {session.recipe.count} {state}"
