"""Figures and clips of the report on Ferro et al. 2022."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from trocar.errors import TrocarError
from trocar.experiments.ferro2022_logs import UNITS, Excitation, Log
from trocar.experiments.ferro2022_runs import Transient, engine_torque
from trocar.plots import COLOURS, style
from trocar.recording import Recording
from trocar.simulation import Simulator
from trocar.simulation.rendering import Picture, render, render_video
from trocar.spatial import Array

TITLES = tuple(f"J{j + 1} [{unit}]" for j, unit in enumerate(UNITS))
ENGINE, MODEL, THEIRS, MEASURED = COLOURS[1], COLOURS[0], COLOURS[5], COLOURS[2]
CLIP = 4.0  # longest clip [s]


def kinematic(curves: Sequence[tuple[str, Array, Array]]) -> Figure:
    """Position and orientation error over time, one row per path."""
    with style():
        figure = Figure(figsize=(10.0, 2.2 * len(curves)))
        for (name, t, errors), row in zip(curves, figure.subplots(len(curves), 2, sharex=True), strict=True):
            for axes, columns, scale, unit in ((row[0], slice(0, 3), 1e3, "mm"), (row[1], slice(3, 6), 1.0, "rad")):
                for axis, values in zip("xyz", errors[:, columns].T, strict=True):
                    axes.plot(t, scale * values, label=axis)
                axes.set(title=f"{name} [{unit}]", xlim=(0.0, 2.0))
            row[1].legend()
        for axes in row:
            axes.set(xlabel="t [s]")
    return figure


def torques(runs: Sequence[tuple[Array, Array, Array]], theirs: Sequence[Log | None]) -> Figure:
    """Engine and model torque (and theirs, where logged) after the transient, one row per run."""
    with style():
        figure = Figure(figsize=(10.0, 2.4 * len(runs)))
        grid = figure.subplots(len(runs), 3, sharex=True, squeeze=False)
        for (t, tau, model), log, row in zip(runs, theirs, grid, strict=True):
            late = t >= 0.5
            for j, axes in enumerate(row):
                if log is not None:
                    axes.plot(log.t[log.settled], log.simulated()[log.settled, j], color=THEIRS, lw=0.5, label="theirs")
                axes.plot(t[late], tau[late, j], color=ENGINE, label="engine")
                axes.plot(t[late], model[late, j], color=MODEL, ls="--", label="model")
                axes.set(title=TITLES[j])
            row[-1].legend()
        for axes in grid[-1]:
            axes.set(xlabel="t [s]")
    return figure


def excitation(measured: Excitation, runs: Sequence[tuple[str, Recording, Array]]) -> Figure:
    """Simulated, model and measured torque, one row per run."""
    with style():
        figure = Figure(figsize=(10.0, 2.3 * len(runs)))
        grid = figure.subplots(len(runs), 3, sharex=True, squeeze=False)
        for (name, recording, model), row in zip(runs, grid, strict=True):
            late = (recording.t >= 0.5) & (recording.t <= 10.5)
            for j, axes in enumerate(row):
                axes.plot(measured.t[late], measured.tau[late, j], color=MEASURED, lw=0.8, label="measured")
                axes.plot(recording.t[late], engine_torque(recording)[late, j], color=ENGINE, label="engine")
                axes.plot(recording.t[late], model[late, j], color=MODEL, ls="--", lw=0.9, label="model")
                axes.set(title=f"{TITLES[j]}, {name}" if j == 0 else TITLES[j])
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        for axes in grid[-1]:
            axes.set(xlabel="t [s]")
    return figure


def transient(rigid: Transient, mirrored: Transient) -> Figure:
    """Tip error beside the linear one, efforts, and the discrepancy of joint 3."""
    t = rigid.recording.t
    early = t <= 0.5
    with style():
        figure = Figure(figsize=(10.0, 2.8))
        error, effort, force = figure.subplots(1, 3)
        for k, axis in enumerate("xyz"):
            error.plot(t[early], 1e3 * rigid.error[early, k], color=COLOURS[k], label=axis)
            error.plot(t[early], 1e3 * rigid.ideal[early, k], color="k", ls=":", label="linear" if k == 2 else None)
        error.set(title="tip error [mm]", xlabel="t [s]")
        error.legend()
        for j, title in enumerate(TITLES):
            effort.plot(t[early], engine_torque(rigid.recording)[early, j], label=title)
        effort.set(title="efforts", xlabel="t [s]")
        effort.legend()
        force.plot(t[early], mirrored.mismatch[early, 2], color=THEIRS, label="mirrored counterweight")
        force.plot(t[early], rigid.mismatch[early, 2], color=ENGINE, label="rigid transmission")
        force.set(title="J3: commanded less model [N]", xlabel="t [s]")
        force.legend()
    return figure


def film(folder: Path | None, name: str, recording: Recording, fps: float = 12.5) -> str:
    """A clip of the recorded motion, `folder/name.gif`, if there is a folder; what became of it, empty without one."""
    if folder is None:
        return ""
    sim = Simulator("PSM", contacts=False)
    rows = np.searchsorted(recording.t, np.arange(0.0, min(CLIP, recording.t[-1]), 1.0 / fps))

    def picture(q: Array) -> Picture:
        sim.place(q)
        return render(sim, "iso", (400, 300))

    try:
        return f"Clip: {render_video(folder / f'{name}.gif', (picture(recording.q[k]) for k in rows), fps).name}"
    except TrocarError as error:
        return f"No clip {name}: {error}"
