"""`trocar export`: model files of an arm or a whole cart for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import trocar as tr
from trocar.commands.options import ARMS, Instrument, ParameterSet, argument, flag, option
from trocar.commands.terminal import drawn, plain_errors, save_picture
from trocar.errors import TrocarError
from trocar.files import check_writable, write_whole


@plain_errors()
def export(
    models: Annotated[
        list[str], argument("MODEL...", f"{ARMS}; or a scene: cart_classic, cart_si, masters or a .toml file.")
    ],
    formats: Annotated[
        list[str] | None,
        option(
            "FORMAT",
            "mjcf, urdf, sdf, rviz; of an arm also moveit, ambf. Can be repeated. Default: all but these two.",
            "--format",
            "-f",
        ),
    ] = None,
    output: Annotated[Path, option("DIR", "Each model gets a folder in DIR.", "--output", "-o")] = Path("models"),
    parameters: ParameterSet = None,
    instrument: Instrument = None,
    picture: Annotated[bool, flag("Also render a picture of the model (needs OpenGL).")] = True,
    plain_c: Annotated[bool, flag("Write only the equations of an arm as C code, ARM.c and ARM.h.", "--c")] = False,
    timestep: Annotated[float, option("S", "With --c: time step, in seconds.")] = 1e-3,
    inertias: Annotated[
        bool, flag("Write only the link inertias of an arm at home, in link and base axes: inertias.csv.", "--inertias")
    ] = False,
) -> None:
    """Export an arm or a whole cart as MJCF, URDF with SRDF, SDF or RViz files; an arm for MoveIt or AMBF or as C code.

    Example: [bold]trocar export PSM --format mjcf -o models[/bold], then open models/psm/scene.xml in MuJoCo's viewer.

    Every model gets a folder: README.md with the sources of its numbers and the limits of each format, LICENSE,
    CHANGELOG.md, a picture, the model files, and assets/ with the meshes.

    With --inertias: mass, centre of mass and inertia of every link, in its frame and in the base frame, with the
    barycentric parameters of identifications; see docs/inertias.md.
    With --c: psm.c and psm.h with a time step, forward dynamics, mass matrix, tip pose and Jacobian in plain C.
    """
    from trocar.simulation.export import DEFAULT_FORMATS, write_model

    if inertias:
        if formats or plain_c:
            raise TrocarError("--inertias writes a table only; omit --format and --c")
        for name in dict.fromkeys(models):
            _export_inertias(name, output / name.lower() / "inertias.csv", parameters, instrument)
        return
    if plain_c:
        if formats:
            raise TrocarError("--c writes C code only; omit --format")
        for name in dict.fromkeys(models):
            _export_c(name, output / name.lower(), parameters, instrument, timestep)
        return
    for what in dict.fromkeys(models):
        name = Path(what).stem if what.endswith(".toml") else what
        folder = output / name.lower()
        check_writable(folder / "README.md")
        model = _loaded(what, parameters, instrument)
        chosen = tuple(dict.fromkeys(formats)) if formats else DEFAULT_FORMATS
        written = write_model(model, folder, chosen, name)
        if picture:
            camera = "iso" if isinstance(model, tr.Simulator) else None
            written += drawn(save_picture, folder / f"{name.lower()}.png", model, camera, (640, 480))
        size = sum(path.stat().st_size for path in written)
        typer.echo(f"{folder}: {len(written)} files, {size / 1e6:.2f} MB ({', '.join(chosen)})")


def _loaded(what: str, parameters: str | None, instrument: str | None) -> tr.Simulator | tr.Scene:
    from trocar.arms import ARMS
    from trocar.errors import UnknownName
    from trocar.simulation.scene_file import scene_names

    if what in scene_names() or what.endswith(".toml"):
        if parameters is not None or instrument is not None:
            own = f"{what} is a scene and defines its own parameters and instruments"
            raise TrocarError(f"{own}; omit --parameters and --instrument")
        return tr.load_scene(what)
    if what not in ARMS:
        raise UnknownName("arm or scene", what, (*ARMS, *scene_names(), "a .toml file"))
    return tr.Simulator(what, parameters, instrument=instrument)


def _export_c(name: str, folder: Path, parameters: str | None, instrument: str | None, timestep: float) -> None:
    from trocar import batch
    from trocar.batch.c_export import c_files

    check_writable(folder / "arm.c")
    files = c_files(batch.load(name, parameters, instrument=instrument), timestep)
    for file, text in files.items():
        write_whole(folder / file, text)
    typer.echo(f"{folder}: {', '.join(files)}, steps of {timestep:g} s")


def _export_inertias(name: str, file: Path, parameters: str | None, instrument: str | None) -> None:
    import numpy as np

    from trocar.simulation.export.inertias import inertia_table

    check_writable(file)
    mechanism = tr.load_mechanism(name, parameters, instrument=instrument)
    write_whole(file, inertia_table(mechanism, np.array(mechanism.arm.home), np.eye(4)))
    typer.echo(f"{file}: {len(mechanism.dynamic_parameters.inertias)} links [kg, m, kg m^2]")
