"""`trocar identify --search`: a recipe for the user's own arm."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from trocar.commands.terminal import progress_bar
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.identification.recipe_search import Found, Trial


def search_recipe(
    train: Path,
    arm: str,
    start: Path | None,
    budget: int,
    output: Path | None,
    rate: float | None,
    namespace: str | None,
) -> None:
    """Search, print what was tried and write the recipe that was chosen."""
    if output is None:
        raise TrocarError("--search needs -o RECIPE.toml: the file that the recipe is written to")
    from trocar.files import write_whole
    from trocar.identification.recipe import recipe_of, recipe_table
    from trocar.identification.recipe_file import recipe_text
    from trocar.identification.recipe_search import search
    from trocar.identification.sources import load_recording

    table = recipe_table(arm, start)
    recipe = recipe_of(arm, table, None if start is None else str(start))
    recording = load_recording(train, arm, rate=rate, namespace=namespace, recipe=recipe)
    tried: list[Trial] = []
    try:
        with progress_bar(f"search for {arm}, up to {budget} recipes") as progress:

            def tell(number: int, trial: Trial) -> None:
                tried.append(trial)
                progress(number / budget)

            found = search(recording, arm, table, budget=budget, progress=tell)
    except KeyboardInterrupt:
        typer.echo(f"interrupted after {len(tried)} of up to {budget} recipes; nothing was written.", err=True)
        if tried:
            typer.echo(
                f"--budget {len(tried)} takes about as long, ends by itself and writes what it has; --recipe with "
                "that goes on from there.",
                err=True,
            )
        raise typer.Exit(130) from None
    Console().print(_table(found))
    comments = [
        f"Recipe for a {arm}, chosen by trocar {version('trocar')} by cross-validation on {train.name} alone.",
        f"It began from {recipe.name}.",
        *_summary(found),
        "Simplest within one standard error of the best. Use: trocar identify TRAIN --recipe THIS -o PARAMS.toml",
    ]
    for line in _summary(found):
        typer.echo(line)
    written = write_whole(output, recipe_text({"arm": arm, **found.chosen.table}, comments))
    typer.echo(f"Written: {written}")
    named = f" --arm {arm}" if arm != "PSM" else ""
    typer.echo(f"Next: trocar identify {train}{named} --recipe {output} -o PARAMS.toml")
    if not found.finished:
        typer.echo(f"To go on from here: the same command with --recipe {output}, or a larger --budget.")


def _summary(found: Found) -> list[str]:
    """The search in words."""
    end = "." if found.finished else ": the budget is spent, the search had not come to its end."
    lines = [f"{len(found.trials)} recipes tried{end}"]
    for name, trial in (("start", found.start), ("best", found.best), ("chosen", found.chosen)):
        lines.append(
            f"{name}: relative error {trial.error:.4f} +- {trial.validation.standard_error:.4f} on rows left out, "
            f"{trial.parameters} parameters of drives."
        )
    return lines


def _table(found: Found) -> Table:
    """Everything that was tried, in order; a change is to the best recipe before it."""
    table = Table(title="Mean relative error of effort on rows left out", title_justify="left")
    for heading in ("", "change", "error", "std. error", "parameters", ""):
        table.add_column(heading, justify="left" if heading == "change" else "right", no_wrap=heading != "change")
    marks = {id(found.best): "best", id(found.chosen): "chosen"}
    if found.best is found.chosen:
        marks = {id(found.best): "best, chosen"}
    for number, trial in enumerate(found.trials, start=1):
        numbers = f"{trial.error:.4f}", f"{trial.validation.standard_error:.4f}", str(trial.parameters)
        table.add_row(str(number), trial.change, *numbers, marks.get(id(trial), ""))
    return table
