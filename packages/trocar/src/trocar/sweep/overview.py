"""Tables, figures and the report page of a sweep."""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.plots import panels, style
from trocar.report import Report
from trocar.spatial import Array
from trocar.sweep.results import Figures, Results
from trocar.sweep.study import STUDIES, Study, load_study

PLOTTED = 12  # results in the default figure
HEADINGS = ("result", "rows", "mean", "std", "min", "5 %", "median", "95 %", "max")
NARROW = ("result", "mean", "std", "5 %", "median", "95 %")  # headings for a terminal of 80 columns


def study_of(results: Results, study: Study | None = None) -> Study | None:
    """The study that draws the figures: `study`, or the shipped one named in the manifest.

    A file named in a manifest is never run, because results may come from other people.
    """
    if study is None:
        return load_study(results.manifest.study) if results.manifest.study in STUDIES else None
    if study.name != results.manifest.study:
        raise TrocarError(f"{results.folder} belongs to the study {results.manifest.study}, not {study.name}")
    return study


def statistics(results: Results) -> list[tuple[str, ...]]:
    """A row of statistics for each numeric result; see `HEADINGS`."""
    rows = []
    for name in results.outcomes:
        if (values := numbers(results, name)).size:
            figures = (values.mean(), values.std(), *np.quantile(values, [0.0, 0.05, 0.5, 0.95, 1.0]))
            rows.append((name, str(len(values)), *(f"{x:.4g}" for x in figures)))
    return rows


def numbers(results: Results, name: str) -> Array:
    """Finite values of a result; none if it is text or an array."""
    values = results[name]
    values = values.astype(float) if values.ndim == 1 and values.dtype.kind in "biuf" else np.empty(0)
    return np.asarray(values[np.isfinite(values)])


def findings(results: Results, study: Study | None) -> list[tuple[str, str]]:
    """The study's findings, as pairs of text and value."""
    return [(str(text), str(value)) for text, value in _own("findings", results, study) or ()]


def figures(results: Results, study: Study | None) -> Figures:
    """The study's figures with captions. Default: distributions of all results."""
    with style():
        own: Figures | None = _own("figures", results, study)
        return distributions(results) if own is None else own


def _own(name: str, results: Results, study: Study | None) -> Any:
    """Value of an optional function of the study; None if the study has none."""
    function = getattr(study.module, name, None) if study else None
    if function is None or study is None:
        return None
    try:
        return function(results)
    except TrocarError:
        raise
    except Exception as error:
        raise TrocarError(f"{name}(results) of {study.name} raised {type(error).__name__}: {error}") from error


def distributions(results: Results) -> Figures:
    """Histograms of the numeric results."""
    columns = [(name, values) for name in results.outcomes if (values := numbers(results, name)).size][:PLOTTED]
    if not columns:
        return []
    rows = -(-len(columns) // 3)
    figure, grid = panels((9.0, 2.2 * rows), rows, min(3, len(columns)), squeeze=False)
    for axes, (name, values) in zip(grid.flat, columns, strict=False):
        axes.hist(values, bins=min(50, max(5, len(values) // 10)))
        axes.set_title(name)
    for axes in grid.flat[len(columns) :]:
        axes.remove()
    return [(figure, f"Distributions over the {len(results)} rows of {results.manifest.study}.")]


def report(results: Results, study: Study | None) -> Report:
    """The report page of a sweep."""
    manifest = results.manifest
    page = Report(study.title if study else f"Sweep of {manifest.study}")
    failed = results.errors
    rows, names = f"{len(results)} of {manifest.rows} rows, {len(failed)} with an error", ", ".join(manifest.parameters)
    origin = f"trocar {manifest.trocar}, table {manifest.table[:12]}"
    page.paragraphs.append(f"{rows}. Parameters: {names}. {origin}.")
    page.paragraphs += [f"{text}: {value}" for text, value in findings(results, study)]
    for name, count, mean, std, lowest, low, median, high, highest in statistics(results):
        spread = f"median {median}, 90 % between {low} and {high}, all between {lowest} and {highest}"
        page.paragraphs.append(f"{name}: mean {mean}, standard deviation {std}, {spread} ({count} rows)")
    page.paragraphs += [f"Row {row} failed: {error}" for row, error in failed[:10]]
    for figure, caption in figures(results, study):
        page.add_figure(figure, caption)
    return page
