"""`trocar reproduce`: published results, computed again and compared number by number."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from trocar.commands.options import argument, flag, option
from trocar.commands.terminal import INTERRUPTED, plain_errors, status_line
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable

if TYPE_CHECKING:
    from trocar.report import Claim, Report
    from trocar_reproductions.experiment import Experiment


@plain_errors()
def reproduce(
    names: Annotated[list[str] | None, argument("NAME", "Publications. Default: all.", show_default=False)] = None,
    data: Annotated[
        Path | None,
        option("DIR", "Folder of measured data. Default: the folder of trocar fetch.", envvar="TROCAR_DATA"),
    ] = None,
    json_file: Annotated[Path | None, option("FILE", "Write every claim to FILE.", "--json")] = None,
    report_folder: Annotated[Path | None, option("DIR", "Write DIR/NAME.html.", "--output", "-o", "--report")] = None,
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
    from trocar.report import Report
    from trocar_reproductions.datasets import fetched_folder
    from trocar_reproductions.experiments import EXPERIMENTS

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
    from trocar_reproductions.experiment import Context

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
