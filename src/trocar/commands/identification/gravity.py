"""`trocar gravity`: gravity of a dVRK-Si PSM from static poses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trocar.commands.options import check_toml, option
from trocar.commands.terminal import plain_errors, show_table, show_written
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.identification.si.gravity import GravityFit
    from trocar.spatial import Array

COLUMNS = ("yaw", "pitch", "insertion", "tau_yaw", "tau_pitch", "tau_insertion")


@plain_errors()
def gravity(
    poses: Annotated[Path, typer.Argument(metavar="POSES.csv", help=f"Columns {', '.join(COLUMNS)}; rad, m, N m, N.")],
    mounting: Annotated[float, option("DEGREES", "Pitch of the arm's base, in degrees.")] = 0.0,
    offsets: Annotated[bool, typer.Option(help="Also fit a constant force K0 at each joint.")] = True,
    json: Annotated[Path | None, option("FILE", "Write link masses and centres of mass in the dVRK's format.")] = None,
    output: Annotated[Path | None, option("PARAMS.toml", "Write a parameter set.", "--output", "-o")] = None,
) -> None:
    """Fit the gravity of a dVRK-Si PSM to static poses.

    Example: [bold]trocar gravity poses.csv --mounting -45 --json PSM_Si_gravity.json[/bold].
    Leave-one-out cross-validation checks the fit. docs/gravity_compensation.md explains how to record the poses.
    """
    from trocar.arms import gravity_vector, load_arm
    from trocar.arms.parameter_file import to_toml
    from trocar.files import check_writable, write_whole
    from trocar.identification.si.gravity import fit_gravity
    from trocar.identification.si.gravity_file import ARM, to_json
    from trocar.identification.si.parameters import completed

    check_toml(output, "a parameter set")
    check_writable(json, output)
    base = gravity_vector(load_arm(ARM), mounting=math.radians(mounting))
    fit = fit_gravity(*read_poses(poses), gravity=base, offsets=offsets)
    _show(fit)
    written = [] if json is None else [write_whole(json, to_json(fit))]
    if output is not None:
        head = [f"Gravity fitted to {len(fit.q)} static poses by `trocar gravity`; friction of the set zhou2025."]
        written.append(write_whole(output, to_toml(completed(ARM, output.stem, fit), head)))
    show_written(written)


def _show(fit: GravityFit) -> None:
    import numpy as np

    from trocar.identification.si.gravity import COEFFICIENTS

    values = zip(COEFFICIENTS, fit.coefficients, np.sqrt(np.diag(fit.covariance)), strict=False)
    masses = [(name, f"{x:.4f}", f"{s:.4f}", "kg" if name == "m3" else "kg m") for name, x, s in values]
    show_table("gravity", ("", "value", "+-", ""), masses, left=(0, 3))
    worst = np.abs(fit.left_out() - fit.tau).max(0)
    joints = zip(COLUMNS, fit.K0, fit.rms, worst, ("N m", "N m", "N"), strict=False)
    efforts = [(name, *(f"{x:.4f}" for x in numbers), unit) for name, *numbers, unit in joints]
    caption = "held out: largest error of any pose predicted from the others"
    show_table("effort", ("", "K0", "RMS", "held out", ""), efforts, left=(0, 4), caption=caption)


def read_poses(path: Path) -> tuple[Array, Array]:
    """q (N, 3) and tau (N, 3) from a CSV file with a header."""
    import numpy as np

    from trocar.recording.formats import CsvTable

    file = CsvTable(path, ",".join(COLUMNS))
    missing = [name for name in COLUMNS if name not in file.titles]
    if missing:
        raise TrocarError(f"{path} has no column {', '.join(missing)}; required columns: {', '.join(COLUMNS)}")
    table, lines = file.numbers()
    data = table[:, [file.titles.index(name) for name in COLUMNS]]
    for row, column in np.argwhere(~np.isfinite(data)):
        raise TrocarError(f"{path}, line {lines[row]}: {COLUMNS[column]} must be finite, got {data[row, column]}")
    return data[:, :3], data[:, 3:]
