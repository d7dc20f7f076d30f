"""`trocar ferro-task NAME`: the tasks of Ferro et al. 2022, with recording, plot and logs in their format."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trocar.commands.options import Counterweight, Folder, ParameterSet, argument, flag, option
from trocar.commands.terminal import figure_text, plain_errors, progress_bar, show_table, show_written
from trocar.errors import TrocarError
from trocar.files import check_writable

TaskName = Literal["regulation", "line", "spiral", "excitation"]
Control = Literal["kinematic", "torque"]
Transmission = Literal["rigid", "mirrored"]


@plain_errors("a shorter --duration takes less time")
def ferro_task(
    task: Annotated[TaskName, argument("TASK", "regulation, line, spiral or excitation.")],
    control: Annotated[Control, option("NAME", "kinematic or torque.")] = "kinematic",
    transmission: Annotated[
        Transmission, option("NAME", "Link to the counterweight: rigid, or mirrored by a motor as in their scene.")
    ] = "rigid",
    duration: Annotated[float | None, option("S", "Simulated time. Default: 10 s.", "--duration", "-d")] = None,
    along: Annotated[
        Path | None, option("FILE", "Motion of the excitation. Default: that of the real robot, from trocar fetch.")
    ] = None,
    parameters: ParameterSet = None,
    counterweight: Counterweight = True,
    friction: Annotated[bool, flag("Simulate joint friction.")] = False,
    log: Annotated[Path | None, option("DIR", "Also write the logs in the format of the authors.")] = None,
    output: Folder = Path("trocar-sim"),
) -> None:
    """Run the PSM as the program of Ferro et al. 2022 does.

    Example: [bold]trocar ferro-task spiral --control torque[/bold]

    More: [bold]trocar ferro-task line -p ferro2022_scene --transmission mirrored --log logs[/bold] (with the masses and
    the counterweight of their published scene, logs as theirs: qmsr.txt, tauMsr.txt, ...);
    [bold]trocar ferro-task excitation --no-counterweight[/bold] (the motion of the real robot).

    Paths, gains and timing are theirs (control 10 ms, commands one period late, physics 5 ms, no friction), under
    kinematic control (joint velocities) or torque control (feedback linearisation). Prints errors, writes
    recording.npz, recording.csv, recording.png and, with --log, their logs.
    """
    from trocar.plots import save
    from trocar.recording.figure import recording_figure
    from trocar_reproductions.ferro2022.log_files import check_log_folder, write_logs
    from trocar_reproductions.ferro2022.tasks import run_task

    if along is not None and task != "excitation":
        raise TrocarError(f"--along gives the motion of the task excitation; the task '{task}' has its own path")
    check_writable(output / "recording.npz")
    if log is not None:
        check_log_folder(log)
    options: Any = {"control": control, "transmission": transmission, "duration": duration}
    options |= {"parameters": parameters, "counterweight": counterweight, "friction": friction}
    if task == "excitation":
        options["excitation"] = _excitation(along)
    with progress_bar(f"{task}, {control} control") as progress:
        began = time.perf_counter()
        result = run_task(task, progress=progress, **options)
        wall = time.perf_counter() - began
    recording = result.recording()
    title = f"PSM ({result.about['parameters']}), {task}, {result.about['control']} control"
    written = [recording.save(output / f"recording{suffix}") for suffix in (".npz", ".csv")]
    written.append(save(recording_figure(recording, title), output / "recording.png"))
    if log is not None:
        written += write_logs(result, log)
    _show_errors(result, title)
    typer.echo(f"Real-time factor: {result.t[-1] / wall:.3g}")
    show_written(written)


def _show_errors(result: Any, title: str) -> None:
    """Print the errors after the transient."""
    from trocar.demo.torque_control import SETTLED, UNITS, rms

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


def _excitation(along: Path | None) -> Any:
    """The motion of the excitation task: the given recording, or that of Wang et al. from the data folder."""
    from trocar_reproductions.datasets import fetched_folder
    from trocar_reproductions.ferro2022.logs import RECORDING, MeasuredMotion

    if along is not None:
        return MeasuredMotion(along)
    folder = Path(os.environ.get("TROCAR_DATA") or fetched_folder())
    path = folder / RECORDING
    if not path.is_file():
        raise TrocarError(
            f"the excitation follows a recording of Wang et al., and {path} does not exist: run 'trocar fetch "
            "wang2019', set TROCAR_DATA, or name a recording with --along"
        )
    return MeasuredMotion(path)
