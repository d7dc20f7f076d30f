"""Figures of the report on Zhou et al. 2025."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from trocar.identification.si.gravity import StaticTable
from trocar.plots import COLOURS, panels, style
from trocar.spatial import Array
from trocar_reproductions.zhou2025.other_arms import COLUMNS, ClosedLoop
from trocar_reproductions.zhou2025.runs import DRIFT, PRINTED_UNITS, DriftTest

TITLES = ("yaw", "pitch", "insertion")
EFFORT = ("N m", "N m", "N")
LENGTH = ("deg", "deg", "mm")


@style()
def drift(tests: Mapping[int, DriftTest], falls: Mapping[int, tuple[Array, Array]]) -> Figure:
    """Distance over time, a panel per joint; dashed: with the motors off."""
    figure, grid = panels((10.0, 3.0), 1, 3)
    for j, axes in enumerate(grid):
        for k, test in tests.items():
            axes.plot(test.t, PRINTED_UNITS[j] * test.moved[:, j], color=COLOURS[k], label=f"pose {k + 1}")
            axes.plot(falls[k][0], PRINTED_UNITS[j] * falls[k][1][:, j], color=COLOURS[k], ls="--", lw=1.0)
        limit = PRINTED_UNITS[j] * DRIFT[j]
        for sign in (-1, 1):
            axes.axhline(sign * limit, color="0.5", lw=0.8, ls=":")
        axes.set(title=f"{TITLES[j]} [{LENGTH[j]}]", xlabel="t [s]", ylim=(-3.0 * limit, 3.0 * limit))
    axes.legend(ncols=2, fontsize="small")
    return figure


@style()
def errors(table: StaticTable, as_written: Mapping[int, DriftTest], with_PD: Mapping[int, DriftTest]) -> Figure:
    """Steady errors of PD and of PD with compensation, simulated and printed."""
    poses = list(as_written)
    series = (
        ("PD, printed", table.PD_error[poses], COLOURS[0]),
        ("PD, simulated", _printed([as_written[k].PD_error for k in poses]), COLOURS[4]),
        ("GC, printed", table.GC_error[poses], COLOURS[1]),
        ("PD + GC, simulated", _printed([with_PD[k].PD_error for k in poses]), COLOURS[5]),
    )
    figure, grid = panels((10.0, 3.0), 1, 3)
    for j, axes in enumerate(grid):
        for i, (label, values, colour) in enumerate(series):
            axes.bar(np.arange(len(poses)) + 0.2 * (i - 1.5), values[:, j], 0.18, color=colour, label=label)
        axes.set(title=f"{TITLES[j]} [{LENGTH[j]}]", xlabel="pose")
        axes.set_xticks(np.arange(len(poses)), [str(k + 1) for k in poses])
        axes.grid(visible=False, axis="x")
    axes.legend(fontsize="small")
    return figure


def _printed(values: Sequence[Array]) -> Array:
    return PRINTED_UNITS * np.abs(np.array(values))


@style()
def bounds(table: StaticTable, ends: Array, compensation: Array) -> Figure:
    """Bands of efforts that hold a joint, printed and simulated (5, 3, 2), and compensation efforts (5, 3)."""
    x = np.arange(5)
    figure, grid = panels((10.0, 3.2), 1, 3)
    for j, axes in enumerate(grid):
        axes.vlines(x, table.lower[:, j], table.upper[:, j], color=COLOURS[4], lw=9, label="printed")
        axes.vlines(x, ends[:, j, 0], ends[:, j, 1], color=COLOURS[0], lw=2.5, label="simulated")
        axes.plot(x, table.GC_torque[:, j], "o", color=COLOURS[1], ms=5, label="GC, printed")
        axes.plot(x, compensation[:, j], "o", mfc="none", color="k", ms=9, label="GC, ours")
        axes.axhline(0.0, color="0.5", lw=0.8)
        axes.set(title=f"{TITLES[j]} [{EFFORT[j]}]", xlabel="pose")
        axes.set_xticks(x, [str(k + 1) for k in x])
    axes.legend(fontsize="small", loc="upper left")
    return figure


@style()
def loop(loops: Sequence[ClosedLoop], mountings: Sequence[float]) -> Figure:
    """Largest error over half-band by joint and mounting, of all arms."""
    figure = Figure(figsize=(8.0, 3.0))
    for k, (axes, columns) in enumerate(zip(figure.subplots(1, len(COLUMNS)), COLUMNS, strict=True)):
        worst = np.max([loop.models[k].worst for loop in loops], axis=0)
        for j in range(3):
            axes.bar(np.arange(len(mountings)) + 0.25 * (j - 1), 100 * worst[:, j], 0.22, label=TITLES[j])
        axes.axhline(100.0, color="k", lw=0.8, ls="--")
        axes.set_xticks(np.arange(len(mountings)), [f"{np.degrees(m):.0f}" for m in mountings])
        axes.set(title=columns, xlabel="mounting [deg]", ylabel="error [% of static friction]")
        axes.grid(visible=False, axis="x")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure
