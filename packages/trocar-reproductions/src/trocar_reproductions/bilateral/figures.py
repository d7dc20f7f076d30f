"""Figures of the bench."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from trocar.plots import COLOURS, panels, style
from trocar.spatial import Array
from trocar_reproductions.bilateral.laboratory import HybridMatrix
from trocar_reproductions.bilateral.teleoperated_pair import PairLog

STABLE = 0.1  # [mm]
MILLI = 1e3


@style()
def stability_maps(maps: Mapping[tuple[float, str], Array], delays: Sequence[float], walls: Sequence[float]) -> Figure:
    """One map per scale and kind of passivity control: oscillation [mm] over delay [ms] and stiffness [N/m]."""
    scales, kinds = (list(dict.fromkeys(key[i] for key in maps)) for i in (0, 1))
    size = (9.0, 1.0 + 1.9 * len(scales))
    figure, axes = panels(size, len(scales), len(kinds), squeeze=False, sharex=True, sharey=True)
    for ax, ((s, kind), values) in zip(axes.T.flat, maps.items(), strict=True):
        _map(ax, values, delays, walls, title=f"s = {s:g}, {kind}")
    for ax in axes[-1]:
        ax.set_xlabel("delay one way [ms]")
    for ax in axes[:, 0]:
        ax.set_ylabel("wall [N/m]")
    return figure


def _map(ax: Axes, values: Array, columns: Sequence[float], rows: Sequence[float], **labels: str) -> None:
    ax.imshow(np.maximum(values, 0.01), norm=LogNorm(0.03, 100.0), cmap="YlOrRd", origin="lower", aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        text = "0" if value < STABLE else f"{value:.2g}"
        ax.text(j, i, text, ha="center", va="center", fontsize=7, color="white" if value > 15.0 else "black")
    ax.set_xticks(range(len(columns)), [f"{x:g}" for x in columns], fontsize=8)
    ax.set_yticks(range(len(rows)), [f"{y:g}" for y in rows], fontsize=8)
    ax.grid(False)
    ax.set(**labels)


def _curves(ax: Axes, t: Array, curves: Mapping[str, Array], **labels: str) -> None:
    for label, values in curves.items():
        ax.plot(t, values, label=label)
    ax.set(**labels)


@style()
def same_start(runs: Mapping[str, PairLog], cell: int) -> Figure:
    """Position, force and energy margins of two runs, by title."""
    figure, axes = panels((9.0, 5.2), 3, 2, sharex=True, sharey="row")
    for (z, force, margin), (title, log) in zip(axes.T, runs.items(), strict=True):
        tip = log.x_s[:, 2, cell] / log.scale[cell]
        _curves(z, log.t, {"grip": MILLI * log.x_m[:, 2, cell], "tip / s": MILLI * tip}, title=title)
        _curves(force, log.t, {"on the grip": log.F_m[:, 2, cell], "on the tip": log.f_e[:, 2, cell]})
        _curves(margin, log.t, {"master": MILLI * log.W_m[:, cell], "slave": MILLI * log.W_s[:, cell]})
        margin.set_yscale("symlog", linthresh=1.0)
        margin.set_xlabel("time [s]")
    for row, label in zip(axes, ("z [mm]", "force [N]", "margin W [mJ]"), strict=True):
        row[0].set_ylabel(label)
        row[1].legend(loc="upper right", ncols=2)
    return figure


@style()
def drift(log: PairLog, without: PairLog, cell: int) -> Figure:
    """Grip and tip with and without drift compensation, and the energies involved."""
    figure, (z, energy) = panels((7.0, 4.4), 2, 1, sharex=True)
    z.plot(log.t, MILLI * log.x_m[:, 2, cell], label="grip", color=COLOURS[6])
    tips = {"tip / s, compensated": log, "tip / s, not compensated": without}
    _curves(z, log.t, {name: MILLI * run.x_s[:, 2, cell] / log.scale[cell] for name, run in tips.items()})
    z.set_ylabel("z [mm]")
    energies = {"input at the master": log.E_in_m, "demand at the slave": log.E_out_s}
    _curves(energy, log.t, {name: MILLI * E[:, cell] for name, E in energies.items()}, ylabel="energy [mJ]")
    energy.set_xlabel("time [s]")
    for ax in (z, energy):
        ax.legend(loc="upper left")
    return figure


@style()
def schemes(logs: Mapping[str, PairLog], delays: Sequence[float]) -> Figure:
    """Bar charts of force error, following error and oscillation, by scheme and delay [ms]."""
    charts: dict[str, Callable[[PairLog], Array]] = {
        "force error [N]": lambda log: log.force_error(),
        "following error [mm]": lambda log: MILLI * log.following_error(),
        "oscillation [mm]": lambda log: MILLI * log.oscillation(),
    }
    figure, axes = panels((9.0, 3.6), 1, 3)
    at, width = np.arange(len(delays)), 0.8 / len(logs)
    for ax, (title, value) in zip(axes, charts.items(), strict=True):
        for i, (name, log) in enumerate(logs.items()):
            ax.bar(at + i * width, np.maximum(value(log), 1e-3), width, label=name)
        ax.set_xticks(at + 0.4 - width / 2, [f"{T:g} ms" for T in delays])
        ax.set(title=title, yscale="log")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@style()
def z_width(oscillation: Array, walls: Sequence[float], damping: Sequence[float]) -> Figure:
    """Oscillation [mm] on virtual walls over damping and stiffness."""
    figure, ax = panels((5.0, 3.4))
    _map(ax, oscillation, damping, walls, xlabel="damping of the wall [N s/m]", ylabel="stiffness [N/m]")
    return figure


@style()
def hybrid(matrices: Mapping[str, HybridMatrix]) -> Figure:
    """Magnitudes of the four entries over frequency, and Llewellyn's margin."""
    titles = {"h11": "|h11| [N s/m]", "h12": "|h12|", "h21": "|h21|", "h22": "|h22| [m/(N s)]"}
    figure, axes = panels((9.0, 4.4), 2, 3)
    *entries, margin, empty = axes.flat
    for scheme, H in matrices.items():
        for ax, (name, title) in zip(entries, titles.items(), strict=True):
            ax.loglog(H.frequency, np.abs(getattr(H, name)), "o-", markersize=3, label=scheme)
            ax.set(title=title, xlabel="frequency [Hz]")
        margin.semilogx(H.frequency, H.llewellyn(), "o-", markersize=3)
    margin.set(title="Llewellyn's margin", xlabel="frequency [Hz]")
    margin.axhline(0.0, color=COLOURS[6], linewidth=0.8)
    entries[0].legend()
    empty.set_axis_off()
    return figure


@style()
def outage(log: PairLog) -> Figure:
    """Grip and set-point of the slave over an outage, of a log of one cell."""
    figure, (z, speed) = panels((7.0, 3.6), 2, 1, sharex=True)
    paths = {"s x grip": log.scale[0] * log.x_m, "set-point of the slave": log.target}
    _curves(z, log.t, {name: MILLI * x[:, 2, 0] for name, x in paths.items()}, ylabel="z [mm]")
    z.plot(log.t, MILLI * log.x_s[:, 2, 0], "--", label="tip")
    _curves(speed, log.t, {"commanded speed / move limit": log.asked[:, 0]}, xlabel="time [s]")
    speed.axhline(1.0, color=COLOURS[6], linewidth=0.8)
    for ax in (z, speed):
        low, high = ax.get_ylim()
        ax.fill_between(log.t, low, high, where=log.following[:, 0] == 0.0, color="#CCCCCC", linewidth=0)
        ax.legend(loc="upper left")
    return figure
