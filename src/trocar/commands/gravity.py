"""`trocar gravity`: gravity of a dVRK-Si PSM from static poses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.identification.static_gravity import GravityFit
    from trocar.spatial import Array

COLUMNS = ("yaw", "pitch", "insertion", "tau_yaw", "tau_pitch", "tau_insertion")


def gravity(
    poses: Annotated[Path, typer.Argument(metavar="POSES.csv", help=f"Columns {', '.join(COLUMNS)}; rad, m, N m, N.")],
    mounting: Annotated[float, typer.Option(metavar="DEGREES", help="Pitch of the arm's base.")] = 0.0,
    offsets: Annotated[bool, typer.Option(help="Also fit a constant effort at each joint.")] = True,
    json: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write link masses and centres in the dVRK's form.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PARAMS.toml", help="Write a parameter set.", show_default=False),
    ] = None,
) -> None:
    """Fit the gravity of a dVRK-Si PSM to poses it was held at, and check it by leaving each pose out.

    Example: [bold]trocar gravity poses.csv --mounting -45 --json PSM_Si_gravity.json[/bold].
    docs/gravity_compensation.md says how to record the poses.
    """
    with plain_errors():
        from trocar.arms import gravity_vector, load_arm
        from trocar.arms.parameter_file import to_toml
        from trocar.files import check_writable, write_whole
        from trocar.identification.gravity_file import ARM, to_json
        from trocar.identification.si_parameters import completed
        from trocar.identification.static_gravity import fit_gravity

        if output is not None and output.suffix != ".toml":
            raise TrocarError(f"a parameter set is a file NAME.toml, got {output}")
        check_writable(json, output)
        base = gravity_vector(load_arm(ARM), mounting=math.radians(mounting))
        fit = fit_gravity(*read_poses(poses), gravity=base, offsets=offsets)
        typer.echo(_summary(fit))
        if json is not None:
            typer.echo(f"Written: {write_whole(json, to_json(fit))}")
        if output is not None:
            head = [f"Gravity fitted to {len(fit.q)} static poses by `trocar gravity`; friction of the set zhou2025."]
            typer.echo(f"Written: {write_whole(output, to_toml(completed(ARM, output.stem, fit), head))}")


def _summary(fit: GravityFit) -> str:
    import numpy as np

    from trocar.identification.static_gravity import COEFFICIENTS

    spread = np.sqrt(np.diag(fit.covariance))[:5]
    lines = [
        f"{name:>3} = {value:8.4f} +- {s:.4f} {'kg' if name == 'm3' else 'kg m'}"
        for name, value, s in zip(COEFFICIENTS, fit.coefficients, spread, strict=True)
    ]
    lines.append(
        f"{'':>9}{'offset':>9}{'rms':>9}{'left out':>10}   (left out: largest error of a pose from the others)"
    )
    worst = np.abs(fit.left_out() - fit.tau).max(0)
    for name, unit, *row in zip(COLUMNS[:3], ("N m", "N m", "N"), fit.offset, fit.rms, worst, strict=True):
        lines.append(f"{name:>9}{row[0]:9.4f}{row[1]:9.4f}{row[2]:10.4f} {unit}")
    return "\n".join(lines)


def read_poses(path: Path) -> tuple[Array, Array]:
    """q (N, 3) and tau (N, 3) of a CSV file with a header."""
    import numpy as np

    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise TrocarError(f"{path} {what}: a CSV file with columns {', '.join(COLUMNS)} is needed")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise TrocarError(f"{path}: not a text file: {error}") from None
    header = [name.strip() for name in lines[0].split(",")] if lines else []
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise TrocarError(f"{path} has no column {', '.join(missing)}; needed are {', '.join(COLUMNS)}")
    rows = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        try:
            values = [float(value) for value in line.split(",")]
            rows.append([values[header.index(name)] for name in COLUMNS])
            bad = [name for name, value in zip(COLUMNS, rows[-1], strict=True) if not math.isfinite(value)]
        except (ValueError, IndexError):
            raise TrocarError(f"{path}, line {number}: {len(header)} numbers are needed, got {line!r}") from None
        if bad:
            raise TrocarError(f"{path}, line {number}: {', '.join(bad)} must be finite, got {line!r}")
    data = np.array(rows).reshape(-1, 6)
    return data[:, :3], data[:, 3:]
