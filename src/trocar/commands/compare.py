"""`trocar compare`: differences between two recordings, joint by joint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import trocar as tr
from trocar.commands.options import Namespace, RecordedArm, option
from trocar.commands.terminal import figure_text, plain_errors, show_table, show_written


@plain_errors()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Recording: csv, npz, or a ROS bag.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Recording to compare with A.")],
    arm: RecordedArm = None,
    namespace: Namespace = None,
    output: Annotated[Path | None, option("FILE", "Write a figure (png, svg, pdf) of both.", "--output", "-o")] = None,
) -> None:
    """Compare two recordings of an arm, joint by joint.

    Example: [bold]trocar compare measured.csv simulated.npz --arm PSM -o both.png[/bold].

    Prints the RMS and the largest difference in position, velocity and effort. The recordings are aligned at their
    first rows and converted to joints; B is interpolated to the rows of A over the time that both cover.
    To watch both, run [bold]trocar view A --compare B[/bold].
    """
    import numpy as np

    from trocar.files import check_writable
    from trocar.recording import differences

    check_writable(output)
    a, b = (tr.load_recording(path, arm, namespace=namespace) for path in (first, second))
    t, changes = differences(a, b)
    figures = [f(x) for x in changes.values() for f in (lambda x: np.sqrt((x**2).mean(0)), lambda x: np.abs(x).max(0))]
    rows = [(joint, *(figure_text(figure[j], 2) for figure in figures)) for j, joint in enumerate(a.joints)]
    headings = ("joint", *(f"{channel} {kind}" for channel in changes for kind in ("RMS", "max")))
    name_a, name_b = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    title = f"{name_b} minus {name_a}: {len(t)} rows, {t[-1]:.3g} s (rad, m, s, N m, N)"
    show_table(title, headings, rows)
    if output is not None:
        from trocar.plots import save
        from trocar.recording.figure import recording_figure

        show_written([save(recording_figure(a, f"{name_a} and {name_b}", b, (name_a, name_b)), output)])
