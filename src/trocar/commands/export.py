"""`trocar export`: model files of an arm for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import trocar as tr
from trocar.commands.options import ARMS, Instrument, ParameterSet, flag, option
from trocar.commands.terminal import drawn, plain_errors, save_picture


@plain_errors()
def export(
    arms: Annotated[list[str], typer.Argument(metavar="ARM...", help=f"{ARMS}.")],
    formats: Annotated[
        list[str] | None,
        option("FORMAT", "mjcf, urdf, sdf or rviz; can be repeated. Default: all formats.", "--format", "-f"),
    ] = None,
    output: Annotated[Path, option("DIR", "Each arm gets a folder in DIR.", "--output", "-o")] = Path("models"),
    parameters: ParameterSet = None,
    instrument: Instrument = None,
    picture: Annotated[bool, flag("Also render a picture of the arm (needs OpenGL).")] = True,
) -> None:
    """Export an arm as MJCF, URDF with SRDF, SDF or for RViz.

    Example: [bold]trocar export PSM --format mjcf -o models[/bold], then open models/psm/scene.xml in MuJoCo's viewer.

    Every arm gets a folder: README.md with the sources of its numbers and the limits of each format, LICENSE,
    CHANGELOG.md, a picture, the model files, and assets/ with the meshes.
    """
    from trocar.files import check_writable
    from trocar.simulation.export import FORMATS, write_model

    chosen = tuple(dict.fromkeys(formats)) if formats else FORMATS
    for name in dict.fromkeys(arms):
        check_writable(output / name.lower() / "README.md")
        sim = tr.Simulator(name, parameters, instrument=instrument)
        folder = output / name.lower()
        written = write_model(sim, folder, chosen)
        if picture:
            written += drawn(save_picture, folder / f"{name.lower()}.png", sim, "iso", (640, 480))
        size = sum(path.stat().st_size for path in written)
        typer.echo(f"{folder}: {len(written)} files, {size / 1e6:.2f} MB ({', '.join(chosen)})")
