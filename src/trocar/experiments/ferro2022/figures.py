"""Figures and clips of the report on Ferro et al. 2022."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from trocar.appearance.rendering import Picture, Trace, render, render_video
from trocar.control.trajectories import CartesianPath
from trocar.errors import TrocarError
from trocar.experiments.experiment import Context
from trocar.experiments.ferro2022.logs import UNITS, Log, MeasuredMotion
from trocar.experiments.ferro2022.runs import R_WORLD_BASE, Transient, engine_torque
from trocar.mechanics import load_mechanism
from trocar.plots import COLOURS, style
from trocar.recording import Recording
from trocar.report import Report
from trocar.simulation import Simulator
from trocar.spatial import Array

TITLES = tuple(f"J{j + 1} [{unit}]" for j, unit in enumerate(UNITS))
ENGINE, MODEL, THEIRS, MEASURED = COLOURS[1], COLOURS[0], COLOURS[5], COLOURS[2]
CLIP, FPS = 3.0, 12.5  # longest clip [s], pictures per second
WANTED, TRAVELLED = (0.25, 0.25, 0.25, 1.0), (0.84, 0.37, 0.0, 1.0)


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
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        for axes in grid[-1]:
            axes.set(xlabel="t [s]")
    return figure


def excitation(measured: MeasuredMotion, runs: Sequence[tuple[str, Recording, Array]]) -> Figure:
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


def transient(rigid: Transient, mirrored: Transient, log: Log | None = None) -> Figure:
    """Tip error beside the linear one (and theirs, where logged), efforts, and the discrepancy of joint 3."""
    t = rigid.recording.t
    early = t <= 0.5
    with style():
        figure = Figure(figsize=(10.0, 2.8))
        error, effort, force = figure.subplots(1, 3)
        for k, axis in enumerate("xyz"):
            error.plot(t[early], 1e3 * rigid.error[early, k], color=COLOURS[k], label=axis)
            error.plot(t[early], 1e3 * rigid.ideal[early, k], color="k", ls=":", label="linear" if k == 2 else None)
        if log is not None:
            rows = log.t <= 0.5
            theirs = 1e3 * ((log["pdes"] - log["pee"]) @ R_WORLD_BASE)[rows]
            for k in range(3):
                error.plot(log.t[rows], theirs[:, k], color=COLOURS[k], lw=0.7, marker=".", ms=3, alpha=0.6)
        error.set(title="tip error [mm]" + (", dots: theirs" if log is not None else ""), xlabel="t [s]")
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


def film(context: Context, report: Report, name: str, t: Array, q: Array, path: CartesianPath | None = None) -> None:
    """A clip of a motion q (N, 7) at t (N,) beside its path, and a line in the report, if clips are wanted."""
    if context.video is None:
        return
    context.progress(f"{name}: clip")
    mechanism, sim = load_mechanism("PSM"), Simulator("PSM", contacts=False)
    rows = np.searchsorted(t, np.arange(0.0, min(CLIP, t[-1]), 1.0 / FPS))
    tip = mechanism.forward_kinematics(q[: rows[-1] + 1])[:, :3, 3]
    wanted = [] if path is None else [path(s).T[:3, 3] for s in np.linspace(0.0, min(CLIP, path.duration), 200)]

    def picture(k: int) -> Picture:
        sim.place(q[k])
        traces = [Trace(tip[: k + 1 : max(1, k // 300)], TRAVELLED, 3.0)] if k else []
        if wanted:
            traces.append(Trace(np.array(wanted), WANTED, 1.5))
        return render(sim, "iso", (480, 360), traces=traces, shadows=False)

    target = context.video / f"ferro2022-{name.replace(' ', '-').replace(',', '')}.gif"
    try:
        report.paragraphs.append(f"Clip: {render_video(target, (picture(k) for k in rows), FPS).name}")
    except TrocarError as error:
        report.paragraphs.append(f"No clip {name}: {error}")
