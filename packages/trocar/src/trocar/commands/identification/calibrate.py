"""`trocar calibrate` and `trocar gravity`: geometry from motion capture, gravity of an Si PSM from static poses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trocar.commands.options import argument, check_toml, flag, option
from trocar.commands.terminal import plain_errors, show_table, show_written
from trocar.errors import TrocarError
from trocar.files import check_writable, write_whole

if TYPE_CHECKING:
    from trocar.calibration import Calibration
    from trocar.identification.si.gravity import GravityFit
    from trocar.recording import Markers
    from trocar.spatial import Array

COLUMNS = ("yaw", "pitch", "insertion", "tau_yaw", "tau_pitch", "tau_insertion")  # of a file of poses


@plain_errors()
def calibrate(
    file: Annotated[Path, argument("MARKERS.csv", "Poses of marked links; see above.")],
    output: Annotated[Path, option("FILE.toml", "Geometry file to write.", "--output", "-o")] = Path("geometry.toml"),
    arm: Annotated[str, option("ARM", "PSM or ECM (Classic).")] = "PSM",
    frames: Annotated[str, option("NAME", "Published geometry to adjust; PSM: also wang2019.")] = "gondokaryono2019",
    drop_jumps: Annotated[bool, flag("Drop rows in which a tracked body jumps.", "--drop-jumps")] = False,
    plot: Annotated[Path | None, option("FILE", "Figure (png, svg, pdf). Default: next to the output.")] = None,
) -> None:
    """Calibrate the link lengths of your own arm by motion capture.

    Example: [bold]trocar calibrate markers.csv -o my_psm.toml[/bold], then
    [bold]trocar sim PSM --parameters my_psm.toml[/bold], or load_mechanism("PSM", "my_psm.toml").

    MARKERS.csv has the columns [bold]t \\[s], q_yaw \\[rad], q_pitch \\[rad], q_insertion \\[m][/bold] and, for every
    marked link (yaw, back, front, bottom, top, end, insertion, tip), its rigid body of markers in the camera frame:
    [bold]end_x \\[m], end_y \\[m], end_z \\[m], end_qw, end_qx, end_qy, end_qz[/bold] (or \\[mm]; leave cells
    empty while a body is not visible). Move yaw, pitch and insertion through most of their range for about a minute.

    Method: Gondokaryono et al. 2019, sections 2.4 and 4.1. See docs/calibration.md.
    """
    from trocar.calibration import calibrate as run
    from trocar.calibration.figure import calibration_figure
    from trocar.plots import save
    from trocar.recording import Markers

    check_toml(output, "a geometry")
    check_writable(output, plot)
    markers = Markers.load(file)
    calibration = run(markers, arm, frames, drop_jumps=drop_jumps)
    written = [calibration.write(output), save(calibration_figure(calibration), plot or output.with_suffix(".png"))]
    _show(markers, calibration)
    for line in _summary(calibration):
        typer.echo(line)
    show_written(written)


def _show(markers: Markers, calibration: Calibration) -> None:
    from trocar.arms import load_arm, published
    from trocar.calibration import model_distances

    frames = calibration.geometry.frames
    model, base = model_distances(load_arm(calibration.arm, frames)), published(calibration.arm)[frames]

    def milli(name: str, *numbers: float) -> tuple[str, ...]:
        return name, *(f"{1e3 * number:.3f}" for number in numbers)

    bodies = [(body, f"{markers.seen(body).mean():.1%}", f"{markers.longest_gap(body):.3f}") for body in markers.poses]
    title = f"markers: {len(markers)} rows, {markers.t[-1] - markers.t[0]:.1f} s"
    show_table(title, ("link", "seen", "longest gap, s"), bodies)
    measured = calibration.linkage.distances.items()
    distances = [milli(pair, d, sigma, model[pair], d - model[pair]) for pair, (d, sigma) in measured]
    show_table("axis distances, mm", ("axes", "measured", "sigma", frames, "difference"), distances)
    fitted = calibration.lengths.sigma.items()
    lengths = [milli(name, calibration.geometry.lengths[name], sigma, base[name]) for name, sigma in fitted]
    show_table("geometry, mm and mrad", ("length", "calibrated", "sigma", "published"), lengths)


def _summary(fit: Calibration) -> list[str]:
    gaps = ", ".join(f"{name} {1e3 * gap:.3f}" for name, gap in fit.linkage.gaps.items())
    lines = [f"Residual of the axes to the fitted lengths: {1e3 * fit.lengths.rms:.3f} mm rms; loop gaps [mm]: {gaps}"]
    if fit.lengths.pitch_offset is not None:
        lines.append(f"Pitch offset (true minus reading): {1e3 * fit.lengths.pitch_offset:.3f} mrad")
    if fit.rcm is not None:
        x, y, z = 1e3 * fit.rcm.post
        a, b, c = 1e3 * fit.rcm.rms
        lines.append(f"RCM in the camera frame: {x:.3f} {y:.3f} {z:.3f} mm, rms {a:.3f} {b:.3f} {c:.3f} mm")
    if fit.registration is not None:
        offsets = ", ".join(f"{name} {1e3 * value:.3f}" for name, value in fit.registration.offsets.items())
        left = f"{1e3 * fit.registration.position_rms:.3f} mm, {1e3 * fit.registration.rotation_rms:.3f} mrad"
        lines.append(f"Hand-eye residual: {left}; joint offsets [mrad, mm]: {offsets or 'not observable'}")
    if fit.dropped:
        lines.append(f"Rows dropped because a body jumped: {fit.dropped}")
    return [*lines, *fit.notes]


@plain_errors()
def gravity(
    poses: Annotated[Path, argument("POSES.csv", f"Columns {', '.join(COLUMNS)}; rad, m, N m, N.")],
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
    from trocar.arms.parameters import to_toml
    from trocar.identification.si.gravity import fit_gravity
    from trocar.identification.si.gravity_file import ARM, to_json
    from trocar.identification.si.parameters import completed

    check_toml(output, "a parameter set")
    check_writable(json, output)
    base = gravity_vector(load_arm(ARM), mounting=math.radians(mounting))
    fit = fit_gravity(*read_poses(poses), gravity=base, offsets=offsets)
    _show_gravity(fit)
    written = [] if json is None else [write_whole(json, to_json(fit))]
    if output is not None:
        head = [f"Gravity fitted to {len(fit.q)} static poses by `trocar gravity`; friction of the set zhou2025."]
        written.append(write_whole(output, to_toml(completed(ARM, output.stem, fit), head)))
    show_written(written)


def _show_gravity(fit: GravityFit) -> None:
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
