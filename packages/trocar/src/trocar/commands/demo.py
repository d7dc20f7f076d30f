"""`trocar demo`: a tour of half a minute."""

from __future__ import annotations

import time
from pathlib import Path

import typer
from rich.console import Console

from trocar.commands.options import Folder
from trocar.commands.terminal import own_command, plain_errors, progress_bar, show_written
from trocar.files import check_writable


@plain_errors()
def demo(output: Folder = Path("trocar-demo")) -> None:
    """Run a half-minute tour: tables, plots and a film.

    Simulates a PSM that follows a spiral under torque control, with and without counterweight, and compares the errors
    with published ones. Then checks the kinematics of all arms and renders pictures.

    Example: [bold]trocar demo -o results[/bold], then open results/demo.html in a browser.
    Exit status 1 if a check fails.
    """
    start = time.perf_counter()
    from trocar import demo as demonstration
    from trocar.plots import save_numbered

    check_writable(output / "demo.html")
    with progress_bar("demo") as progress:
        report = demonstration.run(output, progress)
    report.next_steps = [(step.replace("trocar", own_command(), 1), text) for step, text in report.next_steps]
    written = [report.write_html(output / "demo.html"), *(path for path, _ in report.clips)]
    written += save_numbered((figure for figure, _ in report.figures), output)
    Console().print(report.table())
    show_written(written)
    typer.echo(f"Took {time.perf_counter() - start:.1f} s.")
    if not report.ok:
        raise typer.Exit(1)
    typer.echo(
        f"Next: {own_command()} view PSM   # the arm in the browser; README.md has a first command for every use"
    )
