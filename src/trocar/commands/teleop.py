"""`trocar teleop`: teleoperation, and its bench."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from trocar.commands.options import flag, option
from trocar.commands.terminal import plain_errors, show_written, status_line
from trocar.errors import TrocarError


@plain_errors()
def teleop(
    bench: Annotated[bool, flag("Measure stability, transparency and network behaviour.", "--bench")] = False,
    section: Annotated[
        list[str] | None, option("NAME", "With --bench: section to run; can be repeated. Default: all.")
    ] = None,
    json_file: Annotated[Path | None, option("FILE", "With --bench: write every claim to FILE.", "--json")] = None,
    report_folder: Annotated[
        Path | None,
        option("DIR", "With --bench: write DIR/teleoperation.html and recordings of both arms.", "--report"),
    ] = None,
    master: Annotated[
        list[str] | None,
        option("DEVICE", "gamepad, spacemouse, keyboard, mouse, phone, vr or scripted; repeat it for two hands."),
    ] = None,
    arm: Annotated[list[str] | None, option("PSM", "PSM that a master drives. Default: PSM1, then PSM2.")] = None,
    scale: Annotated[
        float | None, option("S", "Motion of the PSM per motion of the hand, at most 1. Default: 0.2; of a mouse 1.")
    ] = None,
    delay: Annotated[float, option("MS", "One-way delay of the network, in milliseconds.")] = 0.0,
    task: Annotated[str, option("NAME", "practice (plate, block, needle) or none.")] = "practice",
    duration: Annotated[
        float | None, option("S", "Time by the robot's clock, in seconds. Default: until Ctrl-C.")
    ] = None,
    output: Annotated[
        Path | None, option("DIR", "Write a recording of each PSM to DIR at the end.", "--output", "-o")
    ] = None,
    record: Annotated[
        Path | None,
        option("FILE", "Record the topics of masters and PSMs to FILE: .npz, .bag, .mcap or .db3 (a folder)."),
    ] = None,
    host: Annotated[
        str | None,
        option("ADDRESS", "With --master phone or vr: address to listen on. Default: 127.0.0.1, this machine only."),
    ] = None,
    device_port: Annotated[
        int | None, option("N", "With --master phone or vr: HTTPS port. Default: 8443.", "--device-port")
    ] = None,
    port: Annotated[int, option("N", "Port of the page; 0 for any free one.")] = 8080,
    page: Annotated[bool, flag("Serve a page with the endoscope's picture.", "--page/--no-page")] = True,
    browser: Annotated[bool, flag("Open the page in a browser.", "--browser/--no-browser")] = True,
) -> None:
    """Teleoperate a simulated PSM.

    Example: [bold]trocar teleop --master gamepad[/bold], then open the address that it prints.
    Pinch to begin: close the gripper and open it. The buttons have clutch, camera pedal and scale.

    More: [bold]trocar teleop --master keyboard[/bold] (keys in the page; or [bold]mouse[/bold]);
    [bold]trocar teleop --master gamepad --master spacemouse[/bold] (two hands, PSM1 and PSM2);
    [bold]trocar teleop --master gamepad --delay 250 -o results[/bold] (a slow network; recordings at the end);
    [bold]trocar teleop --master phone --host 0.0.0.0[/bold] (a phone; [bold]vr[/bold]: a headset);
    [bold]trocar teleop --master scripted[/bold] (a demonstration). Gamepad and SpaceMouse need pip install
    'trocar\\[teleop]', phone and headset 'trocar\\[vr]'.

    [bold]trocar teleop --bench --report results[/bold], then open results/teleoperation.html in a browser:

    --bench presses a simulated MTM and PSM against walls under every bilateral scheme and passivity control, over
    delays and published network conditions. It prints each figure with its bound; exit status 1 if a bound is
    exceeded. Sections: stability, drift, stiffness, schemes, network, engine, z_width, hybrid. All sections take a few
    minutes.
    """
    if bench and master:
        raise TrocarError("--bench and --master do not go together")
    if not (bench or master):
        from trocar.teleoperation.devices import DEVICES

        raise TrocarError(f"nothing to do: give --master {', '.join(DEVICES)}; or --bench")
    if master:
        from trocar.commands.teleop_live import TeleopOptions, drive

        options = TeleopOptions(
            masters=master,
            arms=arm or (),
            scale=scale,
            delay=delay,
            task=task,
            duration=duration,
            folder=output,
            record=record,
            host=host,
            device_port=device_port,
            port=port,
            page=page,
            browser=browser,
        )
        drive(options)
        return
    from trocar.experiments.bilateral import Bench, run_bench
    from trocar.files import check_writable

    html = None if report_folder is None else report_folder / "teleoperation.html"
    check_writable(json_file, html)
    results = Bench()
    report = results.report
    try:
        with status_line("teleop --bench") as show:
            results.show = show
            run_bench(section or (), results)
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
