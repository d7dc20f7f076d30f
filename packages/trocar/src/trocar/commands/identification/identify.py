"""`trocar identify`: from a recording to a physically consistent parameter file."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trocar as tr
from trocar.commands.options import ArmOption, JsonFile, argument, check_toml, flag, numbers, option
from trocar.commands.terminal import INTERRUPTED, plain, plain_errors, progress_bar, show_table, show_written
from trocar.errors import TrocarError
from trocar.files import check_writable, write_json, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trocar.identification import Identified, Recipe
    from trocar.identification.recipes.search import SearchResult, Trial
    from trocar.spatial import Array

KEYS = (
    *("joints", "train_relative_error", "cv_relative_error", "test_relative_error", "seconds"),
    *("solver_status", "min_pseudo_inertia_eigenvalue", "rotor_inertia", "recipe", "unexplained"),
)


@plain_errors()
def identify(
    train: Annotated[Path, argument("TRAIN", "Recording: csv, npz, or a ROS bag.")],
    test: Annotated[Path | None, option("TEST", "Recording to evaluate the result on.")] = None,
    arm: ArmOption = "PSM",
    json_file: JsonFile = None,
    predictions: Annotated[Path | None, option("FILE.csv", "Write the effort predicted for every row of TEST.")] = None,
    output: Annotated[
        Path | None, option("FILE.toml", "Write the parameter file (with --search: the recipe).", "--output", "-o")
    ] = None,
    report: Annotated[Path | None, option("DIR", "Write plots and DIR/identify.html.")] = None,
    recalibrate: Annotated[Path | None, option("BASE.toml", "Refit only friction and effort bias of BASE.")] = None,
    seconds: Annotated[float | None, option("S", "With --recalibrate: use only the first S seconds.")] = None,
    recipe: Annotated[
        Path | None, option("RECIPE.toml", "Use this recipe file (see --search) instead of the arm's built-in one.")
    ] = None,
    search: Annotated[bool, flag("Choose a recipe by cross-validation on TRAIN.", "--search")] = False,
    budget: Annotated[int, option("N", "With --search: largest number of recipes to try.", min=1)] = 100,
    rate: Annotated[float | None, option("HZ", "Sampling rate of a table without header. Default: 200.")] = None,
    namespace: Annotated[str | None, option("NAME", "Namespace of the arm in a bag, such as PSM1.")] = None,
    gravity: Annotated[
        str | None, option("X,Y,Z", "Gravity in the axes of the arm's base [m/s^2]. Default: the usual mounting.")
    ] = None,
) -> None:
    """Identify the dynamic parameters of an arm from a recording.

    Example: [bold]trocar identify one_results.csv --test two_results.csv -o mine.toml[/bold],
    then [bold]trocar sim PSM --parameters mine.toml[/bold].

    This turns the recording into a physically consistent model with hysteretic friction: links have positive mass and
    inertia, and rotor inertia and friction are not negative. Errors are |measured - predicted| / |measured| of each
    joint's effort: on the fitted rows, on held-out rows (cross-validation by phase of the motion, +- standard error)
    and on TEST.

    TRAIN is a table in the format of Wang et al. 2019 (seven columns each of q, dq, tau; 200 Hz; no header), a csv
    with header, an npz, or a ROS 1 or ROS 2 bag with measured_js, in SI units.

    A recipe defines the model and the fit. PSM and MTM have their own recipes, other arms a general one. To find one
    for your arm, [bold]trocar identify one.csv --search -o recipe.toml[/bold] tries filters, weights and model terms
    on held-out rows of TRAIN and keeps the simplest recipe that is as good as the best (takes minutes); then run
    [bold]trocar identify one.csv --recipe recipe.toml -o mine.toml[/bold].

    An arm that was tilted needs gravity in the axes of its base: [bold]--gravity 0,-4.9,-8.5[/bold].

    Friction changes from day to day: [bold]trocar identify today.csv --recalibrate mine.toml --seconds 10
    -o today.toml[/bold] refits friction and effort bias and keeps the rest.

    Exit status 2 if the recording cannot be used; then no parameter file is written.
    """
    figures: dict[str, Any] = dict.fromkeys(KEYS)
    try:
        check_writable(json_file, predictions, output, None if report is None else report / "identify.html")
        check_toml(output, "a recipe" if search else "a parameter set")
        _check(train, test, predictions, report, recalibrate, seconds, search, json_file, namespace)
        used = _recipe(arm, recipe, gravity, search)
        # Errors are per column of the file: motor columns are not converted to joints.
        rate, names = used.rate if rate is None else rate, used.columns
        read = partial(_read, arm=arm, as_recorded=True, columns=names, rate=rate, namespace=namespace)
        if search:
            _search(partial(read, train), train, arm, recipe, budget, output)
        elif recalibrate is not None:
            figures |= _recalibrate(read(train), arm, recalibrate, seconds, output, used, train.name)
        else:
            figures = _identify(read, train, test, predictions, output, report, used)
            typer.echo(f"Recipe: {used.name}.{_advice(recipe, arm)}")
    except (TrocarError, OSError) as error:
        figures["solver_status"] = f"error: {plain(error)}"
        raise
    except KeyboardInterrupt:
        figures["solver_status"] = "interrupted"
        raise
    finally:
        # Written even after an error: a file from an earlier run must not be mistaken for this run's result.
        if json_file is not None:
            write_json(json_file, figures)


def _recipe(arm: str, path: Path | None, gravity: str | None, search: bool) -> Recipe:
    """The recipe of an arm, under the gravity with which it was recorded."""
    from trocar.identification import load_recipe

    recipe = load_recipe(arm, path)
    if gravity is None:
        return recipe
    if search:
        raise TrocarError("--gravity cannot be combined with --search, which is for an arm that hangs as usual")
    return replace(recipe, gravity=tuple(numbers("gravity", gravity, (3,), "m/s^2 along x, y and z")))


def _check(
    train: Path,
    test: Path | None,
    predictions: Path | None,
    report: Path | None,
    recalibrate: Path | None,
    seconds: float | None,
    search: bool,
    json_file: Path | None,
    namespace: str | None,
) -> None:
    """Raise an error for options that contradict each other."""
    from trocar.recording.bag_file import is_bag

    if seconds is not None and recalibrate is None:
        raise TrocarError("--seconds requires --recalibrate; identification uses the whole recording")
    if recalibrate is not None:
        others = {"--test": test, "--predictions": predictions, "--report": report}
        _refuse(others, "cannot be combined with --recalibrate; omit it")
    if predictions is not None and test is None:
        raise TrocarError("--predictions requires --test; it contains the effort predicted for the rows of TEST")
    if namespace is not None and not any(is_bag(path) for path in (train, test) if path is not None):
        raise TrocarError(f"--namespace selects an arm in a bag, and {train} is not a bag; omit it")
    if search:
        others = {"--test": test, "--json": json_file, "--report": report, "--recalibrate": recalibrate}
        _refuse(others, "cannot be combined with --search; search first, then pass the result with --recipe")


def _read(path: Path, **options: Any) -> tr.Recording:
    """A recording; rows that repeat the time of the row before are dropped with a warning."""
    recording = tr.load_recording(path, **options, drop_repeats=True)
    if dropped := recording.provenance.get("dropped_rows"):
        typer.echo(f"warning: {path}: {dropped} rows repeat the time of the row before; they are dropped.", err=True)
    return recording


def _refuse(options: dict[str, Path | None], why: str) -> None:
    if names := [name for name, value in options.items() if value is not None]:
        raise TrocarError(f"{', '.join(names)} {why}")


def _identify(
    read: Callable[[Path], tr.Recording],
    train: Path,
    test: Path | None,
    predictions: Path | None,
    output: Path | None,
    report: Path | None,
    recipe: Recipe,
) -> dict[str, Any]:
    """Identify, print and write the result; returns the figures for --json."""
    from trocar.identification import identified_text
    from trocar.identification.figures import identification_report
    from trocar.plots import save_numbered

    start, name = time.perf_counter(), train.name
    recording, other = read(train), None if test is None else read(test)
    with progress_bar(f"identify {recipe.arm.name}") as progress:
        identified = tr.identify(recording, recipe.arm, recipe=recipe, progress=progress)
    seconds = time.perf_counter() - start
    error = None if other is None else identified.relative_error(other)
    written: list[Path] = []
    if output is not None:
        written.append(write_whole(output, identified_text(identified, name)))
    if predictions is not None and other is not None:
        written.append(write_whole(predictions, _predictions(identified, other)))
    if report is not None:
        page = identification_report(identified, other, name)
        written.append(page.write_html(report / "identify.html"))
        written += save_numbered((figure for figure, _ in page.figures), report)
    _show(identified, error, train)
    smallest = f"Smallest eigenvalue of a pseudo-inertia {identified.min_pseudo_inertia_eigenvalue:.2g}"
    largest = f"largest inertia of a link {identified.largest_link_inertia:.2g} kg m^2"
    typer.echo(f"{seconds:.2f} s from file to parameters. {smallest}, {largest}.")
    if identified.unexplained:
        names = ", ".join(identified.unexplained)
        typer.echo(
            f"warning: the model does not explain the effort of {names}; check its sign and its column, and that the "
            "joint moves enough.",
            err=True,
        )
    show_written(written)
    return {
        "joints": list(identified.columns),
        "train_relative_error": identified.train_relative_error.tolist(),
        "cv_relative_error": identified.cv_relative_error.tolist(),
        "test_relative_error": None if error is None else error.tolist(),
        "seconds": seconds,
        "solver_status": identified.status,
        "min_pseudo_inertia_eigenvalue": identified.min_pseudo_inertia_eigenvalue,
        "rotor_inertia": list(identified.rotor_inertia.values()),
        "recipe": recipe.name,
        "unexplained": list(identified.unexplained),
    }


def _advice(recipe_file: Path | None, arm: str) -> str:
    """A sentence on the origin of a built-in recipe and on how to get a better one."""
    from trocar.identification.recipes.recipe import RECIPES

    if recipe_file is not None:
        return ""
    if arm in RECIPES:
        return " It was chosen on a published recording of another arm of this type; --search chooses one for yours."
    return " It has the terms of the arm's parameter set; --search chooses those that fit your recording."


def _recalibrate(
    recording: tr.Recording, arm: str, base: Path, seconds: float | None, output: Path | None, recipe: Recipe, name: str
) -> dict[str, Any]:
    """Refit friction; returns the figures for --json, with errors on rows after the fitted ones as test errors."""
    from trocar.arms.parameters import load_parameters
    from trocar.identification import recalibrate, recalibrated_text

    start = time.perf_counter()
    result = recalibrate(load_parameters(arm, base), recording, seconds, recipe)
    columns = zip(result.columns, result.before, result.after, result.rms_after, strict=True)
    rows = [(joint, f"{before:.4f}", f"{after:.4f}", f"{rms:.4g}") for joint, before, after, rms in columns]
    title = f"{name}, relative error of effort {'after' if result.judged else 'on'} the fitted rows"
    show_table(title, ("", "before", "after", "RMS after"), rows)
    if output is not None:
        show_written([write_whole(output, recalibrated_text(result, base.name, name))])
    return {
        "joints": list(result.columns),
        ("test" if result.judged else "train") + "_relative_error": result.after.tolist(),
        "seconds": time.perf_counter() - start,
        "solver_status": "recalibrated",
    }


def _predictions(identified: Identified, recording: tr.Recording) -> str:
    """Write one row per row of the recording: its time and the predicted effort of each column."""
    import numpy as np

    from trocar.recording.motor_columns import UNITS

    signals = identified.prepared(recording)
    units = [UNITS["tau"][unit] for unit in recording.joint_units]
    head = ",".join(["t [s]", *(f"tau_{name} [{u}]" for name, u in zip(recording.joints, units, strict=True))])
    rows = np.column_stack([signals.t, identified.recorded_efforts(recording)])
    return "\n".join([head, *(",".join(f"{x:.10g}" for x in row) for row in rows)]) + "\n"


def _show(identified: Identified, error: Array | None, train: Path) -> None:
    import hashlib

    from trocar.arms.tables import read

    arm = identified.parameters.arm
    digest = hashlib.sha256(train.read_bytes()).hexdigest() if train.is_file() else ""  # a ROS 2 bag is a folder
    results = read("identification_wang2019").get("MTM" if arm.startswith("MTM") else arm, {})
    # errors of the parameters of Wang et al. 2019 on their test recording
    published = results["two"]["SDP"] if digest in results.get("sha256", ()) else None
    columns: dict[str, Sequence[float] | Array | None] = {
        "fitted": identified.train_relative_error,
        "held out": identified.cv_relative_error,
        "+-": None if identified.validation is None else identified.validation.standard_errors,
        "test": error,
        "raw effort": identified.raw_relative_error,
        "published": published,
    }
    filled = {heading: values for heading, values in columns.items() if values is not None}
    note = "" if published is None else " (published: Wang et al. 2019, their test)"
    rows = [(name, *(f"{values[j]:.4f}" for values in filled.values())) for j, name in enumerate(identified.columns)]
    show_table(f"Relative error of effort{note}", ("", *filled), rows)


def _search(
    read: Callable[[], tr.Recording], train: Path, arm: str, start: Path | None, budget: int, output: Path | None
) -> None:
    """Search from the recipe `start` (default: the arm's own), print the trials and write the chosen recipe."""
    if output is None:
        raise TrocarError("--search requires -o RECIPE.toml, the file to write the recipe to")
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
            remedy = "takes about this long and writes its result; continue from it with --recipe."
            typer.echo(f"--budget {len(tried)} {remedy}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    _show_trials(result)
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
    end = "." if result.finished else "; the budget is used up and the search has not converged."
    lines = [f"{len(result.trials)} recipes tried{end}"]
    for name, trial in (("start", result.start), ("best", result.best), ("chosen", result.chosen)):
        error = f"relative error {trial.error:.4f} +- {trial.validation.standard_error:.4f} on held-out rows"
        lines.append(f"{name}: {error}, {trial.parameters} drive parameters.")
    return lines


def _show_trials(result: SearchResult) -> None:
    """Print every trial in order. A change is relative to the best recipe before it."""
    rows = []
    for number, trial in enumerate(result.trials, start=1):
        marks = [name for name in ("best", "chosen") if getattr(result, name) is trial]
        numbers = f"{trial.error:.4f}", f"{trial.validation.standard_error:.4f}", str(trial.parameters)
        rows.append((str(number), trial.change, *numbers, ", ".join(marks)))
    headings = ("", "change", "error", "std. error", "parameters", "")
    show_table("Mean relative error of effort on held-out rows", headings, rows, left=(1,))
