"""A calibration as one figure: the axes in the pitch plane, the distances compared with the published ones, the RCM."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from trocar.arms import load_arm
from trocar.calibration.calibration import Calibration
from trocar.calibration.lengths import model_distances, orientation, plane_points
from trocar.plots import COLOURS, style
from trocar.spatial import Array, rotation

LINKS = ("3-4", "3-6", "4-c1", "3-7", "6-8", "7-c2", "8-c2", "8-rcm")


def calibration_figure(calibration: Calibration) -> Figure:
    """Left: axes and links. Middle: differences from the published lengths. Right: point cloud of the RCM."""
    with style():
        figure = Figure(figsize=(12.0, 4.4))
        figure.suptitle(f"{calibration.arm}: {calibration.source}", x=0.01, ha="left", fontsize="large")
        columns = 2 if calibration.rcm is None else 3
        axes = figure.subplots(1, columns, width_ratios=(1.5, 1.0, 1.0)[:columns])
        _plane(axes[0], calibration)
        _distances(axes[1], calibration)
        if calibration.rcm is not None:
            _cloud(axes[2], calibration.rcm.points - calibration.rcm.post, calibration.rcm.spread)
    return figure


def _plane(axes: Any, calibration: Calibration) -> None:
    """Measured axes over those of the published geometry, in base axes (y to the right, z up)."""
    arm = load_arm(calibration.arm, calibration.geometry.frames)
    model, layout = plane_points(arm, np.zeros(arm.n)), calibration.linkage.layout
    R = rotation("z", orientation(calibration.linkage, arm))[:2, :2]
    shift = np.mean([model[name] - R @ point for name, point in layout.items()], axis=0)
    for pair in LINKS:
        ends = np.array([model[name] for name in pair.split("-")]).T
        axes.plot(ends[0], -ends[1], color="#B6BCC4", lw=4, solid_capstyle="round", zorder=1)
    for name, point in layout.items():
        y, z = (R @ point + shift) * [1, -1]
        axes.plot(y, z, "o", color=COLOURS[1 if name == "rcm" else 0], ms=6, zorder=3)
        axes.annotate("RCM" if name == "rcm" else name, (y, z), (5, 5), textcoords="offset points")
    axes.margins(0.06, 0.35)
    axes.set(title="axes in the pitch plane (grey: published)", xlabel="y [m]", ylabel="z [m]", aspect="equal")


def _distances(axes: Any, calibration: Calibration) -> None:
    published = model_distances(load_arm(calibration.arm, calibration.geometry.frames))
    measured = calibration.linkage.distances
    names = [pair for pair in measured if pair in published]
    y = np.arange(len(names))
    difference = [1e3 * (measured[pair][0] - published[pair]) for pair in names]
    axes.errorbar(difference, y, xerr=[3e3 * measured[pair][1] for pair in names], fmt="o", color=COLOURS[0], capsize=3)
    axes.axvline(0.0, color="k", lw=0.8)
    axes.set_yticks(y, names)
    axes.invert_yaxis()
    axes.set(title="measured minus published (bars: 3 sigma)", xlabel="[mm]")


def _cloud(axes: Any, points: Array, spread: float) -> None:
    for j, (a, b) in enumerate(((0, 1), (0, 2))):
        label = f"{'xyz'[a]}, {'xyz'[b]}"
        axes.plot(1e3 * points[:, a], 1e3 * points[:, b], ".", ms=2, alpha=0.4, color=COLOURS[j], label=label)
    axes.plot(0, 0, "+", color="k", ms=12)
    axes.legend(title="camera axes", markerscale=5)
    axes.set(title=f"RCM of every row (rms {1e3 * spread:.3g} mm)", xlabel="[mm]", ylabel="[mm]", aspect="equal")
