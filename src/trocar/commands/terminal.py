"""What commands share: errors as one line, and a progress bar that keeps out of the output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from trocar.errors import TrocarError


@contextmanager
def plain_errors() -> Iterator[None]:
    """Errors made by what the user asked for are one line on stderr and exit status 2."""
    try:
        yield
    except (TrocarError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], None]]:
    """A bar on stderr that goes away; yields a function to be called with the fraction done."""
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
    ) as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda fraction: progress.update(task, completed=fraction)
