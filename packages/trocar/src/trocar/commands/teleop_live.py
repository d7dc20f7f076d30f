"""A run of `trocar teleop` on a live robot: devices, page and recordings, until Ctrl-C or for a given time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import trocar as tr
from trocar.commands.masters import ChosenMasters
from trocar.commands.pages import VIEW, show_page
from trocar.commands.robot_scene import attended
from trocar.commands.teleop_tracked import serve_tracked
from trocar.commands.terminal import show_written
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable, write_json

if TYPE_CHECKING:
    from trocar.teleoperation.devices import DeviceConsole, MotionLog
    from trocar.view.panels.endoscope import EndoscopeRenderer

POLL_INTERVAL = 5e-3  # real time between two readings of the devices [s]
NPZ = ".npz"


@dataclass(frozen=True, kw_only=True)
class LiveOptions:
    """Options of a live run, checked.

    Attributes:
        masters: the devices. arms, scales: the PSM of each, and its motion per motion of the hand.
        delay: one-way delay [s].
        duration: by the robot's clock [s]; None until Ctrl-C. record: file or folder of recordings.
        page: serve a page. json_file: figures of every PSM.
    """

    masters: ChosenMasters
    arms: Sequence[str]
    task: str
    seed: int
    scales: Sequence[float]
    delay: float
    scheme: str | None
    passivity: str
    duration: float | None
    record: Path | None
    page: bool
    json_file: Path | None


def run_live(options: LiveOptions) -> None:
    """Teleoperate until the end, then print figures of every PSM and write the recordings."""
    from trocar.teleoperation.devices import DeviceConsole, MotionLog, RunMetrics, training_scene

    record = options.record
    with ExitStack() as running:  # ends in the opposite order what was started
        openers = options.masters.openers(running)
        scene = training_scene(tuple(options.arms), options.task, seed=options.seed)
        devices = {}
        for psm, opened in zip(options.arms, openers, strict=True):
            devices[psm] = device = opened()
            running.callback(device.close)
        robot = running.enter_context(tr.Robot(scene, start="ready", speed="real"))
        referee = attended(running, robot, options.task)
        coupled: Any = {"scheme": options.scheme, "passivity": options.passivity}
        coupled["scale"] = dict(zip(options.arms, options.scales, strict=True))
        console = DeviceConsole(robot, devices, delay=options.delay, **coupled)
        log = MotionLog(robot, console)
        if record is not None and _is_bag(record):
            _record_bag(running, robot, console, record)
        endoscope = _open_page(running, robot, console, options, referee) if options.page else None
        for psm, hand in console.hands.items():
            typer.echo(f"{psm}: {hand.device.name}. {hand.device.help}")
            typer.echo(f"To begin with {psm}, {hand.device.begin}.")
        if options.masters.tracked is not None:
            serve_tracked(running, console, endoscope, *options.masters.tracked)
        typer.echo(f"One-way delay of the network: {1e3 * options.delay:g} ms. End with Ctrl-C.")
        _drive(robot, console, options.duration)
        if referee is not None:
            typer.echo(f"Score: {referee}")
        metrics = {psm: RunMetrics.of_recording(recording) for psm, recording in log.recordings().items()}
        for psm, figures in metrics.items():
            typer.echo(f"{psm}: {figures}")
        written = [] if record is None else _saved(log, record)
        if options.json_file is not None:
            written.append(write_json(options.json_file, {psm: asdict(figures) for psm, figures in metrics.items()}))
        show_written(written)


def _is_bag(record: Path) -> bool:
    from trocar.recording.bag_file import SUFFIXES

    return record.suffix in SUFFIXES


def _saved(log: MotionLog, record: Path) -> list[Path]:
    """Recordings of the PSMs in a file or a folder; a bag is written while it runs."""
    if _is_bag(record):
        return []
    return log.save_as(record) if record.suffix == NPZ else log.save(record)


def checked_arms(arms: Sequence[str], masters: int) -> Sequence[str]:
    """A PSM for each master. Default: PSM1, then PSM2."""
    from trocar.teleoperation.devices.practice import PSMS

    arms = arms or PSMS[:masters]
    check_known("arm", PSMS, *arms)
    if len(set(arms)) != len(arms) or len(arms) != masters:
        raise TrocarError(f"give one --arm for each --master, got {masters} and {', '.join(arms)}")
    return arms


def check_files(record: Path | None, arms: Sequence[str]) -> None:
    """Raise an error unless recordings of these PSMs can be written."""
    from trocar.teleoperation.devices.device_console import named

    if record is None or _is_bag(record):
        return
    if record.suffix == NPZ:
        check_writable(*(named(record, arm, len(arms)) for arm in arms))
    elif record.suffix:
        raise TrocarError(f"--record takes FILE.npz, .bag, .mcap or .db3, or a folder; got {record}")
    else:
        check_writable(*(record / f"{arm}.npz" for arm in arms))


def _record_bag(running: ExitStack, robot: tr.Robot, console: DeviceConsole, path: Path) -> None:
    from trocar.teleoperation.devices import pair_topics
    from trocar.transports.bags import BagRecorder

    pairs = [(master, psm) for psm, master in console.masters.items()]
    recorder = BagRecorder(robot, path, pair_topics(robot, pairs))
    running.callback(lambda: typer.echo(f"{recorder.close()}: {recorder.count} messages"))


def _open_page(
    running: ExitStack, robot: tr.Robot, console: DeviceConsole, options: LiveOptions, referee: object | None
) -> EndoscopeRenderer:
    with VIEW.needed():
        from trocar.view.pages import teleop_page
        from trocar.view.panels.endoscope import EndoscopePanel
    from trocar.simulation.scene_file import named_scene
    from trocar.teleoperation.devices import TASKS

    named = named_scene(options.task)
    aim = TASKS[options.task] if named is None else named.aim
    idle = {name for name, kind in robot.devices.items() if kind == "PSM"} - set(console.pairs)
    if idle:
        aim += f"; no hand drives {', '.join(sorted(idle))}: start again with another --master"
    score = None if referee is None else referee.__str__
    shown: Any = {"delay": options.delay, "aim": aim, "score": score}
    page = show_page(running, partial(teleop_page, robot=robot, console=console, **shown))
    return page.panel(EndoscopePanel).renderer


def _drive(robot: tr.Robot, console: DeviceConsole, duration: float | None) -> None:
    """Poll the devices until Ctrl-C or for a time by the robot's clock [s]; print each new error or warning."""
    console.start()
    printed, begun = "", robot.time
    try:
        while duration is None or robot.time - begun < duration:
            console.poll()
            latest = next((m for m in reversed(list(console.messages)) if m.kind != "status"), None)
            if latest is not None and latest.text != printed:
                typer.echo(f"{latest.kind}: {latest.text}", err=True)
                printed = latest.text
            if robot.error is not None:
                raise TrocarError(f"the simulation has ended: {robot.error!r}")
            time.sleep(POLL_INTERVAL)
    except KeyboardInterrupt:
        typer.echo("")
