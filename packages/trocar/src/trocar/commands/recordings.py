"""`trocar compare` and `render`: recordings compared, and rendered without a screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import trocar as tr
from trocar.commands.options import Namespace, RecordedArm, argument, check_positive, flag, option
from trocar.commands.terminal import figure_text, plain_errors, progress_bar, show_table, show_written
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable

if TYPE_CHECKING:
    from trocar.appearance import Picture
    from trocar.view.film import Film

MAX_FPS, MAX_FRAMES = 240.0, 1e6
SUFFIXES = (".png", ".gif", ".mp4")
Camera = Literal["iso", "side", "tip"]


@plain_errors()
def compare(
    first: Annotated[Path, argument("A", "Recording: csv, npz, or a ROS bag.")],
    second: Annotated[Path, argument("B", "Recording to compare with A.")],
    arm: RecordedArm = None,
    namespace: Namespace = None,
    output: Annotated[Path | None, option("FILE", "Write a figure (png, svg, pdf) of both.", "--output", "-o")] = None,
) -> None:
    """Compare two recordings of an arm, joint by joint.

    Example: [bold]trocar compare measured.csv simulated.npz --arm PSM -o both.png[/bold].

    Prints the RMS, the largest and the relative difference in position, velocity and effort. The recordings are aligned
    at their first rows and converted to joints; B is interpolated to the rows of A over the time that both cover.
    To watch both, run [bold]trocar view A --compare B[/bold].
    """
    import numpy as np

    from trocar.recording import differences

    check_writable(output)
    a, b = (tr.load_recording(path, arm, namespace=namespace) for path in (first, second))
    t, changes = differences(a, b)
    figures = [f(x) for x in changes.values() for f in (lambda x: np.sqrt((x**2).mean(0)), lambda x: np.abs(x).max(0))]
    rows = [(joint, *(figure_text(figure[j], 2) for figure in figures)) for j, joint in enumerate(a.joints)]
    headings = ("joint", *(f"{channel} {kind}" for channel in changes for kind in ("RMS", "max")))
    name_a, name_b = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    title = f"{name_b} minus {name_a}: {len(t)} rows, {t[-1]:.3g} s (rad, m, s, N m, N)"
    show_table(title, headings, rows)
    relative = {
        channel: np.linalg.norm(x, axis=0) / np.maximum(np.linalg.norm(getattr(a, channel)[: len(t)], axis=0), 1e-300)
        for channel, x in changes.items()
    }
    rows = [(joint, *(figure_text(x[j], 2) for x in relative.values())) for j, joint in enumerate(a.joints)]
    rows.append(("mean", *(figure_text(float(x.mean()), 2) for x in relative.values())))
    show_table(f"Relative to {name_a}", ("joint", *relative), rows)
    if output is not None:
        from trocar.plots import save
        from trocar.recording.figure import recording_figure

        show_written([save(recording_figure(a, f"{name_a} and {name_b}", b, (name_a, name_b)), output)])


@plain_errors()
def render(
    recording: Annotated[Path, argument("RECORDING", "Recording: csv, npz, or a ROS bag.")],
    output: Annotated[Path, option("FILE", "Output file: .png, .gif or .mp4.", "--output", "-o")] = Path(
        "recording.gif"
    ),
    arm: RecordedArm = None,
    namespace: Namespace = None,
    camera: Annotated[Camera, flag("Whole arm, from the side, or close up on the tip.")] = "iso",
    at: Annotated[float | None, option("S", "Time of the picture, in seconds. Default: the end.")] = None,
    fps: Annotated[float, option("HZ", "Frames per second of the film.")] = 25.0,
    speed: Annotated[float, option("X", "Playback speed relative to recorded time.")] = 1.0,
    size: Annotated[str, option("WxH", "Width and height in pixels.")] = "640x480",
) -> None:
    """Render a recording as a picture or a film; needs no screen.

    Example: [bold]trocar render trocar-sim/recording.npz -o motion.gif[/bold].

    More: [bold]trocar render motion.csv --arm PSM -o end.png --camera tip[/bold] (a picture of the last row);
    [bold]trocar render motion.csv -o slow.mp4 --speed 0.25 --size 1280x960[/bold] (a film in slow motion;
    .mp4 needs ffmpeg, which comes with pip install 'trocar\\[view]' or apt install ffmpeg).
    """
    suffix = output.suffix.lower()
    check_known("format of the output", SUFFIXES, suffix)
    check_positive(fps=fps, speed=speed)
    if fps > MAX_FPS:
        raise TrocarError(f"--fps must be at most {MAX_FPS:g}, got {fps:g}; for slow motion, lower --speed")
    if at is not None and suffix != ".png":
        raise TrocarError("--at applies to pictures only; write a .png or omit --at")
    pixels = _size(size)

    from trocar.appearance import render_video, save_png
    from trocar.arms import ARMS
    from trocar.robot.settings import ArmSettings
    from trocar.robot.track import Track
    from trocar.view.film import Film

    check_writable(output)
    if arm is not None:
        check_known("arm", ARMS, arm)
    track = Track.load(recording, ArmSettings(arm=arm) if arm is not None else None, namespace)
    if arm is not None and track.arm.name != arm:
        raise TrocarError(f"{recording} was recorded with {track.arm.name}; omit --arm {arm}")
    if suffix == ".png":
        time = track.duration if at is None else at
        if not 0 <= time <= track.duration + 1e-9:
            raise TrocarError(f"--at {at:g} is outside the recording, 0 to {track.duration:.6g} s")
        written = save_png(output, Film(track, fps, speed, camera, pixels).picture(time))
    else:
        frames = track.duration * fps / speed
        if frames > MAX_FRAMES:
            excess = f"the film would have {frames:.3g} frames; the limit is {MAX_FRAMES:.0e}"
            raise TrocarError(f"{excess}; raise --speed or lower --fps")
        film = Film(track, fps, speed, camera, pixels)
        with progress_bar(f"{len(film)} frames") as progress:
            written = render_video(output, _counted(film, progress), fps)
    show_written([written])


def _size(text: str) -> tuple[int, int]:
    width, x, height = text.lower().partition("x")
    if not (x and width.isdecimal() and height.isdecimal() and 16 <= int(width) <= 8192 and 16 <= int(height) <= 8192):
        raise TrocarError(f"--size must be WIDTHxHEIGHT in pixels, 16 to 8192 each, such as 640x480; got {text!r}")
    return int(width), int(height)


def _counted(film: Film, progress: Callable[[float], None]) -> Iterator[Picture]:
    for k, picture in enumerate(film, start=1):
        progress(k / len(film))
        yield picture
