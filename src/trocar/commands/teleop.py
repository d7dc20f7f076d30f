"""`trocar teleop`: teleoperation with input devices until Ctrl-C or for a given time, and its bench."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from trocar.commands import options
from trocar.commands.contest import CONTEST
from trocar.commands.options import Browser, Port, check_positive, flag, option, task_name
from trocar.commands.teleop_live import (
    CRTK,
    LiveOptions,
    PageOptions,
    RosOptions,
    check_files,
    checked_arms,
    device_openers,
    not_connected,
    run_live,
)
from trocar.commands.teleop_task import TaskOptions, check_live_task, is_data_set, record_person
from trocar.commands.terminal import plain_errors, show_written, status_line
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable

MAX_DELAY = 5000.0  # [ms]
COUNTS = {1: "once", 2: "twice"}


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
        float | None, option("S", "Motion of the PSM per motion of the hand, at most 1. Default: 0.2; mouse: 1.")
    ] = None,
    delay: Annotated[float, option("MS", "One-way delay of the network, in milliseconds.")] = 0.0,
    scheme: Annotated[
        str | None,
        option(
            "NAME",
            "Bilateral control: position-force, position-position, four-channel or none (no force). Default: none.",
        ),
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
        option(
            "K", "With --task peg_transfer: seed of the board's and the pegs' places. With --record DIR: first seed."
        ),
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
    count: Annotated[int | None, option("N", "With --record DIR: episodes. Default: 10.", "--count", "-n")] = None,
    format: Annotated[
        str | None,
        option("FORMAT", "With --record DIR: lerobot3, lerobot2.1, robomimic or npz. Default: lerobot3."),
    ] = None,
    stereo: Annotated[str | None, option("WxH", "With --record DIR: stereo pictures, for example 640x480.")] = None,
    fps: Annotated[int | None, option("N", "With --record DIR: frames per second, at most 50. Default: 50.")] = None,
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
    The command prints how to begin with your device. Clutch, camera pedal and scale are on its buttons.

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
    if section or json_file is not None or report_folder is not None:
        raise TrocarError("--section, --json and --report go with --bench")
    from trocar.teleoperation.devices import DEVICES, TASKS, DeviceKind

    if not master:
        raise TrocarError(f"nothing to do: give --master {', '.join(DEVICES)}; or --bench")
    in_ros = [name for name in master if name.startswith(CRTK)]
    if bool(in_ros) != (ros1 or ros2):
        raise TrocarError("--master crtk:NAME needs --ros1 or --ros2, which are for it alone")
    if allow_motion and not in_ros:
        raise TrocarError("--allow-motion is for --master crtk:NAME")
    check_known("master", [*DEVICES, *in_ros], *master)
    of_task = task not in TASKS and is_data_set(record)
    if of_task:
        task = task_name(task)
    else:
        check_live_task(task)
    chosen: Any = {"count": count, "format": format, "fps": fps}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    if not of_task and (chosen or stereo is not None):
        raise TrocarError("-n, --format, --stereo and --fps go with --record DIR and a task such as NeedlePick")
    if seed < 0 or (seed and task != CONTEST and not of_task):
        raise TrocarError(f"--seed must be at least 0 and goes with --task {CONTEST}, got {seed}")
    if scheme is not None or passivity != "none":
        from trocar.teleoperation.coupling import PASSIVITIES, SCHEMES

        check_known("scheme", SCHEMES, scheme or "none")
        check_known("passivity control", PASSIVITIES, passivity)
    kinds = [DEVICES[name] if name in DEVICES else DeviceKind(not_connected) for name in master]
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
    shown_page = PageOptions(port=port, browser=browser) if page else None
    if of_task:
        assert record is not None
        if output is not None or arm or in_ros or tracked or scheme is not None or passivity != "none":
            raise TrocarError("a data set is recorded with the devices of this machine, without --arm, -o and --scheme")
        recorded = TaskOptions(task=task, seed=seed, stereo=stereo, limit=duration, **chosen)
        opened = device_openers(master, kinds)
        record_person(recorded, record, opened, scale=scale, delay=1e-3 * delay, page=shown_page)
        return
    arms = checked_arms(arm or [], len(master))
    check_files(output, record, arms)
    ros = RosOptions(
        ros1=ros1, ros2=ros2, master=ros_master, domain=domain, interface=interface, allow_motion=allow_motion
    )
    run_live(
        LiveOptions(
            masters=master,
            kinds=kinds,
            arms=arms,
            task=task,
            seed=seed,
            scale=scale,
            delay=delay,
            scheme=scheme,
            passivity=passivity,
            duration=duration,
            folder=output,
            record=record,
            page=shown_page,
            tracked=(host, device_port) if tracked else None,
            ros=ros,
        )
    )


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
