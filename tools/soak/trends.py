"""Tables of a soak: trends of their columns, and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike


def trends(columns: Sequence[str], rows: ArrayLike) -> dict[str, dict[str, float]]:
    """Mean, largest magnitude and change over the run (by a straight-line fit) of all columns except the first.

    The first row is excluded if there are more, because the motion settles in it.
    """
    table, found = np.array(rows), {}
    table = table[1:] if len(table) > 1 else table
    for name, column in zip(columns[1:], table.T[1:], strict=True):
        slope = np.polyfit(np.linspace(0.0, 1.0, len(column)), column, 1)[0] if len(column) > 2 else 0.0
        found[name] = {
            "mean": float(column.mean()),
            "largest": float(np.abs(column).max()),
            "change": float(slope),
        }
    return found


def in_words(trends: Mapping[str, Mapping[str, float]]) -> str:
    """One line of text."""
    return "; ".join(
        f"{name} mean {v['mean']:.3g}, largest {v['largest']:.3g}, change over the run {v['change']:.2g}"
        for name, v in trends.items()
    )


def figure(columns: Sequence[str], rows: ArrayLike, hours: float, shown: Mapping[str, str]) -> Figure:
    """Columns over simulated hours; `shown` gives their labels."""
    table = np.array(rows)
    made = Figure(figsize=(10, 6), layout="constrained")
    for axes, (name, label) in zip(made.subplots(2, 2, sharex=True).flat, shown.items(), strict=False):
        axes.plot(hours / len(table) * (1 + np.arange(len(table))), table[:, columns.index(name)], lw=0.8)
        axes.set(ylabel=label, xlabel="simulated time [h]")
    return made
