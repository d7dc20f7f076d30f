"""Pictures of an identification: measured and predicted effort, and friction over position."""

from __future__ import annotations

from matplotlib.figure import Figure

from trocar.identification.signals import Signals
from trocar.plots import COLOURS, style
from trocar.spatial import Array


def effort_figure(signals: Signals, predicted: Array, columns: tuple[str, ...], title: str) -> Figure:
    """Effort of every column over time, and what is left; predicted (N, n) at every row."""
    used = signals.used
    t = signals.t[used]
    shown = t <= t[0] + 15.0
    with style():
        figure = Figure(figsize=(9.0, 1.5 * len(columns) + 0.8))
        figure.suptitle(title)
        for j, axes in enumerate(figure.subplots(len(columns), 1, sharex=True)):
            measured, model = signals.tau[used, j][shown], predicted[used, j][shown]
            axes.plot(t[shown], measured, color=COLOURS[0], label="measured")
            axes.plot(t[shown], model, color=COLOURS[1], lw=1.0, label="model")
            axes.plot(t[shown], measured - model, color=COLOURS[2], lw=0.8, label="difference")
            axes.set_ylabel(columns[j])
        figure.axes[0].legend(loc="upper right", ncols=3, fontsize="small")
        figure.axes[-1].set_xlabel("t [s]")
    return figure


def error_figure(errors: dict[str, Array], columns: tuple[str, ...]) -> Figure:
    """Relative errors by column, one bar for each name."""
    with style():
        figure = Figure(figsize=(9.0, 3.0))
        axes = figure.subplots()
        width = 0.8 / len(errors)
        for k, (name, values) in enumerate(errors.items()):
            axes.bar([j + (k + 0.5) * width - 0.4 for j in range(len(columns))], values, width, label=name)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_ylabel("relative error of effort")
        axes.legend(fontsize="small")
    return figure
