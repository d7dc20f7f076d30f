"""A recording as one figure: position, velocity and effort of every joint, with its reference or another recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trocar.plots import COLOURS, style
from trocar.recording.motor_columns import UNITS

if TYPE_CHECKING:
    from trocar.recording.recording import Recording

_ROWS = (("q", "position"), ("dq", "velocity"), ("tau", "effort"))
# Smallest range of a y axis by unit, so that a joint at rest is drawn as a line and not as magnified rounding error.
_MIN_RANGE = {"rad": 0.01, "m": 1e-3, "rad/s": 0.01, "m/s": 1e-3, "N m": 0.01, "N": 0.1}


def recording_figure(
    recording: Recording, title: str, other: Recording | None = None, names: tuple[str, str] = ("first", "second")
) -> Figure:
    """One column per joint, one row each for q, dq and tau if recorded; dashed: the reference, or another recording.

    The legend has the `names` of two recordings.
    """
    origin = "simulated" if recording.provenance.get("source") == "simulation" else "recorded"
    solid = names[0] if other else origin
    rows = [(name, what) for name, what in _ROWS if getattr(recording, name) is not None]
    t = recording.t - recording.t[0] if other else recording.t
    with style():
        figure = Figure(figsize=(2.4 * recording.n, 1.9 * len(rows) + 0.9))
        figure.suptitle(title)
        grid = figure.subplots(len(rows), recording.n, sharex=True, squeeze=False)
        for axes_row, (name, what) in zip(grid, rows, strict=True):
            reference = recording.commands.get(name) if name != "tau" else None
            dashed = (t, reference) if other is None else (other.t - other.t[0], getattr(other, name))
            for j, axes in enumerate(axes_row):
                unit = UNITS[name][recording.joint_units[j]]
                axes.plot(t, getattr(recording, name)[:, j], color=COLOURS[0], label=solid)
                if dashed[1] is not None:
                    label = names[1] if other else "reference"
                    axes.plot(dashed[0], dashed[1][:, j], "--", color=COLOURS[1], lw=1.0, label=label)
                axes.set_ylabel(f"{what} [{unit}]")
                _widen(axes, _MIN_RANGE[unit])
        for j, joint in enumerate(recording.joints):
            grid[0, j].set_title(joint)
            grid[-1, j].set_xlabel("t [s]")
        if other is not None:  # the time that both cover
            grid[0, 0].set_xlim(0.0, min(t[-1], other.t[-1] - other.t[0]))
        lines, labels = grid[0, 0].get_legend_handles_labels()
        if len(lines) > 1:  # outside the axes, so that it never covers the curves
            figure.legend(lines, labels, loc="outside upper right", ncols=2, fontsize="small")
    return figure


def _widen(axes: Axes, least: float) -> None:
    """Widen the y axis to a range of at least `least`, and write tick labels without an offset."""
    low, high = axes.get_ylim()
    if high - low < least:
        middle = (low + high) / 2
        axes.set_ylim(middle - least / 2, middle + least / 2)
    axes.ticklabel_format(axis="y", useOffset=False)
