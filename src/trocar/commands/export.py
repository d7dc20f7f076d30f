"""`trocar export`: an arm as files for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError


class Format(StrEnum):
    mjcf = "mjcf"
    urdf = "urdf"
    sdf = "sdf"
    rviz = "rviz"


def export(
    arms: Annotated[list[str], typer.Argument(metavar="ARM...", help="PSM, PSM_Si, ECM, ECM_Si, MTML, MTMR.")],
    formats: Annotated[
        list[Format] | None,
        typer.Option("--format", "-f", help="Repeat for more; all without.", show_default=False),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder of each arm is made in DIR.")
    ] = Path("models"),
    parameters: Annotated[
        str | None,
        typer.Option("--parameters", "-p", metavar="SET", help="Name or file; the arm's best without."),
    ] = None,
    instrument: Annotated[
        str | None, typer.Option("--instrument", "-i", metavar="NAME", help="Number or name; the default without.")
    ] = None,
    picture: Annotated[bool, typer.Option(help="Render a picture of the arm too (needs OpenGL).")] = True,
) -> None:
    """Write an arm as MJCF, URDF with SRDF, SDF or an RViz configuration, with its meshes and how it was derived.

    Example: [bold]trocar export PSM --format mjcf -o models[/bold], then open models/psm/scene.xml in MuJoCo's viewer.

    Every arm gets a folder: README.md with the sources of its numbers and what the formats leave out, LICENSE,
    CHANGELOG.md, a picture, the files of the formats, and assets/ with the meshes.
    """
    with plain_errors():
        from trocar.appearance import render, save_png
        from trocar.files import check_writable
        from trocar.simulation import Simulator
        from trocar.simulation.export import FORMATS, write_model

        chosen = tuple(dict.fromkeys(format_.value for format_ in formats)) if formats else FORMATS
        for name in dict.fromkeys(arms):
            check_writable(output / name.lower() / "README.md")
            sim = Simulator(name, parameters, instrument=instrument)
            folder = output / name.lower()
            written = write_model(sim, folder, chosen)
            if picture:
                try:
                    written.append(save_png(folder / f"{name.lower()}.png", render(sim, "iso", (640, 480))))
                except TrocarError as error:
                    typer.echo(f"No picture: {error}", err=True)
            size = sum(path.stat().st_size for path in written)
            typer.echo(f"{folder}: {len(written)} files, {size / 1e6:.2f} MB ({', '.join(chosen)})")
