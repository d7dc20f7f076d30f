"""`trocar scene`: several arms in one model under the dVRK's PID; recordings and pictures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import trocar as tr
from trocar.commands import options
from trocar.commands.options import argument
from trocar.commands.terminal import drawn, plain_errors, progress_bar, show_table, show_written
from trocar.files import check_writable


@plain_errors("a shorter --duration takes less time")
def scene(
    source: Annotated[
        str, argument("SCENE", "psm, cart_classic, cart_si, masters, dvrk, dvrk_si, suture, or a .toml file.")
    ] = "cart_classic",
    duration: options.Duration = 1.0,
    amplitude: options.Amplitude = 0.01,
    frequency: options.Frequency = 0.5,
    touch: options.Touch = False,
    output: options.Folder = Path("trocar-scene"),
) -> None:
    """Simulate several arms in one model.

    Example: [bold]trocar scene cart_classic -d 2 --touch[/bold], then look at trocar-scene/picture.png and stereo.png.

    Every arm follows a small sinusoid about its initial position, under the dVRK's PID (1500 Hz, published gains)
    with gravity compensation. If the scene file sets a time step, the PID period is the nearest multiple of it.
    docs/scenes.md documents the scene files.

    Writes ARM.npz for every arm and, if rendering works on this machine, picture.png and, with an ECM, stereo.png.
    """
    check_writable(output / "picture.png")
    options.check_amplitude(amplitude)
    options.check_positive(frequency=frequency, duration=duration)
    loaded = _loaded(source, touch)
    options.check_rows(duration / loaded.timestep * len(loaded.arms), "Choose a shorter --duration")
    controllers, references = _motions(loaded, amplitude, frequency)
    with progress_bar(f"{source}, {duration:g} s") as progress:
        began = time.perf_counter()
        recordings = tr.simulate(loaded, controllers, references, duration, progress, diagnostics=True)
        wall = time.perf_counter() - began
    written = [recording.save(output / f"{name}.npz") for name, recording in recordings.items()]
    written += drawn(_pictures, loaded, output)
    _show(loaded, recordings, f"{source}, {duration:g} s")
    typer.echo(f"Real-time factor, including control and recording: {loaded.time / wall:.3g}")
    show_written(written)


def _loaded(source: str, touch: bool) -> tr.Scene:
    """The scene at its own time step, or that of the PID; with objects to touch."""
    from trocar.arms.arm import CONTROL_RATE
    from trocar.simulation.objects.solid import practice_objects
    from trocar.simulation.scene_file import timestep_of

    timestep = timestep_of(source) or 1 / CONTROL_RATE
    loaded = tr.load_scene(source, timestep=timestep)
    return tr.load_scene(source, timestep=timestep, objects=practice_objects(loaded)) if touch else loaded


def _motions(loaded: tr.Scene, amplitude: float, frequency: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Controller and reference of every arm; the scene is reset to their start."""
    import numpy as np

    from trocar.control import sinusoid

    controllers, references = dict[str, Any](), dict[str, Any]()
    for name, arm in loaded.arms.items():
        way = amplitude * (arm.arm.upper - arm.arm.lower)
        centre = np.clip(arm.q, arm.arm.lower + way, arm.arm.upper - way)
        references[name] = sinusoid(centre, way, frequency)
        pid = tr.JointPID(arm.arm, clamp=True)
        pid.period = max(1, round(pid.period / loaded.timestep)) * loaded.timestep  # whole time steps
        controllers[name] = pid + tr.GravityCompensation(arm.mechanism)
    start = {name: reference(0.0) for name, reference in references.items()}
    loaded.reset({name: s.q for name, s in start.items()}, {name: s.dq for name, s in start.items()})
    return controllers, references


def _show(loaded: tr.Scene, recordings: Any, title: str) -> None:
    """Print the errors of every arm, and the deepest contacts at the end."""
    import numpy as np

    rows = []
    for name, recording in recordings.items():
        error = recording.commands["q"] - recording.q
        slides = np.array([unit == "m" for unit in recording.joint_units])
        rms = [f"{np.sqrt((error[:, kind] ** 2).mean()):.2g}" if kind.any() else "" for kind in (~slides, slides)]
        centre_error = recording.extra.get("rcm_error")
        last = "" if centre_error is None else f"{centre_error.max():.1g}"
        rows.append((name, loaded.arms[name].arm.name, loaded.arms[name].parameters.name, *rms, last))
    headings = ("arm", "kind", "parameters", "RMS error (rad)", "sliding joints (m)", "RCM error (m)")
    show_table(title, headings, rows, left=range(6))
    deepest = {(contact.first, contact.second): contact for contact in reversed(loaded.touching())}
    for contact in sorted(deepest.values(), key=lambda contact: contact.distance)[:3]:
        typer.echo(f"In contact at the end: {contact}")


def _pictures(loaded: tr.Scene, output: Path) -> list[Path]:
    from trocar.appearance import StereoEndoscope, render, save_png

    written = [save_png(output / "picture.png", render(loaded, labels=len(loaded.arms) > 1))]
    ecm = next((name for name, arm in loaded.arms.items() if arm.arm.carries == "endoscope"), None)
    if ecm is not None:
        written.append(save_png(output / "stereo.png", StereoEndoscope(loaded, ecm, samples=4).side_by_side()))
    return written
