"""`trocar sim PSM --task NAME`: the tasks of Ferro et al. 2022, with recording, plot and logs in their format."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Literal

import typer

from trocar.commands.terminal import figure_text, progress_bar, show_table, show_written
from trocar.errors import TrocarError

TaskName = Literal["regulation", "line", "spiral", "excitation"]
Control = Literal["kinematic", "torque"]
Transmission = Literal["rigid", "mirrored"]


def run(arm: str, task: TaskName, output: Path, log: Path | None, along: Path | None, **options: Any) -> None:
    """Run a task, print its errors and write its files.

    Args:
        options: arguments of `trocar.experiments.ferro2022.tasks.run_task`.
    """
    from trocar.experiments.ferro2022.log_files import check_log_folder, write_logs
    from trocar.experiments.ferro2022.logs import SETTLED, UNITS, rms
    from trocar.experiments.ferro2022.tasks import run_task
    from trocar.files import check_writable
    from trocar.plots import save
    from trocar.recording.figure import recording_figure

    if arm != "PSM":
        raise TrocarError(f"--task is a task of the PSM, got the arm {arm}; leave --task out for other arms")
    if along is not None and task != "excitation":
        raise TrocarError(f"--along gives the motion of --task excitation; the task '{task}' has its own path")
    check_writable(output / "recording.npz")
    if log is not None:
        check_log_folder(log)
    if task == "excitation":
        options["excitation"] = _excitation(along)
    with progress_bar(f"{task}, {options['control']} control") as progress:
        began = time.perf_counter()
        result = run_task(task, progress=progress, **options)
        wall = time.perf_counter() - began
    recording = result.recording()
    title = f"PSM ({result.about['parameters']}), {task}, {result.about['control']} control"
    written = [recording.save(output / f"recording{suffix}") for suffix in (".npz", ".csv")]
    written.append(save(recording_figure(recording, title), output / "recording.png"))
    if log is not None:
        written += write_logs(result, log)
    late = result.t >= SETTLED
    tip = 1e3 * rms(result.tip_errors()[late]) if late.any() else None
    if tip is None:
        typer.echo(f"The run ends before {SETTLED:g} s, within its transient: no errors are computed.")
    else:
        rows = [
            (f"J{j + 1}", figure_text(error), unit, f"tip {axis}", figure_text(distance), "mm")
            for j, (error, unit, axis, distance) in enumerate(
                zip(result.torque_errors(), UNITS, "xyz", tip, strict=True)
            )
        ]
        headings = ("joint", "RMS of engine minus model", "", "axis", "RMS tip error", "")
        show_table(title, headings, rows, left=(0, 2, 3, 5), caption=f"t >= {SETTLED:g} s; axes of the authors' scene")
    typer.echo(f"Real-time factor: {result.t[-1] / wall:.3g}")
    show_written(written)


def _excitation(along: Path | None) -> Any:
    """The motion of the excitation task: the given recording, or that of Wang et al. from the data folder."""
    from trocar.datasets import fetched_folder
    from trocar.experiments.ferro2022.logs import RECORDING, MeasuredMotion

    if along is not None:
        return MeasuredMotion(along)
    folder = Path(os.environ.get("TROCAR_DATA") or fetched_folder())
    path = folder / RECORDING
    if not path.is_file():
        raise TrocarError(
            f"--task excitation follows a recording of Wang et al., and {path} does not exist: run 'trocar fetch "
            "wang2019', set TROCAR_DATA, or name a recording with --along"
        )
    return MeasuredMotion(path)
