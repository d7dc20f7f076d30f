"""`trocar identify`: from a recording to a physically consistent parameter file."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from trocar.commands.terminal import plain, plain_errors, progress_bar
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trocar.identification.identify import Identified
    from trocar.recording import Recording
    from trocar.spatial import Array

KEYS = (
    "joints",
    "train_relative_error",
    "cv_relative_error",
    "test_relative_error",
    "seconds",
    "solver_status",
    "min_pseudo_inertia_eigenvalue",
    "rotor_inertia",
    "recipe",
)


def identify(
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="Recording: csv, npz, or a ROS bag.")],
    test: Annotated[
        Path | None, typer.Option(metavar="TEST", help="Recording to judge the result on.", show_default=False)
    ] = None,
    arm: Annotated[str, typer.Option(metavar="ARM", help="PSM, ECM, MTML, MTMR, PSM_Si or ECM_Si.")] = "PSM",
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the figures to FILE.", show_default=False)
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Write the predicted effort of every row of TEST.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.toml",
            help="Write the parameter file (with --search: the recipe).",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write plots and DIR/identify.html.", show_default=False),
    ] = None,
    recalibrate: Annotated[
        Path | None,
        typer.Option(
            metavar="BASE.toml", help="Refit friction and offsets of BASE only, to TRAIN.", show_default=False
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", help="With --recalibrate: use the first S seconds.", show_default=False),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option(
            metavar="RECIPE.toml",
            help="Another recipe than the arm's own, such as --search writes.",
            show_default=False,
        ),
    ] = None,
    search: Annotated[
        bool, typer.Option("--search", help="Choose a recipe for this arm by cross-validation on TRAIN.")
    ] = False,
    budget: Annotated[int, typer.Option(metavar="N", min=1, help="With --search: most recipes to try.")] = 100,
    rate: Annotated[
        float | None,
        typer.Option(metavar="HZ", help="Samples per second of a table without header; 200.", show_default=False),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(metavar="NAME", help="The arm in a bag, such as PSM1.", show_default=False)
    ] = None,
) -> None:
    """Identify an arm from a recording of its motion and effort.

    Example: [bold]trocar identify one_results.csv --test two_results.csv -o mine.toml[/bold],
    then [bold]trocar sim PSM --parameters mine.toml[/bold].

    The result is physically consistent (links that can exist, rotors and friction not negative) and has
    friction with memory. Errors are |measured - predicted| / |measured| of each joint's effort: on the rows
    fitted, on rows left out (cross-validation by phase of the motion; +- its standard error) and on TEST.

    TRAIN is a table as Wang et al. 2019 published it (q, dq, tau of seven columns, 200 Hz, no header), a csv
    with header, an npz, or a ROS 1 or ROS 2 bag with measured_js. SI units.

    What is fitted stands in a recipe: PSM and MTM have their own, other arms a general one. One for your arm:
    [bold]trocar identify one.csv --search -o recipe.toml[/bold] tries filters, weights and terms of the model on rows
    left out of TRAIN and takes the simplest that is as good as the best (minutes), then
    [bold]trocar identify one.csv --recipe recipe.toml -o mine.toml[/bold].

    A day later, friction has changed: [bold]trocar identify today.csv --recalibrate mine.toml --seconds 10
    -o today.toml[/bold] refits friction and offsets and keeps the rest.

    Exit status 2 if the recording cannot be used; no parameter file is written then.
    """
    figures: dict[str, Any] = dict.fromkeys(KEYS)
    try:
        with plain_errors():
            from trocar.files import check_writable

            try:
                check_writable(json_file, predictions, output, None if report is None else report / "identify.html")
                if output is not None and output.suffix != ".toml":
                    what = "a recipe" if search else "a parameter set"
                    raise TrocarError(f"{what} is a file NAME.toml, got {output}")
                if seconds is not None and recalibrate is None:
                    raise TrocarError("--seconds is for --recalibrate: identification takes the whole recording")
                ignored = {"--test": test, "--predictions": predictions, "--report": report}
                if recalibrate is not None and (given := [name for name, x in ignored.items() if x is not None]):
                    raise TrocarError(f"{', '.join(given)} cannot go with --recalibrate: leave it out")
                if predictions is not None and test is None:
                    raise TrocarError("--predictions needs --test: it holds the effort predicted for its rows")
                if namespace is not None:
                    from trocar.recording.bag_file import is_bag

                    if not any(is_bag(path) for path in (train, test) if path is not None):
                        raise TrocarError(f"--namespace names an arm of a bag, and {train} is none: leave it out")
                if search:
                    from trocar.commands.identify_search import search_recipe

                    others = {"--test": test, "--json": json_file, "--report": report, "--recalibrate": recalibrate}
                    given = [name for name, value in others.items() if value is not None]
                    if given:
                        raise TrocarError(f"{given[0]} does not go with --search: search first, then use its --recipe")
                    search_recipe(train, arm, recipe, budget, output, rate, namespace)
                elif recalibrate is not None:
                    figures |= _recalibrate(train, arm, recalibrate, seconds, output, recipe, rate, namespace)
                else:
                    figures = _identify(train, test, arm, predictions, output, report, recipe, rate, namespace)
            except (TrocarError, OSError) as error:
                figures["solver_status"] = f"error: {plain(error)}"
                raise
            except KeyboardInterrupt:
                figures["solver_status"] = "interrupted"
                raise
    finally:
        # Also after an error: a file left from an earlier run must not pass for the result of this one.
        if json_file is not None:
            with plain_errors():
                from trocar.files import write_whole

                write_whole(json_file, json.dumps(figures, indent=2, allow_nan=False) + "\n")


def _identify(
    train: Path,
    test: Path | None,
    arm: str,
    predictions: Path | None,
    output: Path | None,
    report: Path | None,
    recipe_file: Path | None,
    rate: float | None,
    namespace: str | None,
) -> dict[str, Any]:
    from trocar.files import write_whole
    from trocar.identification.identified_file import identified_text
    from trocar.identification.identify import identify as run
    from trocar.identification.recipe import load_recipe
    from trocar.identification.sources import load_recording

    start = time.perf_counter()
    recipe = load_recipe(arm, recipe_file)
    recording = load_recording(train, arm, rate=rate, namespace=namespace, recipe=recipe)
    other = None if test is None else load_recording(test, arm, rate=rate, namespace=namespace, recipe=recipe)
    with progress_bar(f"identify {arm}") as progress:
        found = run(recording, arm, recipe=recipe, progress=progress)
    seconds = time.perf_counter() - start
    error = None if other is None else found.relative_error(other)
    written: list[Path] = []
    if output is not None:
        written.append(write_whole(output, identified_text(found, train.name)))
    if predictions is not None and other is not None:
        written.append(write_whole(predictions, _predictions(found, other)))
    if report is not None:
        written += _report(found, other, error, report, train.name)
    Console().print(_table(found, error, arm))
    typer.echo(
        f"{seconds:.2f} s from file to parameters. Smallest eigenvalue of a pseudo-inertia "
        f"{found.min_pseudo_inertia_eigenvalue:.2g}, largest inertia of a link {found.largest_link_inertia:.2g} kg m^2."
    )
    typer.echo(f"Recipe: {recipe.name}.{_advice(recipe_file, arm)}")
    for path in written:
        typer.echo(f"Written: {path}")
    return {
        "joints": list(found.columns),
        "train_relative_error": found.train_relative_error.tolist(),
        "cv_relative_error": found.cv_relative_error.tolist(),
        "test_relative_error": None if error is None else error.tolist(),
        "seconds": seconds,
        "solver_status": found.status,
        "min_pseudo_inertia_eigenvalue": found.min_pseudo_inertia_eigenvalue,
        "rotor_inertia": list(found.rotor_inertia.values()),
        "recipe": recipe.name,
    }


def _advice(recipe_file: Path | None, arm: str) -> str:
    """What to think of a recipe that was not named."""
    from trocar.identification.recipe import RECIPES

    if recipe_file is not None:
        return ""
    if arm in RECIPES:
        return " It was chosen on a published recording of another such arm; --search chooses one for yours."
    return " No recording chose it: its terms are those that every arm has; --search chooses more where they pay."


def _recalibrate(
    train: Path,
    arm: str,
    base: Path,
    seconds: float | None,
    output: Path | None,
    recipe_file: Path | None,
    rate: float | None,
    namespace: str | None,
) -> dict[str, Any]:
    """Refit friction; the figures: errors on rows not fitted are those of a test."""
    from trocar.arms.parameters import load_parameters
    from trocar.files import write_whole
    from trocar.identification.identified_file import recalibrated_text
    from trocar.identification.recalibration import recalibrate
    from trocar.identification.recipe import load_recipe
    from trocar.identification.sources import load_recording

    start = time.perf_counter()
    recipe = load_recipe(arm, recipe_file)
    recording = load_recording(train, arm, rate=rate, namespace=namespace, recipe=recipe)
    found = recalibrate(load_parameters(arm, base), recording, seconds, recipe)
    where = "after the rows fitted" if found.judged else "on the rows fitted"
    table = Table(title=f"{train.name}, relative error of effort {where}", title_justify="left")
    for heading in ("", "before", "after", "RMS after"):
        table.add_column(heading, justify="left" if not heading else "right")
    for j, name in enumerate(found.columns):
        table.add_row(name, *(f"{x[j]:.4f}" for x in (found.before, found.after)), f"{found.rms_after[j]:.4g}")
    Console().print(table)
    if output is not None:
        typer.echo(f"Written: {write_whole(output, recalibrated_text(found, base.name, train.name))}")
    return {
        "joints": list(found.columns),
        ("test" if found.judged else "train") + "_relative_error": found.after.tolist(),
        "seconds": time.perf_counter() - start,
        "solver_status": "recalibrated",
    }


def _predictions(found: Identified, recording: Recording) -> str:
    """A row for every row of the recording: its time and the predicted effort of each column."""
    import numpy as np

    from trocar.recording.channels import UNITS

    signals = found.prepared(recording)
    units = [UNITS["tau"][unit] for unit in recording.joint_units]
    head = ",".join(["t [s]", *(f"tau_{name} [{u}]" for name, u in zip(recording.joints, units, strict=True))])
    rows = np.column_stack([signals.t, found.recorded_efforts(recording)])
    return "\n".join([head, *(",".join(f"{x:.10g}" for x in row) for row in rows)]) + "\n"


def _report(found: Identified, other: Recording | None, error: Array | None, folder: Path, name: str) -> list[Path]:
    from trocar.identification.figures import effort_figure, effort_labels, error_figure
    from trocar.identification.motion import efforts
    from trocar.identification.recipe import joint_from_columns
    from trocar.plots import save
    from trocar.report import Report

    mechanism = found.mechanism()
    T = joint_from_columns(mechanism.arm, found.columns)
    page = Report(f"{found.parameters.arm} identified from {name}", figures_first=True)
    errors = {"train": found.train_relative_error, "cross-validation": found.cv_relative_error}
    if error is not None:
        errors["test"] = error
    lines = [f"{key}: " + ", ".join(f"{x:.4f}" for x in value) for key, value in errors.items()]
    page.paragraphs += [f"Relative errors of effort ({', '.join(found.columns)}), " + "; ".join(lines) + "."]
    page.paragraphs.append(
        f"Smallest eigenvalue of a pseudo-inertia {found.min_pseudo_inertia_eigenvalue:.2g}; rotors "
        + ", ".join(f"{key} {value:.2g} kg m^2" for key, value in found.rotor_inertia.items())
        + "."
    )
    page.add_figure(error_figure(errors, found.columns), "Relative error of effort, by column of the recording.")
    predicted = efforts(mechanism, T, found.signals)
    labels = effort_labels(found.columns, mechanism.arm, T)
    page.add_figure(effort_figure(found.signals, predicted, labels, name), "Training recording, first 15 s.")
    if other is not None:
        figure = effort_figure(found.prepared(other), found.efforts(other), labels, "test")
        page.add_figure(figure, "Test recording, first 15 s.")
    written = [page.write_html(folder / "identify.html")]
    for number, (figure, _) in enumerate(page.figures, start=1):
        written.append(save(figure, folder / f"figure-{number}.png"))
    return written


def _table(found: Identified, error: Array | None, arm: str) -> Table:
    from trocar.arms.tables import read

    family = "MTM" if arm.startswith("MTM") else arm
    # their identified parameters on their test recording
    published = read("identification_wang2019").get(family, {}).get("two", {}).get("SDP")
    note = "" if published is None else " (published: Wang et al. 2019, their test)"
    table = Table(title=f"Relative error of effort{note}", title_justify="left")
    columns: dict[str, Sequence[float] | Array] = {"fitted": found.train_relative_error}
    columns |= {"left out": found.cv_relative_error, "raw effort": found.raw_relative_error}
    if found.validation is not None:
        columns["+-"] = found.validation.standard_errors
    if error is not None:
        columns["test"] = error
    if published is not None:
        columns["published"] = published
    order = ("fitted", "left out", "+-", "test", "raw effort", "published")
    shown = [heading for heading in order if heading in columns]
    table.add_column("")
    for heading in shown:
        table.add_column(heading, justify="right")
    for j, name in enumerate(found.columns):
        table.add_row(name, *(f"{columns[heading][j]:.4f}" for heading in shown))
    return table
