"""Figures and clips of the report on Ferro et al. 2022."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from trocar.appearance import Picture, Trace, render, render_video
from trocar.control.trajectories import CartesianPath
from trocar.demo.effort_figures import Curve, efforts, engine_and_model, tip_error
from trocar.demo.torque_control import R_WORLD_BASE, UNITS, Transient, engine_torque
from trocar.errors import TrocarError
from trocar.plots import COLOURS, panels, style
from trocar.recording import Recording
from trocar.report import Report
from trocar.simulation import Simulator
from trocar.spatial import Array
from trocar_reproductions.experiment import Context
from trocar_reproductions.ferro2022.logs import Log, MeasuredMotion

TITLES = tuple(f"J{j + 1} [{unit}]" for j, unit in enumerate(UNITS))
THEIRS, MEASURED = COLOURS[5], COLOURS[2]
CLIP, FPS = 3.0, 12.5  # longest clip [s], pictures per second
WANTED, TRAVELLED = (0.25, 0.25, 0.25, 1.0), (0.84, 0.37, 0.0, 1.0)


@style()
def kinematic(curves: Sequence[tuple[str, Array, Array]]) -> Figure:
    """Position and orientation error over time, one row per path."""
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


def torques(runs: Sequence[tuple[Recording, Array]], theirs: Sequence[Log | None]) -> Figure:
    """Engine and model torque (and the authors' if logged), one row per run."""
    look = {"color": THEIRS, "lw": 0.5, "label": "theirs"}
    logged = [[] if log is None else [Curve(log.t, log.simulated(), look)] for log in theirs]
    rows = [curves + engine_and_model(*run) for curves, run in zip(logged, runs, strict=True)]
    return efforts(rows, [TITLES] * len(rows))


def excitation(measured: MeasuredMotion, runs: Sequence[tuple[str, Recording, Array]]) -> Figure:
    """Simulated, model and measured torque over 10 s, one row per run."""
    real = Curve(measured.t, measured.tau, {"color": MEASURED, "lw": 0.8, "label": "measured"})
    rows = [[real, *engine_and_model(recording, model)] for _, recording, model in runs]
    return efforts(rows, [(f"{TITLES[0]}, {name}", *TITLES[1:]) for name, *_ in runs], until=10.5)


@style()
def transient(rigid: Transient, log: Log | None = None) -> Figure:
    """Tip error, the linear solution (and the authors' error if logged), and efforts."""
    t = rigid.recording.t
    early = t <= 0.5
    figure, (error, effort) = panels((10.0, 2.8), 1, 2)
    tip_error(error, rigid, 0.5)
    if log is not None:
        rows = log.t <= 0.5
        theirs = 1e3 * ((log["pdes"] - log["pee"]) @ R_WORLD_BASE)[rows]
        for k in range(3):
            error.plot(log.t[rows], theirs[:, k], color=COLOURS[k], lw=0.7, marker=".", ms=3, alpha=0.6)
        error.set(title="tip error [mm], dots: theirs")
    error.legend()
    for j, title in enumerate(TITLES):
        effort.plot(t[early], engine_torque(rigid.recording)[early, j], label=title)
    effort.set(title="efforts", xlabel="t [s]")
    effort.legend()
    return figure


def film(context: Context, report: Report, name: str, t: Array, q: Array, path: CartesianPath | None = None) -> None:
    """Render a clip of a motion q (N, 7) at t (N,) with its path and list it in the report, if clips are enabled."""
    if context.video is None:
        return
    context.progress(f"{name}: clip")
    sim = Simulator("PSM", contacts=False)
    rows = np.searchsorted(t, np.arange(0.0, min(CLIP, t[-1]), 1.0 / FPS))
    tip = sim.mechanism.forward_kinematics(q[: rows[-1] + 1])[:, :3, 3]
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
