"""Terminal of commands: one-line errors, signals, progress bars, tables and the list of written files."""

from __future__ import annotations

import math
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from trocar.errors import TrocarError

INTERRUPTED = 130  # exit status after Ctrl-C, as in shells
LOGGED = 10.0  # time between two lines of progress where there is no terminal [s]
_DESCRIPTION = TextColumn("{task.description}", markup=False)


@contextmanager
def plain_errors(remedy: str = "run it again") -> Iterator[None]:
    """Turn user errors into one line on stderr and exit status 2, and Ctrl-C into one line and exit status 130.

    remedy: advice after Ctrl-C. Commands write their results at the end, each file atomically.
    """
    try:
        yield
    except (TrocarError, OSError) as error:
        typer.echo(f"error: {plain(error)}", err=True)
        raise typer.Exit(2) from error
    except MemoryError as error:
        reason = f": {error}" if str(error) else ""
        typer.echo(f"error: not enough memory{reason}; simulate or record less at a time", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo(f"interrupted; no partial files were written; {remedy}", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def termination_interrupts() -> Iterator[None]:
    """Make SIGTERM end a server as Ctrl-C does, and SIGINT too in the background, where shells let it be ignored."""
    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def own_command() -> str:
    """Words with which the user starts this program in the current folder: `trocar` if the shell finds this one."""
    program = Path(sys.argv[0])
    if program.name != "trocar":  # python -m trocar
        return f"{sys.executable} -m trocar"
    on_path = shutil.which("trocar")
    if on_path is not None and Path(on_path).resolve() == program.resolve():
        return "trocar"
    inside = program.absolute().is_relative_to(Path.cwd())
    return str(program.absolute().relative_to(Path.cwd()) if inside else program.absolute())


def plain(error: Exception) -> str:
    """The message of an error. For an OSError: the file, then the reason, without the error number."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return str(TrocarError(f"{error.filename}: {error.strerror}"))  # TrocarError keeps it to one line
    return str(error)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], None]]:
    """A temporary progress bar on stderr with the time that is left; yields a function that takes the fraction done.

    Where stderr is no terminal, a line every ten seconds instead, with the time that is left.
    """
    if not Console(stderr=True).is_terminal:
        yield _logged(title)
        return
    percentage, left = TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn()
    with _transient(_DESCRIPTION, BarColumn(), percentage, left, TextColumn("left,")) as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda fraction: progress.update(task, completed=fraction)


def _logged(title: str) -> Callable[[float], None]:
    """A function that takes the completed fraction and prints it now and then."""
    begin = last = time.monotonic()

    def report(fraction: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LOGGED and 0.0 < fraction < 1.0:
            last = now
            left = (now - begin) * (1.0 / fraction - 1.0)
            print(f"{title}: {100 * fraction:.0f} %, about {left:.0f} s left", file=sys.stderr, flush=True)

    return report


def _logged_texts(prefix: str) -> Callable[[str], None]:
    """A function that takes texts and prints the first, and another one now and then."""
    last = -math.inf

    def report(text: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LOGGED:
            last = now
            print(prefix + text, file=sys.stderr, flush=True)

    return report


@contextmanager
def status_line(title: str, prefix: str = "") -> Iterator[Callable[[str], None]]:
    """A temporary status line on stderr; yields a function that replaces its text after the prefix.

    Where stderr is no terminal: a line with the first new text, and another one every ten seconds.
    """
    if not Console(stderr=True).is_terminal:
        yield _logged_texts(prefix)
        return
    with _transient(SpinnerColumn(), _DESCRIPTION) as progress:
        task = progress.add_task(prefix + title, total=None)
        yield lambda text: progress.update(task, description=prefix + text)


def _transient(*columns: ProgressColumn) -> Progress:
    """Progress on stderr, so that stdout can be redirected."""
    settings: Any = {"transient": True, "redirect_stdout": False}
    return Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), **settings)


def terminal_width() -> int:
    """Columns of the terminal."""
    return Console().width


def show_table(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,), caption: str = ""
) -> None:
    """Print a table. Columns are right-aligned, except those whose index is in `left`."""
    table = Table(title=title, title_justify="left", caption=caption or None)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i in left else "right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def figure_text(value: float, digits: int = 3) -> str:
    """A figure with so many significant digits; "0" where it is below the rounding error of the engine, 1e-9."""
    return f"{value:.{digits}g}" if abs(value) >= 1e-9 else "0"


def show_written(paths: Sequence[Path]) -> None:
    """List the files that were written."""
    if paths:
        typer.echo("\n  ".join(["Written:", *map(str, paths)]) if len(paths) > 1 else f"Written: {paths[0]}")


def save_picture(path: Path, *view: Any) -> list[Path]:
    """Render an arm or a scene with `render` and write it as a PNG file."""
    from trocar.appearance import render, save_png

    return [save_png(path, render(*view))]


def drawn(draw: Callable[..., list[Path]], *arguments: Any) -> list[Path]:
    """The pictures written by `draw`. If rendering fails: none, with the reason on stderr."""
    try:
        return draw(*arguments)
    except (TrocarError, ImportError) as error:
        typer.echo(f"no picture: {error}", err=True)
        return []
