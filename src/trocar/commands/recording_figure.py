"""A recording as one figure: position with its reference, velocity and effort of every joint."""

from __future__ import annotations

from matplotlib.figure import Figure

from trocar.plots import COLOURS, style
from trocar.recording import Recording
from trocar.recording.channels import UNITS

_ROWS = (("q", "position"), ("dq", "velocity"), ("tau", "effort"))


def recording_figure(recording: Recording, title: str) -> Figure:
    """One column per joint, one row each for q, dq and (where there is one) tau; references dashed."""
    rows = [(name, what) for name, what in _ROWS if getattr(recording, name) is not None]
    with style():
        figure = Figure(figsize=(2.4 * recording.n, 1.9 * len(rows) + 0.7))
        figure.suptitle(title)
        grid = figure.subplots(len(rows), recording.n, sharex=True, squeeze=False)
        for axes_row, (name, what) in zip(grid, rows, strict=True):
            values, reference = getattr(recording, name), recording.commands.get(name)
            for j, axes in enumerate(axes_row):
                axes.plot(recording.t, values[:, j], color=COLOURS[0], label="simulated")
                if reference is not None and name != "tau":
                    axes.plot(recording.t, reference[:, j], "--", color=COLOURS[1], lw=1.0, label="reference")
                axes.set_ylabel(f"{what} [{UNITS[name][recording.joint_units[j]]}]")
        for j, joint in enumerate(recording.joints):
            grid[0, j].set_title(joint)
            grid[-1, j].set_xlabel("t [s]")
        if "q" in recording.commands:
            grid[0, 0].legend(loc="best", fontsize="small")
    return figure
