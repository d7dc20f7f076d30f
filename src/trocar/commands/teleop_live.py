"""The live part of `trocar teleop`: devices, robot, page and recording, until Ctrl-C or for a given time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trocar.commands.options import check_positive
from trocar.commands.terminal import show_written
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.robot import Robot
    from trocar.teleoperation.devices import DeviceConsole, InputDevice
    from trocar.view.panels.endoscope import EndoscopeRenderer

POLL_INTERVAL = 5e-3  # real time between two readings of the devices [s]
MAX_DELAY = 5000.0  # [ms]
NPZ = ".npz"
COUNTS = {1: "once", 2: "twice"}


@dataclass(frozen=True, kw_only=True)
class TeleopOptions:
    """Options of the live part.

    Attributes:
        masters, arms: names, one arm for each master. scale: None for the default. delay: [ms]. duration: [s].
        folder: for recordings of the PSMs. record: file for a recording of all pairs.
        host, device_port: of the server of phones and headsets.
        port, page, browser: of the page with the endoscope's picture.
    """

    masters: Sequence[str]
    arms: Sequence[str] = ()
    scale: float | None = None
    delay: float = 0.0
    task: str = "practice"
    duration: float | None = None
    folder: Path | None = None
    record: Path | None = None
    host: str | None = None
    device_port: int | None = None
    port: int = 8080
    page: bool = True
    browser: bool = True

    def checked(self) -> TeleopOptions:
        """A copy with all defaults filled in; raises an error if the options do not go together."""
        from trocar.teleoperation.devices import DEVICES, TASKS
        from trocar.teleoperation.devices.practice import PSMS

        masters = self.masters
        check_known("master", DEVICES, *masters)
        check_known("task", TASKS, self.task)
        arms = list(self.arms) or list(PSMS[: len(masters)])
        check_known("arm", PSMS, *arms)
        if len(set(arms)) != len(arms) or len(arms) != len(masters):
            raise TrocarError(f"give one --arm for each --master, got {len(masters)} and {', '.join(arms)}")
        kinds = {master: DEVICES[master] for master in masters}
        scale = max(kind.scale for kind in kinds.values()) if self.scale is None else self.scale
        if not (math.isfinite(scale) and 0 < scale <= 1):
            raise TrocarError(f"--scale must be above 0 and at most 1, got {scale}")
        if not 0 <= self.delay <= MAX_DELAY:
            raise TrocarError(f"--delay must be 0 to {MAX_DELAY:g} ms, got {self.delay}")
        if self.duration is not None:
            check_positive(duration=self.duration)
        elif not self.page:
            raise TrocarError("--no-page needs --duration: there is nothing to look at")
        for master, kind in kinds.items():
            if kind.in_page and not self.page:
                raise TrocarError(f"--master {master} is a part of the page: leave out --no-page")
            if kind.max_count is not None and masters.count(master) > kind.max_count:
                raise TrocarError(f"--master {master} can be given {COUNTS[kind.max_count]}")
        if not any(kind.tracked for kind in kinds.values()) and (self.host, self.device_port) != (None, None):
            raise TrocarError("--host and --device-port are for --master phone or vr")
        if self.folder is not None:
            from trocar.files import check_writable

            check_writable(*(self.folder / f"{arm}.npz" for arm in arms))
        if self.record is not None:
            _check_record(self.record, arms)
        return replace(self, arms=arms, scale=scale)


def drive(options: TeleopOptions) -> None:
    """Teleoperate a simulated robot with devices, one for each PSM, until Ctrl-C or for a given time."""
    options = options.checked()
    from trocar.teleoperation.devices import DEVICES

    masters = options.masters
    with ExitStack() as running:  # ends in the opposite order what was started
        devices: dict[str, InputDevice] = {}
        for k, (arm, master) in enumerate(zip(options.arms, masters, strict=True)):
            devices[arm] = device = DEVICES[master].open(masters[:k].count(master))
            running.callback(device.close)
        _run(running, devices, options)


def _run(running: ExitStack, devices: dict[str, InputDevice], options: TeleopOptions) -> None:
    from trocar.robot import Robot
    from trocar.teleoperation.devices import DEVICES, DeviceConsole, MotionLog, training_scene

    delay = 1e-3 * options.delay
    assert options.scale is not None
    robot = running.enter_context(Robot(training_scene(tuple(devices), options.task), start="ready", speed="real"))
    console = DeviceConsole(robot, devices, scale=options.scale, delay=delay)
    table = options.record if options.record is not None and options.record.suffix == NPZ else None
    log = None if options.folder is None and table is None else MotionLog(robot, console)
    if options.record is not None and table is None:
        _record_bag(running, robot, console, options.record)
    endoscope = None
    if options.page:
        endoscope = _open_page(running, robot, console, delay, options.port, options.browser)
    for psm, hand in console.hands.items():
        typer.echo(f"{psm}: {hand.device.name}. {hand.device.help}")
    if any(DEVICES[master].tracked for master in options.masters):
        from trocar.commands.teleop_tracked import serve_tracked

        serve_tracked(running, console, endoscope, options.host, options.device_port)
    typer.echo("Pinch to begin: close the gripper and open it. End with Ctrl-C.")
    console.start()
    printed = ""
    try:
        begun = robot.time
        while options.duration is None or robot.time - begun < options.duration:
            console.poll()
            printed = _print_latest(console, printed)
            if robot.error is not None:
                raise TrocarError(f"the simulation has ended: {robot.error!r}")
            time.sleep(POLL_INTERVAL)
    except KeyboardInterrupt:
        typer.echo("")
    if log is not None:
        written = [] if options.folder is None else log.save(options.folder)
        show_written(written + ([] if table is None else log.save_as(table)))


def _check_record(path: Path, arms: Sequence[str]) -> None:
    """Raise an error unless a recording of these PSMs can be written to a path."""
    from trocar.files import check_writable
    from trocar.recording.bag_file import SUFFIXES
    from trocar.teleoperation.devices.motion_log import named

    if path.suffix == NPZ:
        check_writable(*(named(path, arm, len(arms)) for arm in arms))
    elif path.suffix not in SUFFIXES:
        raise TrocarError(f"--record takes FILE.npz, .bag, .mcap or .db3, got {path}")


def _record_bag(running: ExitStack, robot: Robot, console: DeviceConsole, path: Path) -> None:
    """Record the pairs of a console to a bag until the end."""
    from trocar.teleoperation.devices import pair_topics
    from trocar.transports.bags import BagRecorder

    pairs = [(master, psm) for psm, master in console.masters.items()]
    recorder = BagRecorder(robot, path, pair_topics(robot, pairs))
    running.callback(lambda: typer.echo(f"{recorder.close()}: {recorder.count} messages"))


def _print_latest(console: DeviceConsole, printed: str) -> str:
    """Print the latest error or warning unless it was printed last; returns the text printed last."""
    for message in reversed(list(console.messages)):
        if message.kind != "status":
            if message.text != printed:
                typer.echo(f"{message.kind}: {message.text}", err=True)
            return message.text
    return printed


def _open_page(
    running: ExitStack, robot: Robot, console: DeviceConsole, delay: float, port: int, browser: bool
) -> EndoscopeRenderer:
    from trocar.commands.view import open_page

    page = open_page(running, "teleop_page", robot, console, delay, port=port)
    from trocar.view.panels.endoscope import EndoscopePanel
    from trocar.view.server import open_browser

    typer.echo(f"Page: {page.address}")
    if browser:
        open_browser(page.address)
    return page.panel(EndoscopePanel).renderer
