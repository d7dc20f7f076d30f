"""`trocar sweep`: a study over a table of parameters."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trocar.commands.options import argument, option
from trocar.commands.terminal import plain_errors, show_table, show_written, status_line, terminal_width
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.sweep import Progress, Results, Study

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
LOG_EVERY = 30.0  # interval between lines in a log file [s]
WIDE = 110  # columns of a terminal that shows every statistic
SHOWN_ERRORS = 5


@plain_errors("run it again with --resume")
def sweep(
    study: Annotated[
        str | None,
        argument("STUDY", "Name of a study, or a Python file. Default: list the studies.", show_default=False),
    ] = None,
    output: Annotated[Path | None, option("DIR", "Folder for the results.", "--output", "-o")] = None,
    rows: Annotated[int | None, option("N", "Rows of the table. Default: the study's own.", "--rows", "-n")] = None,
    seed: Annotated[int, option("N", "Seed of the table.")] = 0,
    table: Annotated[Path | None, option("FILE", "Table of parameters: csv, parquet. Default: the study's.")] = None,
    executor: Annotated[str, option("serial|processes|ray", "Executor of the rows.")] = "processes",
    workers: Annotated[int | None, option("N", "Worker processes. Default: one per core.", "--workers", "-j")] = None,
    address: Annotated[str | None, option("HOST:PORT", "Ray cluster. Default: RAY_ADDRESS, else a local Ray.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted sweep.")] = False,
    show: Annotated[Path | None, option("DIR", "Print tables of the results in DIR and plot them.")] = None,
    report: Annotated[bool, typer.Option("--report", help="Write DIR/report.html.")] = False,
) -> None:
    """Run a study over a table of parameters, on one machine or a Ray cluster.

    Example: [bold]trocar sweep monte_carlo -n 1000 -o results --report[/bold], then open results/report.html.
    Later: [bold]trocar sweep --show results[/bold].

    Results are Parquet files in DIR/rows with one row per simulation and its parameters; if a row raises an exception,
    its error is stored in that row. --resume continues a sweep that was killed. docs/sweeps.md explains how to write
    your own study and how to run on a cluster. A study given as a file is executed: read it first. Exit status 1 if
    every row failed. Requires pyarrow and, with --executor ray, Ray: pip install 'trocar\\[sweep]'.
    """
    if "numpy" not in sys.modules:  # with one thread per process, all executors give bit-identical rows
        for name in THREADS:
            os.environ.setdefault(name, "1")
    from trocar.sweep import Results, load_study, read_table
    from trocar.sweep import run as run_sweep
    from trocar.sweep.study import STUDIES

    if show is not None:
        if any(x is not None for x in (output, rows, table, workers, address)) or resume:
            raise TrocarError("--show DIR reads existing results; it can be combined with STUDY and --report only")
        _show(Results(show), None if study is None else load_study(study), report)
        return
    if study is None:
        show_table("Studies", ("name", ""), list(STUDIES.items()), left=(0, 1))
        typer.echo("Run one: trocar sweep NAME -o DIR. Your own: trocar sweep FILE.py -o DIR, see docs/sweeps.md.")
        return
    if output is None:
        if Path(study).suffix != ".py":
            load_study(study)  # reports an unknown name first; a file is executed only with a folder
        raise TrocarError(f"no folder for the results; run trocar sweep {study} -o DIR")
    if table is not None and rows is not None:
        raise TrocarError("--rows applies to the study's own table; omit it with --table")
    chosen, parameters = load_study(study), None if table is None else read_table(table)
    options: Any = {"executor": executor, "workers": workers, "address": address, "resume": resume}
    with _progress(chosen.name) as progress:
        results = run_sweep(chosen, parameters, output, **options, rows=rows, seed=seed, progress=progress)
    _show(results, chosen, report)
    if len(results.errors) == len(results):
        raise typer.Exit(1)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[Progress], None]]:
    """Show rows, errors and remaining time on one line of the terminal; in a log, print a line at intervals."""
    last = time.monotonic()

    def text(state: Progress) -> str:
        errors = f", {state.errors} failed" if state.errors else ""
        return f"{name}: {state.done} of {state.rows} rows{errors}, about {_duration(state.seconds_left)} left"

    def log(state: Progress) -> None:
        nonlocal last
        if time.monotonic() - last > LOG_EVERY:
            last = time.monotonic()
            typer.echo(text(state), err=True)

    with status_line(f"{name}: starting") as line:
        yield (lambda state: line(text(state))) if sys.stderr.isatty() else log


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _show(results: Results, study: Study | None, report: bool) -> None:
    from trocar.plots import save_numbered
    from trocar.sweep import overview

    study = overview.study_of(results, study)
    failed = results.errors
    title = f"{results.manifest.study}: {len(results)} of {results.manifest.rows} rows, {len(failed)} failed"
    headings = overview.HEADINGS if terminal_width() >= WIDE else overview.NARROW
    columns = [overview.HEADINGS.index(heading) for heading in headings]
    show_table(title, headings, [[row[k] for k in columns] for row in overview.statistics(results)])
    for text, value in overview.findings(results, study):
        typer.echo(f"{text}: {value}")
    for row, error in failed[:SHOWN_ERRORS]:
        typer.echo(str(TrocarError(f"row {row} failed: {error}")))
    if len(failed) > SHOWN_ERRORS:
        typer.echo(f"... and {len(failed) - SHOWN_ERRORS} more")
    if report:
        written = [overview.report(results, study).write_html(results.folder / "report.html")]
    else:
        written = save_numbered((figure for figure, _ in overview.figures(results, study)), results.folder)
    show_written(written)
