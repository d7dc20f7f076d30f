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
    from trocar.teleoperation.devices import Device, DeviceConsole
    from trocar.view.endoscope import EndoscopeRenderer

TRACKED = ("phone", "vr")  # masters that a network carries
MASTERS = ("gamepad", "spacemouse", "keyboard", "mouse", *TRACKED, "scripted")
POLLING = 5e-3  # real time between two readings of the devices [s]
LONGEST_DELAY = 5000.0  # [ms]
NPZ = ".npz"
ARMS = ("PSM1", "PSM2", "PSM3")


@dataclass(frozen=True, kw_only=True)
class Live:
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

    def checked(self) -> Live:
        """A copy with all defaults filled in; raises an error if the options do not go together."""
        from trocar.teleoperation.devices import TASKS

        masters, page = self.masters, self.page
        check_known("master", MASTERS, *masters)
        check_known("task", TASKS, self.task)
        arms = list(self.arms) or list(ARMS[: len(masters)])
        check_known("arm", ARMS, *arms)
        if len(set(arms)) != len(arms) or len(arms) != len(masters):
            raise TrocarError(f"give one --arm for each --master, got {len(masters)} and {', '.join(arms)}")
        scale = self.scale
        if scale is None:
            scale = 1.0 if "mouse" in masters else 0.2  # a handle that is dragged takes the tip along
        if not (math.isfinite(scale) and 0 < scale <= 1):
            raise TrocarError(f"--scale must be above 0 and at most 1, got {scale}")
        if not 0 <= self.delay <= LONGEST_DELAY:
            raise TrocarError(f"--delay must be 0 to {LONGEST_DELAY:g} ms, got {self.delay}")
        if self.duration is not None:
            check_positive(duration=self.duration)
        elif not page:
            raise TrocarError("--no-page needs --duration: there is nothing to look at")
        for master in {"keyboard", "mouse"} & set(masters):
            if not page:
                raise TrocarError(f"--master {master} is a part of the page: leave out --no-page")
        if not set(masters) & set(TRACKED) and (self.host, self.device_port) != (None, None):
            raise TrocarError("--host and --device-port are for --master phone or vr")
        if self.folder is not None:
            from trocar.files import check_writable

            check_writable(*(self.folder / f"{arm}.npz" for arm in arms))
        if self.record is not None:
            _check_record(self.record, arms)
        return replace(self, arms=arms, scale=scale)


def drive(options: Live) -> None:
    """Teleoperate a simulated robot with devices, one for each PSM, until Ctrl-C or for a given time."""
    options = options.checked()
    masters = options.masters
    with ExitStack() as running:  # what was started is ended in the opposite order
        devices: dict[str, Device] = {}
        for k, (arm, master) in enumerate(zip(options.arms, masters, strict=True)):
            devices[arm] = device = _device(master, masters[:k].count(master))
            running.callback(device.close)
        _run(running, devices, options)


def _device(master: str, index: int) -> Device:
    """The device of a name; index: among those of the same kind."""
    from trocar.teleoperation.devices import Gamepad, Keyboard, Mouse, Scripted, SpaceMouse

    if master == "gamepad":
        return Gamepad(index)
    if master == "spacemouse":
        return SpaceMouse(index)
    if master in TRACKED:
        from trocar.commands.teleop_tracked import tracked_hand

        return tracked_hand(master, index)
    if index:
        raise TrocarError(f"--master {master} can be given once")
    others: dict[str, type[Device]] = {"keyboard": Keyboard, "mouse": Mouse, "scripted": Scripted}
    return others[master]()


def _run(running: ExitStack, devices: dict[str, Device], options: Live) -> None:
    from trocar.robot import Robot
    from trocar.teleoperation.devices import DeviceConsole, MotionLog, training_scene

    arms, delay = tuple(devices), 1e-3 * options.delay
    assert options.scale is not None
    robot = running.enter_context(Robot(training_scene(arms, options.task), start="ready", speed="real"))
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
    if set(options.masters) & set(TRACKED):
        from trocar.commands.teleop_tracked import serve_tracked

        serve_tracked(running, console, endoscope, options.host, options.device_port)
    typer.echo("Pinch to begin: close the gripper and open it. End with Ctrl-C.")
    console.start()
    told = ""
    try:
        begun = robot.time
        while options.duration is None or robot.time - begun < options.duration:
            console.poll()
            told = _tell(console, told)
            if robot.error is not None:
                raise TrocarError(f"the simulation has ended: {robot.error!r}")
            time.sleep(POLLING)
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

    def finish() -> None:
        typer.echo(f"{recorder.close()}: {recorder.count} messages")

    running.callback(finish)


def _tell(console: DeviceConsole, told: str) -> str:
    """Print the latest error or warning unless it was the last one told; returns what was told last."""
    for said in reversed(list(console.messages)):
        if said.kind != "status":
            if said.text != told:
                typer.echo(f"{said.kind}: {said.text}", err=True)
            return said.text
    return told


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
