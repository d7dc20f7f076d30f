"""Tables, figures and the report page of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar.errors import TrocarError
from trocar.plots import style
from trocar.report import Report
from trocar.sweep.results import Results
from trocar.sweep.study import STUDIES, Study, load_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLOTTED = 12  # results in the default figure
HEADINGS = ("result", "rows", "mean", "std", "min", "5 %", "median", "95 %", "max")


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
        values = numbers(results, name)
        if values is not None and values.size:
            quantiles = np.quantile(values, [0.0, 0.05, 0.5, 0.95, 1.0])
            figures = (values.mean(), values.std(), *quantiles)
            rows.append((name, str(len(values)), *(f"{x:.4g}" for x in figures)))
    return rows


def numbers(results: Results, name: str) -> np.ndarray | None:
    """Finite values of a result; None if it is text or an array."""
    values = results[name]
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        return None
    values = values.astype(float)
    return np.asarray(values[np.isfinite(values)])


def findings(results: Results, study: Study | None) -> list[tuple[str, str]]:
    """The study's findings, as pairs of text and value."""
    own = getattr(study.module, "findings", None) if study else None
    return [(str(text), str(value)) for text, value in _called(own, results, study)] if own else []


def figures(results: Results, study: Study | None) -> Sequence[tuple[Figure, str]]:
    """The study's figures with captions. Default: distributions of all results."""
    own = getattr(study.module, "figures", None) if study else None
    with style():
        return _called(own, results, study) if own else distributions(results)


def _called(function: Any, results: Results, study: Study | None) -> Any:
    assert study is not None
    try:
        return function(results)
    except TrocarError:
        raise
    except Exception as error:
        message = f"{function.__name__}(results) of {study.name} raised {type(error).__name__}: {error}"
        raise TrocarError(message) from error


def distributions(results: Results) -> list[tuple[Figure, str]]:
    """Histograms of the numeric results."""
    from matplotlib.figure import Figure

    columns = [(name, values) for name in results.outcomes if (values := numbers(results, name)) is not None]
    columns = [(name, values) for name, values in columns if values.size][:PLOTTED]
    if not columns:
        return []
    rows = -(-len(columns) // 3)
    figure = Figure(figsize=(9.0, 2.2 * rows))
    for k, (name, values) in enumerate(columns):
        axes = figure.add_subplot(rows, min(3, len(columns)), k + 1)
        axes.hist(values, bins=min(50, max(5, len(values) // 10)))
        axes.set_title(name)
    return [(figure, f"Distributions over the {len(results)} rows of {results.manifest.study}.")]


def report(results: Results, study: Study | None) -> Report:
    """The report page of a sweep."""
    manifest = results.manifest
    page = Report(study.title if study else f"Sweep of {manifest.study}")
    failed = results.errors
    page.paragraphs.append(
        f"{len(results)} of {manifest.rows} rows, {len(failed)} with an error. Parameters: "
        f"{', '.join(manifest.parameters)}. trocar {manifest.trocar}, table {manifest.table[:12]}."
    )
    page.paragraphs += [f"{text}: {value}" for text, value in findings(results, study)]
    for name, count, mean, std, least, low, median, high, most in statistics(results):
        spread = f"median {median}, 90 % between {low} and {high}, all between {least} and {most}"
        page.paragraphs.append(f"{name}: mean {mean}, standard deviation {std}, {spread} ({count} rows)")
    page.paragraphs += [f"Row {row} failed: {error}" for row, error in failed[:10]]
    for figure, caption in figures(results, study):
        page.add_figure(figure, caption)
    return page
