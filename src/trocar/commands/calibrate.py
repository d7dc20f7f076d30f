"""`trocar calibrate`: link lengths, remote centre and place of one's own arm, from motion capture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.calibration import Calibration
    from trocar.recording import Markers


def calibrate(
    file: Annotated[Path, typer.Argument(metavar="MARKERS.csv", help="Marked links over time; see above.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="GEOMETRY.toml", help="Where to write.")] = Path(
        "geometry.toml"
    ),
    arm: Annotated[str, typer.Option(metavar="ARM", help="PSM or ECM (Classic).")] = "PSM",
    frames: Annotated[
        str, typer.Option(metavar="NAME", help="Published geometry whose lengths to find; PSM also wang2019.")
    ] = "gondokaryono2019",
    drop_jumps: Annotated[
        bool, typer.Option("--drop-jumps", help="Leave rows out in which a body is suddenly elsewhere.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Picture (png, svg, pdf); beside the output without.", show_default=False),
    ] = None,
) -> None:
    """Find the link lengths of your own arm from markers on its links; write a geometry file.

    Example: [bold]trocar calibrate markers.csv -o my_psm.toml[/bold], then
    [bold]trocar sim PSM --parameters my_psm.toml[/bold], or load_mechanism("PSM", "my_psm.toml").

    MARKERS.csv has the columns [bold]t \\[s], q_yaw \\[rad], q_pitch \\[rad], q_insertion \\[m][/bold] and, for every
    marked link (yaw, back, front, bottom, top, end, insertion, tip), its rigid body of markers in the camera frame:
    [bold]end_x \\[m], end_y \\[m], end_z \\[m], end_qw, end_qx, end_qy, end_qz[/bold] (or \\[mm]; cells empty where
    not seen). Move yaw, pitch and insertion through most of their range, for a minute or so.

    Method: Gondokaryono et al. 2019, sections 2.4 and 4.1. See docs/calibration.md.
    """
    with plain_errors():
        from trocar.calibration import calibrate as run
        from trocar.commands.calibration_figure import calibration_figure
        from trocar.files import check_writable
        from trocar.plots import save
        from trocar.recording import Markers

        if output.suffix != ".toml":
            raise TrocarError(f"the geometry file must end in .toml, got {output}")
        check_writable(output, plot)
        markers = Markers.load(file)
        found = run(markers, arm, frames, drop_jumps=drop_jumps)
        written = [found.write(output), save(calibration_figure(found), plot or output.with_suffix(".png"))]
    console = Console()
    for table in (_seen(markers), _distances(found), _lengths(found)):
        console.print(table)
    for line in _summary(found):
        typer.echo(line)
    typer.echo("Written: " + ", ".join(map(str, written)))


def _seen(markers: Markers) -> Table:
    table = Table("link", title=f"markers: {len(markers)} rows, {markers.t[-1] - markers.t[0]:.1f} s")
    table.add_column("seen", justify="right")
    table.add_column("longest gap, s", justify="right")
    for body in markers.poses:
        table.add_row(body, f"{markers.seen(body).mean():.1%}", f"{markers.longest_gap(body):.3f}")
    return table


def _distances(found: Calibration) -> Table:
    from trocar.arms import load_arm
    from trocar.calibration import model_distances

    published = model_distances(load_arm(found.arm, found.geometry.frames))
    table = Table("axes", title="axis distances, mm")
    for column in ("measured", "sigma", found.geometry.frames, "difference"):
        table.add_column(column, justify="right")
    for pair, (value, sigma) in found.linkage.distances.items():
        numbers = (value, sigma, published[pair], value - published[pair])
        table.add_row(pair, *(f"{1e3 * number:.3f}" for number in numbers))
    return table


def _lengths(found: Calibration) -> Table:
    from trocar.arms import published

    base = published(found.arm)[found.geometry.frames]
    table = Table("length", title="geometry, mm and mrad")
    for column in ("calibrated", "sigma", "published"):
        table.add_column(column, justify="right")
    for name, sigma in found.lengths.sigma.items():
        numbers = (found.geometry.lengths[name], sigma, base[name])
        table.add_row(name, *(f"{1e3 * number:.3f}" for number in numbers))
    return table


def _summary(found: Calibration) -> list[str]:
    gaps = ", ".join(f"{name} {1e3 * gap:.3f}" for name, gap in found.linkage.gaps.items())
    lines = [f"Axes off the fitted lengths: {1e3 * found.lengths.rms:.3f} mm rms; loops open by [mm]: {gaps}"]
    if found.lengths.pitch_offset is not None:
        lines.append(f"Pitch offset (true less reading): {1e3 * found.lengths.pitch_offset:.3f} mrad")
    if found.rcm is not None:
        x, y, z = 1e3 * found.rcm.post
        a, b, c = 1e3 * found.rcm.rms
        lines.append(f"RCM in the camera frame: {x:.3f} {y:.3f} {z:.3f} mm, rms {a:.3f} {b:.3f} {c:.3f} mm")
    if found.registration is not None:
        offsets = ", ".join(f"{name} {1e3 * value:.3f}" for name, value in found.registration.offsets.items())
        left = f"{1e3 * found.registration.position_rms:.3f} mm, {1e3 * found.registration.rotation_rms:.3f} mrad"
        lines.append(f"Hand-eye, what is left: {left}; joint offsets [mrad, mm]: {offsets or 'none can be told'}")
    if found.dropped:
        lines.append(f"Rows left out because a body jumped: {found.dropped}")
    return [*lines, *found.notes]
