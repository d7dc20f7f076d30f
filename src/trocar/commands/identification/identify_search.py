"""`trocar identify --search`: a recipe for the user's own arm."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trocar.commands.terminal import INTERRUPTED, progress_bar, show_table, show_written
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.identification.recipes.search import SearchResult, Trial
    from trocar.recording import Recording


def search_recipe(
    read: Callable[[], Recording], train: Path, arm: str, start: Path | None, budget: int, output: Path | None
) -> None:
    """Search from the recipe `start` (default: the arm's own), print the trials and write the chosen recipe."""
    if output is None:
        raise TrocarError("--search requires -o RECIPE.toml, the file to write the recipe to")
    from trocar.files import write_whole
    from trocar.identification.recipes.recipe import recipe_of, recipe_table
    from trocar.identification.recipes.search import search
    from trocar.toml_file import toml_text

    table = recipe_table(arm, start)
    recording = read()
    tried: list[Trial] = []
    try:
        with progress_bar(f"search for {arm}, up to {budget} recipes") as progress:

            def tell(number: int, trial: Trial) -> None:
                tried.append(trial)
                progress(number / budget)

            result = search(recording, arm, table, budget=budget, progress=tell)
    except KeyboardInterrupt:
        typer.echo(f"interrupted after {len(tried)} of up to {budget} recipes; no file was written.", err=True)
        if tried:
            typer.echo(
                f"--budget {len(tried)} takes about this long and writes its result; continue from it with --recipe.",
                err=True,
            )
        raise typer.Exit(INTERRUPTED) from None
    _show(result)
    summary = _summary(result)
    comments = [
        f"Recipe for a {arm}, chosen by trocar {version('trocar')} by cross-validation on {train.name} alone.",
        f"The search started from {recipe_of(arm, table, start).name}.",
        *summary,
        "Simplest within one standard error of the best. Use: trocar identify TRAIN --recipe THIS -o PARAMS.toml",
    ]
    for line in summary:
        typer.echo(line)
    show_written([write_whole(output, toml_text({"arm": arm, **result.chosen.table}, comments))])
    named = f" --arm {arm}" if arm != "PSM" else ""
    typer.echo(f"Next: trocar identify {train}{named} --recipe {output} -o PARAMS.toml")
    if not result.finished:
        typer.echo(f"To continue the search: the same command with --recipe {output}, or a larger --budget.")


def _summary(result: SearchResult) -> list[str]:
    """Summary of the search."""
    end = "." if result.finished else "; the budget is used up and the search has not converged."
    lines = [f"{len(result.trials)} recipes tried{end}"]
    for name, trial in (("start", result.start), ("best", result.best), ("chosen", result.chosen)):
        lines.append(
            f"{name}: relative error {trial.error:.4f} +- {trial.validation.standard_error:.4f} on held-out rows, "
            f"{trial.parameters} drive parameters."
        )
    return lines


def _show(result: SearchResult) -> None:
    """Print every trial in order. A change is relative to the best recipe before it."""
    rows = []
    for number, trial in enumerate(result.trials, start=1):
        marks = [name for name in ("best", "chosen") if getattr(result, name) is trial]
        numbers = f"{trial.error:.4f}", f"{trial.validation.standard_error:.4f}", str(trial.parameters)
        rows.append((str(number), trial.change, *numbers, ", ".join(marks)))
    headings = ("", "change", "error", "std. error", "parameters", "")
    show_table("Mean relative error of effort on held-out rows", headings, rows, left=(1,))
