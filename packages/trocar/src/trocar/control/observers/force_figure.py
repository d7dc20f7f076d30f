"""Tip forces as a figure: estimate with its interval, and the sensor if there is one."""

from __future__ import annotations

from matplotlib.figure import Figure

from trocar.control.observers.force_intervals import TipForces
from trocar.plots import COLOURS, panels, style
from trocar.spatial import Array


@style()
def force_figure(forces: TipForces, title: str, sensor: Array | None = None) -> Figure:
    """One panel for each axis of the base. sensor: (N, 3) readings as forces on the arm, base axes [N]."""
    figure, axes = panels((8.0, 6.0), 3, sharex=True)
    figure.suptitle(title)
    t, force, half = forces.recording.t, forces.force, forces.half_width
    for i, panel in enumerate(axes):
        low, high = force[:, i] - half[:, i], force[:, i] + half[:, i]
        panel.fill_between(t, low, high, color=COLOURS[0], alpha=0.2, lw=0, label="95 % interval")
        panel.plot(t, force[:, i], color=COLOURS[0], lw=1.0, label="estimate")
        if sensor is not None:
            panel.plot(t, sensor[:, i], color=COLOURS[1], lw=1.0, label="sensor")
        panel.set_ylabel(f"F{'xyz'[i]} [N]")
    axes[-1].set_xlabel("t [s]")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3, fontsize="small")
    return figure
