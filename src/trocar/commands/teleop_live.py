"""A run of `trocar teleop` on a live robot: devices, page and recordings, until Ctrl-C or for a given time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import trocar as tr
from trocar.commands.contest import CONTEST
from trocar.commands.options import connected
from trocar.commands.teleop_tracked import TRACKED_HOST, serve_tracked
from trocar.commands.terminal import show_written
from trocar.commands.view import open_page
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable

if TYPE_CHECKING:
    from trocar.teleoperation.devices import DeviceConsole, DeviceKind, InputDevice
    from trocar.transports.remote_bus import RemoteBus
    from trocar.view.page import Page
    from trocar.view.panels.endoscope import EndoscopeRenderer

POLL_INTERVAL = 5e-3  # real time between two readings of the devices [s]
NPZ = ".npz"
CRTK = "crtk:"  # of a master in ROS, before its name


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Options of the page: its port, and whether a browser opens it."""

    port: int
    browser: bool

    def open(self, running: ExitStack, kind: str, *arguments: Any) -> Page:
        """A page of `view.pages`, whose address is printed."""
        page = open_page(running, kind, *arguments, port=self.port)
        from trocar.view.server import open_browser

        typer.echo(f"Page: {page.address}")
        if self.browser:
            open_browser(page.address)
        return page


@dataclass(frozen=True, kw_only=True)
class RosOptions:
    """Options of masters in ROS, as the command line gives them."""

    ros1: bool
    ros2: bool
    master: str | None
    domain: int | None
    interface: str
    allow_motion: bool


@dataclass(frozen=True, kw_only=True)
class LiveOptions:
    """Options of a live run, checked.

    Attributes:
        masters, kinds: name and kind of every device. arms: the PSM of each. delay: one-way delay [ms].
        duration: by the robot's clock [s]; None until Ctrl-C. folder, record: files of recordings.
        page: None for no page. tracked: host and port of the server of phones and headsets; None for none.
    """

    masters: Sequence[str]
    kinds: Sequence[DeviceKind]
    arms: Sequence[str]
    task: str
    seed: int
    scale: float
    delay: float
    scheme: str | None
    passivity: str
    duration: float | None
    folder: Path | None
    record: Path | None
    page: PageOptions | None
    tracked: tuple[str | None, int | None] | None
    ros: RosOptions


def run_live(options: LiveOptions) -> None:
    """Teleoperate until the end, then print figures of every PSM and write the recordings."""
    from trocar.robot.contest import ContestTrial, score_line
    from trocar.teleoperation.devices import DeviceConsole, MotionLog, RunMetrics, training_scene

    masters, kinds, delay, record = options.masters, options.kinds, 1e-3 * options.delay, options.record
    with ExitStack() as running:  # ends in the opposite order what was started
        if any(name.startswith(CRTK) for name in masters):
            ros = options.ros
            system = running.enter_context(connected(ros.ros1, ros.master, ros.ros2, ros.domain, ros.interface))
            kinds = [
                _crtk_kind(name, system, ros.allow_motion, kind) for name, kind in zip(masters, kinds, strict=True)
            ]
        scene = training_scene(tuple(options.arms), options.task, seed=options.seed)
        devices = {}
        for psm, opened in zip(options.arms, device_openers(masters, kinds), strict=True):
            devices[psm] = device = opened()
            running.callback(device.close)
        robot = running.enter_context(tr.Robot(scene, start="ready", speed="real"))
        trial = running.enter_context(ContestTrial(robot)) if options.task == CONTEST else None
        coupled: Any = {"scheme": options.scheme, "passivity": options.passivity}
        console = DeviceConsole(robot, devices, scale=options.scale, delay=delay, **coupled)
        table = record if record is not None and record.suffix == NPZ else None
        log = MotionLog(robot, console)
        if record is not None and table is None:
            _record_bag(running, robot, console, record)
        endoscope = None if options.page is None else _open_page(running, robot, console, delay, options.page)
        for psm, hand in console.hands.items():
            typer.echo(f"{psm}: {hand.device.name}. {hand.device.help}")
            typer.echo(f"To begin with {psm}, {hand.device.begin}.")
        if options.tracked is not None:
            host, port = options.tracked
            serve_tracked(running, console, endoscope, host or TRACKED_HOST, port)
        typer.echo(f"One-way delay of the network: {options.delay:g} ms. End with Ctrl-C.")
        _drive(robot, console, options.duration)
        if trial is not None:
            typer.echo(f"Score: {score_line(trial.score)}")
        for psm, recording in log.recordings().items():
            typer.echo(f"{psm}: {RunMetrics.of_recording(recording)}")
        written = [] if options.folder is None else log.save(options.folder)
        written += [] if table is None else log.save_as(table)
        if written:
            show_written(written)


def device_openers(masters: Sequence[str], kinds: Sequence[DeviceKind]) -> list[Callable[[], InputDevice]]:
    """Functions that open the devices: the second of a kind is the second of the machine."""
    return [
        partial(kind.open, masters[:k].count(name)) for k, (name, kind) in enumerate(zip(masters, kinds, strict=True))
    ]


def not_connected(index: int) -> InputDevice:
    """Stand-in for a master in ROS until `run_live` connects to its system."""
    raise TrocarError("the ROS system is not connected yet")


def _crtk_kind(name: str, system: RemoteBus, forces: bool, kind: DeviceKind) -> DeviceKind:
    """A master of a ROS system as a kind of device; other kinds stay as they are."""
    from trocar.teleoperation.devices import CrtkMaster, DeviceKind

    if not name.startswith(CRTK):
        return kind
    return DeviceKind(lambda _: CrtkMaster(system, name.removeprefix(CRTK), forces=forces))


def checked_arms(arms: Sequence[str], masters: int) -> Sequence[str]:
    """A PSM for each master. Default: PSM1, then PSM2."""
    from trocar.teleoperation.devices.practice import PSMS

    arms = arms or PSMS[:masters]
    check_known("arm", PSMS, *arms)
    if len(set(arms)) != len(arms) or len(arms) != masters:
        raise TrocarError(f"give one --arm for each --master, got {masters} and {', '.join(arms)}")
    return arms


def check_files(folder: Path | None, record: Path | None, arms: Sequence[str]) -> None:
    """Raise an error unless recordings of these PSMs can be written."""
    from trocar.recording.bag_file import SUFFIXES
    from trocar.teleoperation.devices.device_console import named

    if folder is not None:
        check_writable(*(folder / f"{arm}.npz" for arm in arms))
    if record is None:
        return
    if record.suffix == NPZ:
        check_writable(*(named(record, arm, len(arms)) for arm in arms))
    elif record.suffix not in SUFFIXES:
        raise TrocarError(
            "--record takes FILE.npz, .bag, .mcap or .db3; a folder is for --task with a task of trocar record, such "
            f"as NeedlePick; got {record}"
        )


def _record_bag(running: ExitStack, robot: tr.Robot, console: DeviceConsole, path: Path) -> None:
    from trocar.teleoperation.devices import pair_topics
    from trocar.transports.bags import BagRecorder

    pairs = [(master, psm) for psm, master in console.masters.items()]
    recorder = BagRecorder(robot, path, pair_topics(robot, pairs))
    running.callback(lambda: typer.echo(f"{recorder.close()}: {recorder.count} messages"))


def _open_page(
    running: ExitStack, robot: tr.Robot, console: DeviceConsole, delay: float, options: PageOptions
) -> EndoscopeRenderer:
    page = options.open(running, "teleop_page", robot, console, delay)
    from trocar.view.panels.endoscope import EndoscopePanel

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
