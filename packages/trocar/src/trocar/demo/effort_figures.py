"""Figures of torque control: efforts of engine and model, tip error beside the linear one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from trocar.demo.torque_control import SETTLED, Transient, engine_torque
from trocar.plots import COLOURS, panels, style
from trocar.recording import Recording
from trocar.spatial import Array

ENGINE, MODEL = COLOURS[1], COLOURS[0]


class Curve(NamedTuple):
    """Efforts (N, 3) of the first three joints at times (N,) [s], and their line style."""

    t: Array
    tau: Array
    look: dict[str, Any]


@style()
def efforts(runs: Sequence[Sequence[Curve]], titles: Sequence[Sequence[str]], until: float = np.inf) -> Figure:
    """Curves after the transient: a row per run, a titled panel per joint."""
    figure, grid = panels((10.0, 2.4 * len(runs)), len(runs), 3, sharex=True, squeeze=False)
    for curves, row, texts in zip(runs, grid, titles, strict=True):
        for j, (axes, title) in enumerate(zip(row, texts, strict=True)):
            for t, tau, look in curves:
                late = (t >= SETTLED) & (t <= until)
                axes.plot(t[late], tau[late, j], **look)
            axes.set(title=title)
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
    for axes in grid[-1]:
        axes.set(xlabel="t [s]")
    return figure


def engine_and_model(recording: Recording, model: Array) -> list[Curve]:
    """Effort of the engine and of the model (N, 3)."""
    return [
        Curve(recording.t, engine_torque(recording), {"color": ENGINE, "label": "engine"}),
        Curve(recording.t, model, {"color": MODEL, "ls": "--", "lw": 0.9, "label": "model"}),
    ]


def tip_error(axes: Any, transient: Transient, until: float) -> None:
    """Tip error and the linear solution, up to a time [s]."""
    early = transient.recording.t <= until
    t = transient.recording.t[early]
    for k, axis in enumerate("xyz"):
        axes.plot(t, 1e3 * transient.error[early, k], color=COLOURS[k], label=axis)
        axes.plot(t, 1e3 * transient.ideal[early, k], color="k", ls=":", label="linear" if k == 2 else None)
    axes.set(title="tip error [mm]", xlabel="t [s]")
