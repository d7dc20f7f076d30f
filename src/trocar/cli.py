"""The command line. Commands import heavy packages lazily to keep `trocar --help` fast."""

from __future__ import annotations

import inspect
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from trocar.commands.bench import bench
from trocar.commands.bench_tasks import bench_tasks
from trocar.commands.convert import convert
from trocar.commands.crtk_check import crtk_check
from trocar.commands.evaluate import evaluate
from trocar.commands.export import export
from trocar.commands.identification.calibrate import calibrate, gravity
from trocar.commands.identification.excite import excite
from trocar.commands.identification.identify import identify
from trocar.commands.options import Folder, argument, flag, option
from trocar.commands.record import record
from trocar.commands.recordings import compare, fetch, render
from trocar.commands.replay import replay
from trocar.commands.run import run
from trocar.commands.score import score
from trocar.commands.serve import serve
from trocar.commands.simulate import scene, sim
from trocar.commands.sweep import sweep
from trocar.commands.teleop import teleop
from trocar.commands.terminal import INTERRUPTED, own_command, plain_errors, progress_bar, show_written, status_line
from trocar.commands.view import view
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable, remove_temporaries_on_termination

if TYPE_CHECKING:
    from trocar.experiments import Experiment
    from trocar.report import Claim, Report

app = typer.Typer(
    name="trocar",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"trocar {version('trocar')}")
        raise typer.Exit


