"""`trocar scene`: several arms in one model; recordings, a picture, and what the endoscope sees."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from trocar.commands.terminal import plain_errors, progress_bar
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.simulation import Scene

TIMESTEP = 1.0 / 1500.0  # [s], of the dVRK's PID


def scene(
    source: Annotated[
        str, typer.Argument(metavar="SCENE", help="psm, cart_classic, cart_si, masters, or a file NAME.toml.")
    ] = "cart_classic",
    duration: Annotated[float, typer.Option("--duration", "-d", metavar="S", help="Simulated time, in seconds.")] = 1.0,
    amplitude: Annotated[
        float, typer.Option(metavar="FRACTION", help="Of the sinusoid, as a fraction of each joint's range.")
    ] = 0.01,
    frequency: Annotated[float, typer.Option(metavar="HZ", help="Of the sinusoid.")] = 0.5,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the results.")] = Path(
        "trocar-scene"
    ),
) -> None:
    """Simulate several arms in one model: carts, masters, or a scene file of your own.

    Example: [bold]trocar scene cart_classic -d 2[/bold], then look at trocar-scene/picture.png and stereo.png.

    Every arm follows a small sinusoid about where the scene starts, under the dVRK's PID (1500 Hz, published gains)
    with gravity compensation. Scene files are described in docs/scenes.md.

    Writes ARM.npz for every arm and, where a picture can be drawn, picture.png and, with an ECM, stereo.png.
    """
    with plain_errors("a shorter --duration takes less time"):
        import numpy as np

        from trocar.control import GravityCompensation, JointPID, sinusoid
        from trocar.files import check_writable
        from trocar.simulation import load_scene, simulate

        check_writable(output / "picture.png")
        if not 0 <= amplitude <= 0.5:
            raise TrocarError(f"--amplitude is a fraction of the joint range, 0 to 0.5, got {amplitude}")
        if not (np.isfinite(frequency) and frequency > 0):
            raise TrocarError(f"--frequency must be positive [Hz], got {frequency}")
        loaded = load_scene(source, timestep=TIMESTEP)
        controllers, references = {}, {}
        for name, arm in loaded.arms.items():
            way = amplitude * (arm.arm.upper - arm.arm.lower)
            centre = np.clip(arm.q, arm.arm.lower + way, arm.arm.upper - way)
            references[name] = sinusoid(centre, way, frequency)
            controllers[name] = JointPID(arm.arm, clamp=True) + GravityCompensation(arm.mechanism)
        start = {name: reference(0.0) for name, reference in references.items()}
        loaded.reset({name: s.q for name, s in start.items()}, {name: s.dq for name, s in start.items()})
        with progress_bar(f"{source}, {duration:g} s") as progress:
            began = time.perf_counter()
            recordings = simulate(loaded, controllers, references, duration, progress, diagnostics=True)
            wall = time.perf_counter() - began
        written = [recording.save(output / f"{name}.npz") for name, recording in recordings.items()]
        written += _pictures(loaded, output)

    table = Table(title=f"{source}, {duration:g} s", title_justify="left")
    for heading in ("arm", "kind", "parameters", "RMS error (rad)", "sliding joints (m)", "RCM error (m)"):
        table.add_column(heading)
    for name, recording in recordings.items():
        error = recording.commands["q"] - recording.q
        slides = np.array([unit == "m" for unit in recording.joint_units])
        rms = [f"{np.sqrt((error[:, kind] ** 2).mean()):.2g}" if kind.any() else "" for kind in (~slides, slides)]
        centre_error = recording.extra.get("rcm_error")
        last = "" if centre_error is None else f"{centre_error.max():.1g}"
        table.add_row(name, loaded.arms[name].arm.name, loaded.arms[name].parameters.name, *rms, last)
    Console().print(table)
    for contact in loaded.touching()[:3]:
        typer.echo(f"Touching at the end: {contact}")
    typer.echo(f"Real-time factor, control and recordings included: {loaded.time / wall:.3g}")
    typer.echo("Written:")
    for path in written:
        typer.echo(f"  {path}")


def _pictures(loaded: Scene, output: Path) -> list[Path]:
    """The scene where it ended; where it cannot be drawn, a line on stderr says why."""
    try:
        import numpy as np

        from trocar.appearance import render, save_png
        from trocar.appearance.endoscope_camera import StereoEndoscope

        image = render(loaded)
        written = [save_png(output / "picture.png", image)]
        for name, arm in loaded.arms.items():
            if arm.arm.carries == "endoscope":
                pair = StereoEndoscope(loaded, name, samples=4).pair()
                written.append(save_png(output / "stereo.png", np.hstack(pair)))
                break
        return written
    except (TrocarError, ImportError) as error:
        typer.echo(f"no picture: {error}", err=True)
        return []
