"""`trocar teleop bench`: stability, transparency and network behaviour of bilateral control."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from trocar.commands.options import option
from trocar.commands.terminal import plain_errors, show_written, status_line
from trocar.files import check_writable


@plain_errors()
def bench(
    section: Annotated[list[str] | None, option("NAME", "Section, repeatable. Default: all.")] = None,
    json_file: Annotated[Path | None, option("FILE", "Write every claim to FILE.", "--json")] = None,
    folder: Annotated[
        Path | None,
        option("DIR", "Write DIR/teleoperation.html and recordings of both arms.", "--output", "-o", "--report"),
    ] = None,
) -> None:
    """Measure stability, transparency and network behaviour of force reflection.

    Example: [bold]trocar teleop bench --report results[/bold], then open results/teleoperation.html in a browser.

    Presses a simulated MTM and PSM against walls under every bilateral scheme and passivity control, over delays and
    published network conditions. Prints each figure with its bound; exit status 1 if a bound is exceeded. Sections:
    stability, drift, stiffness, schemes, network, engine, z_width, hybrid. All sections take a few minutes.
    """
    from trocar_reproductions.bilateral import Bench, run_bench

    html = None if folder is None else folder / "teleoperation.html"
    check_writable(json_file, html)
    results = Bench()
    report = results.report
    try:
        with status_line("teleop bench") as show:
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
