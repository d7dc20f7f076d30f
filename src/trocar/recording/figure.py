"""A recording as one figure: position, velocity and effort of every joint, with its reference or another recording."""

from __future__ import annotations

from matplotlib.figure import Figure

from trocar.plots import COLOURS, style
from trocar.recording import Recording
from trocar.recording.channels import UNITS

_ROWS = (("q", "position"), ("dq", "velocity"), ("tau", "effort"))


def recording_figure(recording: Recording, title: str, other: Recording | None = None) -> Figure:
    """One column per joint, one row each for q, dq and tau if recorded; dashed: the reference, or another recording."""
    rows = [(name, what) for name, what in _ROWS if getattr(recording, name) is not None]
    t = recording.t - recording.t[0] if other else recording.t
    with style():
        figure = Figure(figsize=(2.4 * recording.n, 1.9 * len(rows) + 0.7))
        figure.suptitle(title)
        grid = figure.subplots(len(rows), recording.n, sharex=True, squeeze=False)
        for axes_row, (name, what) in zip(grid, rows, strict=True):
            reference = recording.commands.get(name) if name != "tau" else None
            dashed = (t, reference) if other is None else (other.t - other.t[0], getattr(other, name))
            for j, axes in enumerate(axes_row):
                axes.plot(t, getattr(recording, name)[:, j], color=COLOURS[0], label="first" if other else "simulated")
                if dashed[1] is not None:
                    label = "second" if other else "reference"
                    axes.plot(dashed[0], dashed[1][:, j], "--", color=COLOURS[1], lw=1.0, label=label)
                axes.set_ylabel(f"{what} [{UNITS[name][recording.joint_units[j]]}]")
        for j, joint in enumerate(recording.joints):
            grid[0, j].set_title(joint)
            grid[-1, j].set_xlabel("t [s]")
        if other is not None or "q" in recording.commands:
            grid[0, 0].legend(loc="best", fontsize="small")
    return figure
