"""`trocar scene`: simulate several arms in one model; write recordings, a picture and the endoscope's view."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

import trocar as tr
from trocar.commands.options import (
    Amplitude,
    Duration,
    Folder,
    Frequency,
    check_amplitude,
    check_positive,
    check_rows,
    flag,
)
from trocar.commands.terminal import drawn, plain_errors, progress_bar, show_table, show_written

TIMESTEP = 1.0 / 1500.0  # period of the dVRK's PID [s], used if the scene file has no time step


@plain_errors("a shorter --duration takes less time")
def scene(
    source: Annotated[
        str,
        typer.Argument(metavar="SCENE", help="psm, cart_classic, cart_si, masters, dvrk, dvrk_si, or a .toml file."),
    ] = "cart_classic",
    duration: Duration = 1.0,
    amplitude: Amplitude = 0.01,
    frequency: Frequency = 0.5,
    touch: Annotated[bool, flag("Add a plate, a block and a needle below the instruments.")] = False,
    output: Folder = Path("trocar-scene"),
) -> None:
    """Simulate several arms in one model.

    Example: [bold]trocar scene cart_classic -d 2 --touch[/bold], then look at trocar-scene/picture.png and stereo.png.

    Every arm follows a small sinusoid about its initial position, under the dVRK's PID (1500 Hz, published gains)
    with gravity compensation. If the scene file sets a time step, the PID period is the nearest multiple of it.
    docs/scenes.md documents the scene files.

    Writes ARM.npz for every arm and, if rendering works on this machine, picture.png and, with an ECM, stereo.png.
    """
    import numpy as np

    from trocar.control import sinusoid
    from trocar.files import check_writable
    from trocar.simulation.scene_file import timestep_of

    check_writable(output / "picture.png")
    check_amplitude(amplitude)
    check_positive(frequency=frequency, duration=duration)
    timestep = timestep_of(source) or TIMESTEP
    loaded = tr.load_scene(source, timestep=timestep)
    if touch:
        from trocar.simulation.objects.practice import practice_objects

        loaded = tr.load_scene(source, timestep=timestep, objects=practice_objects(loaded))
    check_rows(duration / loaded.timestep * len(loaded.arms), "Choose a shorter --duration")
    controllers, references = {}, {}
    for name, arm in loaded.arms.items():
        way = amplitude * (arm.arm.upper - arm.arm.lower)
        centre = np.clip(arm.q, arm.arm.lower + way, arm.arm.upper - way)
        references[name] = sinusoid(centre, way, frequency)
        pid = tr.JointPID(arm.arm, clamp=True)
        pid.period = max(1, round(pid.period / loaded.timestep)) * loaded.timestep  # whole time steps
        controllers[name] = pid + tr.GravityCompensation(arm.mechanism)
    start = {name: reference(0.0) for name, reference in references.items()}
    loaded.reset({name: s.q for name, s in start.items()}, {name: s.dq for name, s in start.items()})
    with progress_bar(f"{source}, {duration:g} s") as progress:
        began = time.perf_counter()
        recordings = tr.simulate(loaded, controllers, references, duration, progress, diagnostics=True)
        wall = time.perf_counter() - began
    written = [recording.save(output / f"{name}.npz") for name, recording in recordings.items()]
    written += drawn(_pictures, loaded, output)

    rows = []
    for name, recording in recordings.items():
        error = recording.commands["q"] - recording.q
        slides = np.array([unit == "m" for unit in recording.joint_units])
        rms = [f"{np.sqrt((error[:, kind] ** 2).mean()):.2g}" if kind.any() else "" for kind in (~slides, slides)]
        centre_error = recording.extra.get("rcm_error")
        last = "" if centre_error is None else f"{centre_error.max():.1g}"
        rows.append((name, loaded.arms[name].arm.name, loaded.arms[name].parameters.name, *rms, last))
    headings = ("arm", "kind", "parameters", "RMS error (rad)", "sliding joints (m)", "RCM error (m)")
    show_table(f"{source}, {duration:g} s", headings, rows, left=range(6))
    for contact in loaded.touching()[:3]:
        typer.echo(f"In contact at the end: {contact}")
    typer.echo(f"Real-time factor, including control and recording: {loaded.time / wall:.3g}")
    show_written(written)


def _pictures(loaded: tr.Scene, output: Path) -> list[Path]:
    """Write pictures of the final scene and of the first endoscope's view."""
    from trocar.appearance import StereoEndoscope, render, save_png

    written = [save_png(output / "picture.png", render(loaded, labels=len(loaded.arms) > 1))]
    for name in [name for name, arm in loaded.arms.items() if arm.arm.carries == "endoscope"][:1]:
        endoscope = StereoEndoscope(loaded, name, samples=4)
        written.append(save_png(output / "stereo.png", endoscope.side_by_side()))
    return written
