"""`trocar teleop`: teleoperation with input devices until Ctrl-C or for a given time, and its bench."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import trocar as tr
from trocar.commands import options
from trocar.commands.contest import CONTEST
from trocar.commands.options import Browser, Port, check_positive, flag, option
from trocar.commands.teleop_task import TaskOptions, record_person
from trocar.commands.terminal import plain_errors, show_written, status_line
from trocar.commands.view import open_page
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable

if TYPE_CHECKING:
    from trocar.envs.live_task import LiveTask
    from trocar.teleoperation.devices import DeviceConsole, DeviceKind, InputDevice
    from trocar.transports.remote_bus import RemoteBus
    from trocar.view.panels.endoscope import EndoscopeRenderer

POLL_INTERVAL = 5e-3  # real time between two readings of the devices [s]
MAX_DELAY = 5000.0  # [ms]
NPZ = ".npz"
CRTK = "crtk:"  # of a master in ROS, before its name
COUNTS = {1: "once", 2: "twice"}
TRACKED_HOST, TRACKED_PORT = "127.0.0.1", 8443  # of the server of phones and headsets


@plain_errors()
def teleop(
    bench: Annotated[bool, flag("Measure stability, transparency and network behaviour.", "--bench")] = False,
    section: Annotated[list[str] | None, option("NAME", "With --bench: section, repeatable. Default: all.")] = None,
    json_file: Annotated[Path | None, option("FILE", "With --bench: write every claim to FILE.", "--json")] = None,
    report_folder: Annotated[
        Path | None,
        option("DIR", "With --bench: write DIR/teleoperation.html and recordings of both arms.", "--report"),
    ] = None,
    master: Annotated[
        list[str] | None,
        option(
            "DEVICE",
            "gamepad, spacemouse, keyboard, mouse, phone, vr, scripted or crtk:NAME, a master in ROS; repeat it for"
            " two hands.",
        ),
    ] = None,
    arm: Annotated[list[str] | None, option("PSM", "PSM that a master drives. Default: PSM1, then PSM2.")] = None,
    scale: Annotated[
        float | None, option("S", "Motion of the PSM per motion of the hand, at most 1. Default: 0.2; of a mouse 1.")
    ] = None,
    delay: Annotated[float, option("MS", "One-way delay of the network, in milliseconds.")] = 0.0,
    scheme: Annotated[
        str | None,
        option("NAME", "Bilateral control: position-force, position-position, four-channel or none (no force)."),
    ] = None,
    passivity: Annotated[
        str, option("NAME", "Passivity control of the delayed loop: none, damping, wave or time-domain.")
    ] = "none",
    task: Annotated[
        str,
        option(
            "NAME",
            "practice (plate, block, needle), suture, peg_transfer or none; with --record DIR a task of trocar record, "
            "such as NeedlePick.",
        ),
    ] = "practice",
    seed: Annotated[
        int,
        option("K", "With --task peg_transfer: seed of the board's and the pegs' places. Of a data set: first seed."),
    ] = 0,
    duration: Annotated[
        float | None,
        option("S", "Time by the robot's clock, in s. Default: until Ctrl-C; of an episode of a data set 120 s."),
    ] = None,
    output: Annotated[Path | None, option("DIR", "Write a recording of each PSM to DIR.", "--output", "-o")] = None,
    record: Annotated[
        Path | None,
        option(
            "FILE | DIR",
            "Record the topics of masters and PSMs to FILE: .npz, .bag, .mcap or .db3 (a folder); or episodes of a task"
            " to DIR, a data set.",
        ),
    ] = None,
    count: Annotated[int, option("N", "With --record DIR: episodes.", "--count", "-n")] = 10,
    format: Annotated[str, option("FORMAT", "With --record DIR: lerobot3, lerobot2.1, robomimic or npz.")] = "lerobot3",
    stereo: Annotated[str | None, option("WxH", "With --record DIR: stereo pictures, for example 640x480.")] = None,
    fps: Annotated[int, option("N", "With --record DIR: frames per second, at most 50.")] = 50,
    host: Annotated[
        str | None,
        option("ADDRESS", "With --master phone or vr: address to listen on. Default: 127.0.0.1, this machine only."),
    ] = None,
    device_port: Annotated[int | None, option("N", "With --master phone or vr: HTTPS port. Default: 8443.")] = None,
    ros1: Annotated[bool, flag("With --master crtk:NAME: the master is in ROS 1.", "--ros1")] = False,
    ros2: Annotated[bool, flag("With --master crtk:NAME: the master is in ROS 2.", "--ros2")] = False,
    ros_master: options.Master = None,
    domain: options.Domain = None,
    interface: options.Interface = "lo",
    allow_motion: Annotated[
        bool, flag("With --master crtk:NAME: send forces to the master, which moves it.", "--allow-motion")
    ] = False,
    port: Port = 8080,
    page: Annotated[bool, flag("Serve a page with the endoscope's picture.", "--page/--no-page")] = True,
    browser: Browser = True,
) -> None:
    """Teleoperate a simulated PSM.

    Example: [bold]trocar teleop --master gamepad[/bold], then open the address that it prints.
    The command prints how to begin with your device. Its buttons have clutch, camera pedal and scale.

    More: [bold]trocar teleop --master keyboard[/bold] (keys in the page; or [bold]mouse[/bold]);
    [bold]trocar teleop --master gamepad --master spacemouse[/bold] (two hands, PSM1 and PSM2);
    [bold]trocar teleop --master gamepad --delay 250 -o results[/bold] (a slow network; recordings at the end);
    [bold]trocar teleop --master phone --host 0.0.0.0[/bold] (a phone; [bold]vr[/bold]: a headset);
    [bold]trocar teleop --task suture --master gamepad --master spacemouse[/bold] (needle, thread and tissue);
    [bold]trocar teleop --task peg_transfer --master vr[/bold] (the ICRA 2026 competition, scored at the end);
    [bold]trocar teleop --task NeedlePick --master keyboard --record demos -n 20 --stereo 640x480[/bold] (episodes of a
    task as a data set for LeRobot; continues if interrupted);
    [bold]trocar teleop --master keyboard --scheme position-force --passivity time-domain --delay 100[/bold] (live
    bilateral control); [bold]trocar teleop --master crtk:MTMR --ros2 --allow-motion[/bold] (a real MTM or haptic device
    by its CRTK topics); [bold]trocar teleop --master scripted[/bold] (a demonstration). Gamepad and SpaceMouse need
    pip install 'trocar\\[teleop]', phone and headset 'trocar\\[vr]'.

    [bold]trocar teleop --bench --report results[/bold], then open results/teleoperation.html in a browser:

    --bench presses a simulated MTM and PSM against walls under every bilateral scheme and passivity control, over
    delays and published network conditions. It prints each figure with its bound; exit status 1 if a bound is
    exceeded. Sections: stability, drift, stiffness, schemes, network, engine, z_width, hybrid. All sections take a few
    minutes.
    """
    if bench and master:
        raise TrocarError("--bench and --master do not go together")
    if bench:
        _run_bench(section or (), json_file, report_folder)
        return
    from trocar.teleoperation.devices import DEVICES, TASKS, DeviceKind

    if not master:
        raise TrocarError(f"nothing to do: give --master {', '.join(DEVICES)}; or --bench")
    in_ros = [name for name in master if name.startswith(CRTK)]
    if bool(in_ros) != (ros1 or ros2):
        raise TrocarError("--master crtk:NAME needs --ros1 or --ros2, which are for it alone")
    if allow_motion and not in_ros:
        raise TrocarError("--allow-motion is for --master crtk:NAME")
    check_known("master", [*DEVICES, *in_ros], *master)
    of_task = task not in TASKS and _is_task(task, record)
    if not of_task:
        check_known("task", TASKS, task)
    if seed < 0 or (seed and task != CONTEST and not of_task):
        raise TrocarError(f"--seed must be at least 0 and goes with --task {CONTEST}, got {seed}")
    if scheme is not None or passivity != "none":
        from trocar.teleoperation.coupling import PASSIVITIES, SCHEMES

        check_known("scheme", SCHEMES, scheme or "none")
        check_known("passivity control", PASSIVITIES, passivity)
    kinds = [DEVICES[name] if name in DEVICES else DeviceKind(_not_connected) for name in master]
    scale = max(kind.scale for kind in kinds) if scale is None else scale
    if not (math.isfinite(scale) and 0 < scale <= 1):
        raise TrocarError(f"--scale must be above 0 and at most 1, got {scale}")
    if not 0 <= delay <= MAX_DELAY:
        raise TrocarError(f"--delay must be 0 to {MAX_DELAY:g} ms, got {delay}")
    if duration is not None:
        check_positive(duration=duration)
    elif not page and not of_task:
        raise TrocarError("--no-page needs --duration: there is nothing to look at")
    for name, kind in zip(master, kinds, strict=True):
        if kind.in_page and not page:
            raise TrocarError(f"--master {name} is a part of the page: leave out --no-page")
        if kind.max_count is not None and master.count(name) > kind.max_count:
            raise TrocarError(f"--master {name} can be given {COUNTS[kind.max_count]}")
    tracked = any(kind.tracked for kind in kinds)
    if not tracked and (host, device_port) != (None, None):
        raise TrocarError("--host and --device-port are for --master phone or vr")
    if of_task:
        assert record is not None
        if output is not None or arm or in_ros or tracked or scheme is not None or passivity != "none":
            raise TrocarError("a data set is recorded with the devices of this machine, without --arm, -o and --scheme")
        options_of_task = TaskOptions(
            task=task, count=count, seed=seed, format=format, stereo=stereo, fps=fps, limit=duration
        )
        opened = [
            partial(kind.open, master[:k].count(name)) for k, (name, kind) in enumerate(zip(master, kinds, strict=True))
        ]
        show = partial(_open_task_page, delay=1e-3 * delay, port=port, browser=browser) if page else _no_page
        record_person(options_of_task, record, opened, scale=scale, delay=1e-3 * delay, show=show)
        return
    arms = _checked_arms(arm or [], len(master))
    _check_files(output, record, arms)

    from trocar.robot.contest import ContestTrial, score_line
    from trocar.teleoperation.devices import DeviceConsole, MotionLog, RunMetrics, training_scene

    with ExitStack() as running:  # ends in the opposite order what was started
        if in_ros:
            system = running.enter_context(options.connected(ros1, ros_master, ros2, domain, interface))
            kinds = [_crtk_kind(name, system, allow_motion, kind) for name, kind in zip(master, kinds, strict=True)]
        scene = training_scene(tuple(arms), task, seed=seed)
        devices = {}
        for k, (psm, kind) in enumerate(zip(arms, kinds, strict=True)):
            devices[psm] = device = kind.open(master[:k].count(master[k]))
            running.callback(device.close)
        robot = running.enter_context(tr.Robot(scene, start="ready", speed="real"))
        trial = running.enter_context(ContestTrial(robot)) if task == CONTEST else None
        console = DeviceConsole(robot, devices, scale=scale, delay=1e-3 * delay, scheme=scheme, passivity=passivity)
        table = record if record is not None and record.suffix == NPZ else None
        log = MotionLog(robot, console)
        if record is not None and table is None:
            _record_bag(running, robot, console, record)
        endoscope = _open_page(running, robot, console, 1e-3 * delay, port, browser) if page else None
        for psm, hand in console.hands.items():
            typer.echo(f"{psm}: {hand.device.name}. {hand.device.help}")
            typer.echo(f"To begin with {psm}, {hand.device.begin}.")
        if tracked:
            serve_tracked(running, console, endoscope, host or TRACKED_HOST, device_port)
        typer.echo(f"One-way delay of the network: {delay:g} ms. End with Ctrl-C.")
        _drive(robot, console, duration)
        if trial is not None:
            typer.echo(f"Score: {score_line(trial.score)}")
        for psm, recording in log.recordings().items():
            typer.echo(f"{psm}: {RunMetrics.of_recording(recording)}")
        written = [] if output is None else log.save(output)
        written += [] if table is None else log.save_as(table)
        if written:
            show_written(written)


def _is_task(name: str, record: Path | None) -> bool:
    """True if a task of data sets and a folder for one are named."""
    from trocar.envs.registration import TASKS
    from trocar.recording.bag_file import SUFFIXES

    if name not in TASKS:
        return False
    if record is None or record.suffix in (NPZ, *SUFFIXES):
        raise TrocarError(f"--task {name} records a data set; name its folder with --record DIR")
    return True


def _open_task_page(
    running: ExitStack,
    task: LiveTask,
    console: DeviceConsole,
    words: Callable[[], str],
    *,
    delay: float,
    port: int,
    browser: bool,
) -> None:
    page = open_page(running, "task_page", task, console, words, delay, port=port)
    from trocar.view.server import open_browser

    typer.echo(f"Page: {page.address}")
    if browser:
        open_browser(page.address)


def _no_page(*_: object) -> None:
    """Show nothing."""


def _not_connected(index: int) -> InputDevice:
    raise TrocarError("the ROS system is not connected yet")


def _crtk_kind(name: str, system: RemoteBus, forces: bool, kind: DeviceKind) -> DeviceKind:
    """A master of a ROS system as a kind of device; other kinds stay as they are."""
    from trocar.teleoperation.devices import CrtkMaster, DeviceKind

    if not name.startswith(CRTK):
        return kind
    return DeviceKind(lambda _: CrtkMaster(system, name.removeprefix(CRTK), forces=forces))


def _checked_arms(arms: Sequence[str], masters: int) -> Sequence[str]:
    """A PSM for each master. Default: PSM1, then PSM2."""
    from trocar.teleoperation.devices.practice import PSMS

    arms = arms or PSMS[:masters]
    check_known("arm", PSMS, *arms)
    if len(set(arms)) != len(arms) or len(arms) != masters:
        raise TrocarError(f"give one --arm for each --master, got {masters} and {', '.join(arms)}")
    return arms


def _check_files(folder: Path | None, record: Path | None, arms: Sequence[str]) -> None:
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
        raise TrocarError(f"--record takes FILE.npz, .bag, .mcap or .db3, got {record}")


def _record_bag(running: ExitStack, robot: tr.Robot, console: DeviceConsole, path: Path) -> None:
    from trocar.teleoperation.devices import pair_topics
    from trocar.transports.bags import BagRecorder

    pairs = [(master, psm) for psm, master in console.masters.items()]
    recorder = BagRecorder(robot, path, pair_topics(robot, pairs))
    running.callback(lambda: typer.echo(f"{recorder.close()}: {recorder.count} messages"))


def _open_page(
    running: ExitStack, robot: tr.Robot, console: DeviceConsole, delay: float, port: int, browser: bool
) -> EndoscopeRenderer:
    page = open_page(running, "teleop_page", robot, console, delay, port=port)
    from trocar.view.panels.endoscope import EndoscopePanel
    from trocar.view.server import open_browser

    typer.echo(f"Page: {page.address}")
    if browser:
        open_browser(page.address)
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


def serve_tracked(
    running: ExitStack, console: DeviceConsole, endoscope: EndoscopeRenderer | None, host: str, port: int | None
) -> None:
    """Start the server of the console's phones and headset, and print their addresses."""
    try:
        from trocar.view.webxr import PoseServer
        from trocar.view.webxr.certificate import certificate_file, fingerprint
    except ModuleNotFoundError as error:
        raise TrocarError(f"a phone or headset needs {error.name}: pip install 'trocar[vr]'") from error
    from trocar.teleoperation.devices import TrackedHand

    hands: dict[str, dict[str, TrackedHand]] = {}  # by device and side: a phone is one right hand, a headset has both
    for hand in (hand.device for hand in console.hands.values()):
        if isinstance(hand, TrackedHand):
            hands.setdefault(hand.page, {})[hand.side] = hand
    certificate = certificate_file(host)
    server = PoseServer(hands, host, TRACKED_PORT if port is None else port, certificate)
    running.callback(server.close)
    server.status = lambda: _status(console)
    if endoscope is not None:
        server.picture = endoscope.jpegs
    for device, url in server.addresses().items():
        typer.echo(f"Open on the {'headset' if device == 'vr' else device}: {url}")
        if host != TRACKED_HOST:
            typer.echo(_code(url))
    typer.echo(f"Its browser warns of a self-signed certificate: {certificate}, SHA-256 {fingerprint(certificate)}")
    if host != TRACKED_HOST:
        warning = "anyone on the network with this address can drive the simulation"
        typer.echo(f"warning: --host {host}: {warning}", err=True)


def _status(console: DeviceConsole) -> list[str]:
    lines = [f"{arm}: {text}" for arm, text in console.summary().items()]
    errors = [message.text for message in list(console.messages) if message.kind != "status"]
    return lines + errors[-1:]


def _code(url: str) -> str:
    """A QR code of an address as text, "" without the package segno."""
    try:
        import segno
    except ModuleNotFoundError:
        return ""
    text = io.StringIO()
    segno.make(url, error="l").terminal(text, compact=True)
    return text.getvalue()


def _run_bench(sections: Sequence[str], json_file: Path | None, folder: Path | None) -> None:
    from trocar.experiments.bilateral import Bench, run_bench

    html = None if folder is None else folder / "teleoperation.html"
    check_writable(json_file, html)
    results = Bench()
    report = results.report
    try:
        with status_line("teleop --bench") as show:
            results.show = show
            run_bench(sections, results)
    finally:
        # Also after an error: a file left from an earlier run must not pass for the result of this one.
        if json_file is not None:
            report.write_json(json_file)
    Console().print(report.table())
    if html is not None:
        written = [report.write_html(html)]
        for name, log in results.logs.items():
            written += log.save(html.parent, name)
        show_written(written)
    if not report.ok:
        raise typer.Exit(1)
