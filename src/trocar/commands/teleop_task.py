"""`trocar teleop --task TASK --record DIR`: episodes of a person in a task, as a data set."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from trocar.commands.options import pixels
from trocar.commands.teleop_live import NPZ, POLL_INTERVAL, PageOptions
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.envs.live_task import LiveTask
    from trocar.episodes.person import PersonSession
    from trocar.teleoperation.devices import DeviceConsole, InputDevice

LIMIT = 120.0  # longest time of an episode [s]


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """Options of the episodes, as the command line gives them."""

    task: str
    seed: int
    stereo: str | None
    limit: float | None
    count: int = 10
    format: str = "lerobot3"
    fps: int = 50

    def recipe(self) -> Any:
        """The recipe of the data set."""
        from trocar.episodes import EpisodeRecipe
        from trocar.episodes.recipe import usual_pictures

        size = None if self.stereo is None else pixels("--stereo", self.stereo)
        more: Any = {"policy": "person", "recovery": 0.0, "size": size, "fps": self.fps}
        more["pictures"] = usual_pictures(self.format)
        return EpisodeRecipe(task=self.task, count=self.count, seed=self.seed, format=self.format, **more)


def is_data_set(record: Path | None) -> bool:
    """True if --record names a folder for a data set, not a file of a recording."""
    from trocar.recording.bag_file import SUFFIXES

    return record is not None and record.suffix not in (NPZ, *SUFFIXES)


def check_live_task(name: str) -> None:
    """Raise an error unless a task needs no data set."""
    from trocar.envs.registration import TASKS as RECORDED
    from trocar.teleoperation.devices import TASKS

    if name in RECORDED:
        raise TrocarError(f"--task {name} records a data set; name its folder with --record DIR")
    check_known("task", TASKS, name)


def record_person(
    options: TaskOptions,
    folder: Path,
    devices: Sequence[Callable[[], InputDevice]],
    *,
    scale: float,
    delay: float,
    page: PageOptions | None,
) -> None:
    """Record the missing episodes of a data set, and write it when all are there.

    Args:
        devices: open the device of each hand; the first drives the task's first arm. scale, delay: as in
            `DeviceConsole`. page: None for no page.
    """
    from trocar.envs.live_task import LiveTask
    from trocar.episodes.person import PersonSession
    from trocar.teleoperation.devices import DeviceConsole

    with ExitStack() as running:  # ends in the opposite order what was started
        session = running.enter_context(PersonSession(options.recipe(), folder))
        if session.complete:
            typer.echo(f"{folder} holds this data set already; nothing was changed")
            return
        if session.recorded < options.count:
            limit = LIMIT if options.limit is None else options.limit
            task = running.enter_context(LiveTask(options.task, limit=limit, seed=options.seed))
            arms = list(task.env.task.arms)
            if len(devices) > len(arms):
                raise TrocarError(f"the task {options.task} has {len(arms)} arms; give at most as many --master")
            hands = {}
            for arm, opened in zip(arms, devices, strict=False):
                hands[arm] = device = opened()
                running.callback(device.close)
            console = DeviceConsole(task.robot, hands, scale=scale, delay=delay)
            if page is not None:
                page.open(running, "task_page", task, console, lambda: _words(task, session), delay)
            for arm, hand in console.hands.items():
                typer.echo(f"{arm}: {hand.device.name}. {hand.device.help}")
                typer.echo(f"To begin an episode with {arm}, {hand.device.begin}.")
            typer.echo(
                f"{options.count - session.recorded} episodes to record. Ctrl-C discards the current one and ends."
            )
            try:
                while session.recorded < options.count:
                    _episode(task, console, session)
            except KeyboardInterrupt:
                typer.echo("")
        if session.finish():
            typer.echo(f"Written: {folder}, {options.count} episodes")
        else:
            done = f"{session.recorded} of {options.count} episodes are kept in {folder}"
            typer.echo(f"{done}: run the command again to continue, with -n {session.recorded} to end with these")


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
    from trocar.episodes.rollout import instruction_of

    begun = task.time
    state = "waits for your first motion" if begun is None else f"runs for {begun:.1f} s"
    number = min(session.recorded + 1, session.recipe.count)
    return f"{instruction_of(task.env.task)}\nEpisode {number} of {session.recipe.count} {state}"
