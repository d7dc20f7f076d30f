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
) -> None:
    """Teleoperate a simulated slave.

    Example: [bold]trocar teleop --bench --report results[/bold], then open results/teleoperation.html in a browser.

    --bench presses a simulated MTM and PSM against walls under every bilateral scheme and passivity control, over
    delays and published network conditions. It prints each figure with its bound; exit status 1 if one is not kept.
    It takes a few minutes.
    """
    if not bench:
        raise TrocarError("nothing to do: give --bench")
    from trocar.files import check_writable
    from trocar.teleoperation.bench import Bench, run_bench

    page = None if report_folder is None else report_folder / "teleoperation.html"
    check_writable(json_file, page)
    found = Bench()
    report = found.report
    try:
        with status_line("teleop --bench") as show:
            found.show = show
            run_bench(section or (), found)
    finally:
        # Also after an error: a file left from an earlier run must not pass for the result of this one.
        if json_file is not None:
            report.write_json(json_file)
    Console().print(report.table())
    if page is not None:
        written = [report.write_html(page)]
        for name, log in found.logs.items():
            written += log.save(page.parent, name)
        show_written(written)
    if not report.ok:
        raise typer.Exit(1)