@app.callback()
def main(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A dynamic simulator of the da Vinci Research Kit (dVRK).

    Start with [bold]trocar demo[/bold]. Every command's help shows an example: [bold]trocar sim --help[/bold].
    """
    remove_temporaries_on_termination()


@plain_errors()
def demo(output: Folder = Path("trocar-demo")) -> None:
    """Run a half-minute tour: tables, plots and a film.

    Simulates a PSM that follows a spiral under torque control, with and without counterweight, and compares the errors
    with published ones. Then checks the kinematics of all arms and renders pictures.

    Example: [bold]trocar demo -o results[/bold], then open results/demo.html in a browser.
    Exit status 1 if a check fails.
    """
    start = time.perf_counter()
    from trocar.experiments import demo as demonstration
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


@plain_errors()
def reproduce(
    names: Annotated[list[str] | None, argument("NAME", "Publications. Default: all.", show_default=False)] = None,
    data: Annotated[
        Path | None,
        option("DIR", "Folder of measured data. Default: the folder of trocar fetch.", envvar="TROCAR_DATA"),
    ] = None,
    json_file: Annotated[Path | None, option("FILE", "Write every claim to FILE.", "--json")] = None,
    report_folder: Annotated[Path | None, option("DIR", "Write DIR/NAME.html.", "--report")] = None,
    video: Annotated[bool, flag("With --report: also render videos to DIR/video.", "--video")] = False,
) -> None:
    """Reproduce published results and compare every number.

    Example: [bold]trocar reproduce ferro2022 --data measurements --report reports[/bold],
    then open reports/ferro2022.html in a browser.

    Prints each published number next to trocar's, with tolerance and source. A claim that cannot be checked, for
    example because data are missing, is listed with the reason and does not count as a failure.
    Exit status 1 if a claim or an experiment fails, 2 if the command line is wrong. With --json, FILE is always
    complete; after Ctrl-C (status 130) it lists the experiments that were not run.
    """
    from trocar.datasets import fetched_folder
    from trocar.experiments import EXPERIMENTS
    from trocar.report import Report

    everything = Report("trocar reproduce")
    try:
        check_known("experiment", EXPERIMENTS, *(names or ()))
        check_writable(json_file, None if report_folder is None else report_folder / "report.html")
        if data is not None and not data.is_dir():
            raise TrocarError(f"the data folder {str(data)!r} does not exist (--data or TROCAR_DATA)")
        if video and report_folder is None:
            raise TrocarError("--video requires --report DIR; the videos are written to DIR/video")
        if data is None and fetched_folder().is_dir():
            data = fetched_folder()
            typer.echo(f"Measured data: {data}", err=True)
        experiments = [EXPERIMENTS[name] for name in dict.fromkeys(names or EXPERIMENTS)]
        broken = _run_all(experiments, data, video, report_folder, everything)
    finally:
        # Written even after an error: a file from an earlier run must not be mistaken for this run's result.
        if json_file is not None:
            everything.write_json(json_file)
    Console().print(everything.evidence_table())
    if failures := everything.failures():
        typer.echo("\n  ".join(["Failed (reasons: the notes above, docs/reproductions.md):", *failures]))
    typer.echo(everything.summary())
    if broken or not everything.ok:
        raise typer.Exit(1)


def _run_all(
    experiments: list[Experiment], data: Path | None, video: bool, folder: Path | None, everything: Report
) -> bool:
    """Run the experiments, print their tables and add their claims to `everything`.

    Returns True if one of them raised; the others still run. Ctrl-C stops the whole run with exit status 130.
    """
    from trocar.experiments import Context

    broken = False
    films = folder / "video" if video and folder is not None else None
    for number, experiment in enumerate(experiments, start=1):
        try:
            with status_line(experiment.title, f"[{number}/{len(experiments)}] {experiment.name}: ") as show:
                report = experiment.run(Context(data=data, video=films, progress=show))
            everything.add_claims(report.claims)
            if folder is not None:
                report.write_html(folder / f"{experiment.name}.html")
            Console().print(report.table())
        except Exception as error:
            broken = True
            if not isinstance(error, TrocarError):
                traceback.print_exception(error, file=sys.stderr)
            typer.echo(f"error: {experiment.name}: {error}", err=True)
            everything.add_claim(_not_run(experiment, f"{type(error).__name__}: {error}"))
        except KeyboardInterrupt:
            left = experiments[number - 1 :]
            everything.add_claims(_not_run(missing, "interrupted") for missing in left)
            typer.echo(f"interrupted; to continue, run: trocar reproduce {' '.join(e.name for e in left)}", err=True)
            raise typer.Exit(INTERRUPTED) from None
    return broken


def _not_run(experiment: Experiment, reason: str) -> Claim:
    """A claim without a number that lists an experiment as not run in the table and the JSON file."""
    from trocar.report import Claim

    numbers: Any = {"published": None, "ours": None, "unit": "", "relation": "equal", "tolerance": 0.0}
    return Claim(id=f"{experiment.name}/run", **numbers, source=experiment.title, note=f"not run: {reason}")


def _unwrapped(text: str) -> str:
    """The text with one line per paragraph, for the terminal to wrap; commands in a list keep their lines."""
    return re.sub(r"(?<!\n)\n(?!\n|(?<=[;,:]\n)\[bold\])", " ", inspect.cleandoc(text))


# In the order in which `trocar --help` lists them.
PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Start here": (demo,),
    "Simulate": (sim, scene, sweep, score, bench_tasks, record, convert, replay, evaluate),
    "View and compare": (view, render, compare),
    "Identify your own robot": (calibrate, gravity, excite, identify),
    "Export and benchmark": (export, bench),
    "Check against the literature": (fetch, reproduce),
    "Run your own scripts": (run, serve, crtk_check),
    "Teleoperate": (teleop,),
}
for panel, commands in PANELS.items():
    for command in commands:
        # all arguments after the script of `run` are passed to it, options included
        settings = {"allow_interspersed_args": False} if command is run else None
        text = _unwrapped(inspect.getdoc(command) or "")
        name = "eval" if command is evaluate else None  # a builtin function has the name of the command
        app.command(name, rich_help_panel=panel, help=text, context_settings=settings)(command)


def program() -> None:
    """The command line as a process of its own. A second Ctrl-C, after the command has ended, prints no traceback."""
    try:
        app(prog_name="trocar")
    finally:
        # Graphics and threads take a moment to close; all files are complete by now.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
