"""Pictures of an identification: measured and predicted effort, and friction over position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from trocar.arms import Arm
from trocar.identification.signals import Signals
from trocar.plots import COLOURS, style
from trocar.spatial import Array


def effort_labels(names: Sequence[str], arm: Arm, T: Array) -> tuple[str, ...]:
    """Names of columns with the unit of their effort; T (n, n) has the joints' values of those of the columns."""
    driven = [arm.joints[int(np.flatnonzero(T[:, j])[0])] for j in range(len(names))]
    return tuple(
        f"{name} [{'N' if joint.kind == 'prismatic' else 'N m'}]" for name, joint in zip(names, driven, strict=True)
    )


def effort_figure(signals: Signals, predicted: Array, columns: tuple[str, ...], title: str) -> Figure:
    """Effort of every column over time, and what is left; predicted (N, n) at every row."""
    used = signals.used
    t = signals.t[used]
    shown = t <= t[0] + 15.0
    with style():
        figure = Figure(figsize=(10.0, 1.4 * len(columns) + 0.8))
        for j, axes in enumerate(figure.subplots(len(columns), 1, sharex=True)):
            measured, model = signals.tau[used, j][shown], predicted[used, j][shown]
            axes.plot(t[shown], measured, color=COLOURS[0], label="measured")
            axes.plot(t[shown], model, color=COLOURS[1], lw=1.0, label="model")
            axes.plot(t[shown], measured - model, color=COLOURS[2], lw=0.8, label="difference")
            axes.set_ylabel(columns[j])
            axes.yaxis.set_label_coords(-0.09, 0.5)
        figure.axes[0].set_title(title)
        # above the curves: they fill their axes
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        figure.axes[-1].set_xlabel("t [s]")
    return figure


def error_figure(errors: dict[str, Array], columns: tuple[str, ...]) -> Figure:
    """Relative errors by column, one bar for each name."""
    with style():
        figure = Figure(figsize=(10.0, 3.0))
        axes = figure.subplots()
        width = 0.8 / len(errors)
        for k, (name, values) in enumerate(errors.items()):
            axes.bar([j + (k + 0.5) * width - 0.4 for j in range(len(columns))], values, width, label=name)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_ylabel("relative error of effort")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=len(errors))
    return figure
