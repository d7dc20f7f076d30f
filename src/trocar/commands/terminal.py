"""Terminal output of commands: one-line errors, progress bars, tables and the list of written files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from trocar.errors import TrocarError

INTERRUPTED = 130  # exit status, as shells have it for Ctrl-C
_DESCRIPTION = TextColumn("{task.description}", markup=False)


@contextmanager
def plain_errors(remedy: str = "run it again") -> Iterator[None]:
    """Errors made by what the user asked for are one line on stderr and exit status 2; Ctrl-C one line and 130.

    remedy: what to do after Ctrl-C. Results are written at the end of a command, each file whole.
    """
    try:
        yield
    except (TrocarError, OSError) as error:
        typer.echo(f"error: {plain(error)}", err=True)
        raise typer.Exit(2) from error
    except MemoryError as error:
        typer.echo(
            f"error: not enough memory{f': {error}' if str(error) else ''}; simulate or record less at a time", err=True
        )
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo(f"interrupted: no file is left half written; {remedy}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def plain(error: Exception) -> str:
    """The message of an error; of one of the system, the file first and no error number."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return str(TrocarError(f"{error.filename}: {error.strerror}"))  # one line, however long the name
    return str(error)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], None]]:
    """A bar on stderr that goes away; yields a function to be called with the fraction done."""
    with _transient(_DESCRIPTION, BarColumn(), TextColumn("{task.percentage:>3.0f} %")) as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda fraction: progress.update(task, completed=fraction)


@contextmanager
def status_line(title: str) -> Iterator[Callable[[str], None]]:
    """A line on stderr that goes away; yields a function to be called with the text to show instead of the title."""
    with _transient(SpinnerColumn(), _DESCRIPTION) as progress:
        task = progress.add_task(title, total=None)
        yield lambda text: progress.update(task, description=text)


def _transient(*columns: ProgressColumn) -> Progress:
    """Progress on stderr, leaving stdout alone, so that stdout can be redirected."""
    console = Console(stderr=True)
    return Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
        disable=not console.is_terminal,  # in a log it would leave empty lines
    )


def show_table(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,), caption: str = ""
) -> None:
    """Print a table; columns are aligned right, except those whose index is in `left`."""
    table = Table(title=title, title_justify="left", caption=caption or None)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i in left else "right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def show_written(paths: Sequence[Path]) -> None:
    """List the files that were written."""
    if paths:
        typer.echo("\n  ".join(["Written:", *map(str, paths)]) if len(paths) > 1 else f"Written: {paths[0]}")


def save_picture(path: Path, *view: Any) -> list[Path]:
    """Write what `render` draws of an arm or a scene as a PNG file."""
    from trocar.appearance import render, save_png

    return [save_png(path, render(*view))]


def drawn(draw: Callable[..., list[Path]], *arguments: Any) -> list[Path]:
    """The pictures that `draw` writes; if rendering fails, none, and a line on stderr gives the reason."""
    try:
        return draw(*arguments)
    except (TrocarError, ImportError) as error:
        typer.echo(f"no picture: {error}", err=True)
        return []
