"""Figures of the bench."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from trocar.experiments.bilateral.laboratory import HybridMatrix
from trocar.experiments.bilateral.pair_log import PairLog
from trocar.plots import COLOURS, style
from trocar.spatial import Array

STABLE = 0.1  # [mm]
MILLI = 1e3


def stability_maps(maps: Mapping[tuple[float, str], Array], delays: Sequence[float], walls: Sequence[float]) -> Figure:
    """One map per scale and kind of passivity control: oscillation [mm] over delay [ms] and stiffness [N/m]."""
    scales = list(dict.fromkeys(s for s, _ in maps))
    kinds = list(dict.fromkeys(kind for _, kind in maps))
    with style():
        figure = Figure(figsize=(9.0, 1.0 + 1.9 * len(scales)))
        axes = figure.subplots(len(scales), len(kinds), squeeze=False, sharex=True, sharey=True)
        for row, s in zip(axes, scales, strict=True):
            for ax, kind in zip(row, kinds, strict=True):
                _map(ax, maps[s, kind], [f"{T:g}" for T in delays], [f"{k:g}" for k in walls])
                ax.set_title(f"s = {s:g}, {kind}")
            row[0].set_ylabel("wall [N/m]")
        for ax in axes[-1]:
            ax.set_xlabel("delay one way [ms]")
    return figure


def _map(ax: Axes, values: Array, columns: Sequence[str], rows: Sequence[str]) -> None:
    ax.imshow(np.maximum(values, 0.01), norm=LogNorm(0.03, 100.0), cmap="YlOrRd", origin="lower", aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        text = "0" if value < STABLE else f"{value:.2g}"
        ax.text(j, i, text, ha="center", va="center", fontsize=7, color="white" if value > 15.0 else "black")
    ax.set_xticks(range(len(columns)), columns, fontsize=8)
    ax.set_yticks(range(len(rows)), rows, fontsize=8)
    ax.grid(False)


def same_start(without: PairLog, passive: PairLog, cell: int) -> Figure:
    """Position, force and energy margins of two runs."""
    with style():
        figure = Figure(figsize=(9.0, 5.2))
        axes = figure.subplots(3, 2, sharex=True, sharey="row")
        for column, log in zip(axes.T, (without, passive), strict=True):
            column[0].plot(log.t, MILLI * log.x_m[:, 2, cell], label="grip")
            column[0].plot(log.t, MILLI * log.x_s[:, 2, cell] / log.scale[cell], label="tip / s")
            column[1].plot(log.t, log.F_m[:, 2, cell], label="on the grip")
            column[1].plot(log.t, log.f_e[:, 2, cell], label="on the tip")
            column[2].plot(log.t, MILLI * log.W_m[:, cell], label="master")
            column[2].plot(log.t, MILLI * log.W_s[:, cell], label="slave")
            column[2].set_yscale("symlog", linthresh=1.0)
            column[2].set_xlabel("time [s]")
        axes[0, 0].set_title("no passivity control")
        axes[0, 1].set_title("time-domain passivity")
        for row, label in zip(axes, ("z [mm]", "force [N]", "margin W [mJ]"), strict=True):
            row[0].set_ylabel(label)
            row[1].legend(loc="upper right", ncols=2)
    return figure


def drift(log: PairLog, without: PairLog, cell: int) -> Figure:
    """Grip and tip with and without drift compensation, and the energies involved."""
    with style():
        figure = Figure(figsize=(7.0, 4.4))
        axes = figure.subplots(2, 1, sharex=True)
        axes[0].plot(log.t, MILLI * log.x_m[:, 2, cell], label="grip", color=COLOURS[6])
        axes[0].plot(log.t, MILLI * log.x_s[:, 2, cell] / log.scale[cell], label="tip / s, compensated")
        axes[0].plot(without.t, MILLI * without.x_s[:, 2, cell] / log.scale[cell], label="tip / s, not compensated")
        axes[0].set_ylabel("z [mm]")
        axes[1].plot(log.t, MILLI * log.E_in_m[:, cell], label="input at the master")
        axes[1].plot(log.t, MILLI * log.E_out_s[:, cell], label="demand at the slave")
        axes[1].set_ylabel("energy [mJ]")
        axes[1].set_xlabel("time [s]")
        for ax in axes:
            ax.legend(loc="upper left")
    return figure


def schemes(logs: Mapping[str, PairLog], delays: Sequence[float]) -> Figure:
    """Bar charts of force error, following error and oscillation, by scheme and delay [ms]."""
    charts: dict[str, Callable[[PairLog], Array]] = {
        "force error [N]": lambda log: log.force_error(),
        "following error [mm]": lambda log: MILLI * log.following_error(),
        "oscillation [mm]": lambda log: MILLI * log.oscillation(),
    }
    with style():
        figure = Figure(figsize=(9.0, 3.6))
        for ax, (title, value) in zip(figure.subplots(1, 3), charts.items(), strict=True):
            width = 0.8 / len(logs)
            for i, (name, log) in enumerate(logs.items()):
                ax.bar(np.arange(len(delays)) + i * width, np.maximum(value(log), 1e-3), width, label=name)
            ax.set_xticks(np.arange(len(delays)) + 0.4 - width / 2, [f"{T:g} ms" for T in delays])
            ax.set_yscale("log")
            ax.set_title(title)
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def z_width(oscillation: Array, walls: Sequence[float], damping: Sequence[float]) -> Figure:
    """Oscillation [mm] on virtual walls over damping and stiffness."""
    with style():
        figure = Figure(figsize=(5.0, 3.4))
        ax = figure.subplots()
        _map(ax, oscillation, [f"{B:g}" for B in damping], [f"{K:g}" for K in walls])
        ax.set_xlabel("damping of the wall [N s/m]")
        ax.set_ylabel("stiffness [N/m]")
    return figure


def hybrid(matrices: Mapping[str, HybridMatrix]) -> Figure:
    """Magnitudes of the four entries over frequency, and Llewellyn's margin."""
    names = {"h11": "|h11| [N s/m]", "h12": "|h12|", "h21": "|h21|", "h22": "|h22| [m/(N s)]"}
    with style():
        figure = Figure(figsize=(9.0, 4.4))
        axes = figure.subplots(2, 3).ravel()
        for scheme, H in matrices.items():
            for ax, (name, title) in zip(axes, names.items(), strict=False):
                ax.loglog(H.frequency, np.abs(getattr(H, name)), "o-", markersize=3, label=scheme)
                ax.set_title(title)
            axes[4].semilogx(H.frequency, H.llewellyn(), "o-", markersize=3)
        axes[4].set_title("Llewellyn's margin")
        axes[4].axhline(0.0, color=COLOURS[6], linewidth=0.8)
        axes[0].legend()
        for ax in axes[:5]:
            ax.set_xlabel("frequency [Hz]")
        axes[5].set_axis_off()
    return figure


def outage(log: PairLog) -> Figure:
    """Grip and set-point of the slave over an outage, of a log of one cell."""
    with style():
        figure = Figure(figsize=(7.0, 3.6))
        axes = figure.subplots(2, 1, sharex=True)
        axes[0].plot(log.t, MILLI * log.scale[0] * log.x_m[:, 2, 0], label="s x grip")
        axes[0].plot(log.t, MILLI * log.target[:, 2, 0], label="set-point of the slave")
        axes[0].plot(log.t, MILLI * log.x_s[:, 2, 0], "--", label="tip")
        axes[0].set_ylabel("z [mm]")
        axes[1].plot(log.t, log.asked[:, 0], label="commanded speed / move limit")
        axes[1].axhline(1.0, color=COLOURS[6], linewidth=0.8)
        axes[1].set_xlabel("time [s]")
        for ax in axes:
            low, high = ax.get_ylim()
            ax.fill_between(log.t, low, high, where=log.following[:, 0] == 0.0, color="#CCCCCC", linewidth=0)
            ax.legend(loc="upper left")
    return figure
