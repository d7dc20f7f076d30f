"""Figures and report of an identification: measured and predicted effort, and relative errors."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from trocar.identification.pipeline import Identified
from trocar.identification.signals import Signals, efforts
from trocar.plots import COLOURS, style
from trocar.recording import Recording
from trocar.recording.motor_columns import UNITS, column_units, joint_from_columns
from trocar.report import Report
from trocar.spatial import Array


def effort_labels(names: Sequence[str], units: Sequence[str]) -> tuple[str, ...]:
    """Names of columns with the unit of their effort; `units` of their positions, "rad" or "m"."""
    return tuple(f"{name} [{UNITS['tau'][unit]}]" for name, unit in zip(names, units, strict=True))


def effort_figure(signals: Signals, predicted: Array, columns: tuple[str, ...], title: str) -> Figure:
    """Effort of every column over time, and its residual; predicted (N, n) at every row."""
    used = signals.used
    t = signals.t[used]
    first = t <= t[0] + 15.0
    with style():
        figure = Figure(figsize=(10.0, 1.4 * len(columns) + 0.8))
        for j, axes in enumerate(figure.subplots(len(columns), 1, sharex=True)):
            measured, model = signals.tau[used, j][first], predicted[used, j][first]
            axes.plot(t[first], measured, color=COLOURS[0], label="measured")
            axes.plot(t[first], model, color=COLOURS[1], lw=1.0, label="model")
            axes.plot(t[first], measured - model, color=COLOURS[2], lw=0.8, label="difference")
            axes.set_ylabel(columns[j])
            axes.yaxis.set_label_coords(-0.09, 0.5)
        figure.axes[0].set_title(title)
        # above the curves, which fill their axes
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        figure.axes[-1].set_xlabel("t [s]")
    return figure


def error_figure(errors: dict[str, Array], columns: tuple[str, ...]) -> Figure:
    """Relative errors by column, one bar for each name."""
    with style():
        figure = Figure(figsize=(10.0, 3.0))
        axes = figure.subplots()
        width = 0.8 / len(errors)
        for k, (name, values) in enumerate(errors.items()):
            axes.bar([j + (k + 0.5) * width - 0.4 for j in range(len(columns))], values, width, label=name)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_ylabel("relative error of effort")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=len(errors))
    return figure


def identification_report(identified: Identified, other: Recording | None, name: str) -> Report:
    """Errors and figures on the fitted recording `name`, and on another one if given."""
    mechanism = identified.mechanism()
    T = joint_from_columns(mechanism.arm, identified.columns)
    labels = effort_labels(identified.columns, column_units(mechanism.arm, identified.columns))
    errors = {"train": identified.train_relative_error, "cross-validation": identified.cv_relative_error}
    plotted = {f"Training recording {name}": (identified.signals, efforts(mechanism, T, identified.signals))}
    if other is not None:
        errors["test"] = identified.relative_error(other)
        plotted["Test recording"] = identified.prepared(other), identified.efforts(other)
    page = Report(f"{identified.parameters.arm} identified from {name}")
    page.paragraphs += [
        f"Solver status: {identified.status}. Smallest eigenvalue of a pseudo-inertia "
        f"{identified.min_pseudo_inertia_eigenvalue:.2g}: above 0, so every link is physical.",
        "Friction of the wrist changes from one session to the next. On a later day, refit friction alone with "
        "trocar identify RECORDING --recalibrate PARAMETERS.toml.",
    ]
    page.add_table(
        "Relative error of effort",
        ("", *errors),
        [(column, *(f"{values[j]:.4f}" for values in errors.values())) for j, column in enumerate(identified.columns)],
    )
    page.add_table(
        "Friction, rotors and bias of the drives (SI units)",
        ("drive", "Coulomb [N m, N]", "viscous Fv", "rotor Im", "stiffness K", "bias Fo [N m, N]"),
        [  # Coulomb friction includes the steady effort of the Dahl elements
            (d.name, *(f"{x:.3g}" for x in (d.Fc + sum(e.F for e in d.hysteresis), d.Fv, d.Im, d.K, d.Fo)))
            for d in identified.parameters.drives
        ],
    )
    page.add_table(
        "Links. The effort determines only combinations of these numbers; a geometric prior determines the rest",
        ("link", "mass [kg]", "centre of mass [mm]", "half the trace of inertia [kg m^2]"),
        [
            (link, f"{i.mass:.3g}", ", ".join(str(round(1e3 * x)) for x in i.com), f"{i.I.trace() / 2:.2g}")
            for link, i in identified.parameters.inertias.items()
        ],
    )
    page.add_figure(error_figure(errors, identified.columns), "Relative error of effort, by column of the recording.")
    for title, (signals, predicted) in plotted.items():
        page.add_figure(effort_figure(signals, predicted, labels, title), f"{title}, first 15 s.")
    return page
