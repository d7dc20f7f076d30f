"""`trocar calibrate`: link lengths, remote centre and base pose of your own arm, from motion capture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trocar.commands.options import check_toml, flag, option
from trocar.commands.terminal import plain_errors, show_table, show_written

if TYPE_CHECKING:
    from trocar.calibration import Calibration
    from trocar.recording import Markers


@plain_errors()
def calibrate(
    file: Annotated[Path, typer.Argument(metavar="MARKERS.csv", help="Poses of marked links; see above.")],
    output: Annotated[Path, option("FILE.toml", "Geometry file to write.", "--output", "-o")] = Path("geometry.toml"),
    arm: Annotated[str, option("ARM", "PSM or ECM (Classic).")] = "PSM",
    frames: Annotated[
        str, option("NAME", "Published geometry to adjust; for a PSM also wang2019.")
    ] = "gondokaryono2019",
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
    from trocar.files import check_writable
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
