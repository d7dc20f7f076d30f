"""`trocar fetch`: published recordings of real robots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trocar.commands.options import argument, option
from trocar.commands.terminal import plain_errors, progress_bar
from trocar.errors import check_known


@plain_errors()
def fetch(
    names: Annotated[
        list[str] | None, argument("NAME", "wang2019, ferro2022 or hwang2020. Default: all.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None, option("DIR", "Folder for the data. Default: trocar's cache folder.", "--output", "-o")
    ] = None,
) -> None:
    """Download published recordings of real robots.

    Example: [bold]trocar fetch && trocar reproduce wang2019[/bold]

    The data belong to their authors. Every file is verified by its SHA-256. Files that already exist are kept, so an
    interrupted run continues where it stopped. With -o DIR, pass DIR to other commands with --data or TROCAR_DATA.
    """
    from trocar_reproductions.datasets import DATASETS, fetched_folder

    check_known("data", DATASETS, *(names or ()))
    folder = fetched_folder() if output is None else output
    for name in dict.fromkeys(names or DATASETS):
        dataset = DATASETS[name]
        typer.echo(f"{name}: {dataset.title}. {dataset.citation}. {dataset.repository}")
        with progress_bar(f"fetching {len(dataset.files)} files") as progress:
            new = dataset.fetch(folder, progress)
        there = len(dataset.files) - len(new)
        typer.echo(f"{len(new)} files fetched, {there} already present: {folder / dataset.folder}")
    if output is not None:
        typer.echo(f"Use them with --data {output}, or set TROCAR_DATA.")
