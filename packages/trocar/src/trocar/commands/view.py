"""`trocar view`: an arm, a scene or a recording in the browser."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

import trocar as tr
from trocar.commands import options
from trocar.commands.options import argument, flag, option
from trocar.commands.pages import VIEW, announce, open_page, wait_for_end
from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError
from trocar.files import check_writable
from trocar.plugins import plugins

if TYPE_CHECKING:
    from collections.abc import Callable

    from trocar.robot.settings import ArmSettings
    from trocar.robot.track import Track
    from trocar.view.page import Page
    from trocar.view.viser_internals import PageServer


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Presentation of a page of `trocar view`: reports beside it, address, browser."""

    reports: Path | None = None
    host: str = "127.0.0.1"
    port: int | None = None
    browser: bool = True

    def open(self, running: ExitStack, make: Callable[[PageServer], Page]) -> Page:
        """Open a page of `trocar.view.pages`."""
        return open_page(running, make, host=self.host, port=self.port)

    def wait(self, page: Page) -> None:
        """Print the address and wait for Ctrl-C."""
        wait_for_end(page, "trocar view", self.browser)


class ViewKind(Protocol):
    """Something else that `trocar view` opens; an entry point `trocar.views` of another package."""

    def accepts(self, what: str) -> bool:
        """True if it can open this argument."""

    def show(self, what: str, shown: Shown) -> None:
        """Show it until Ctrl-C."""


@plain_errors()
def view(
    what: Annotated[
        str,
        argument(
            "[ARM | SCENE | RECORDING | DATA]",
            f"{options.ARMS}; a scene: cart_classic, cart_si, masters, dvrk, dvrk_si, suture, another package's or a "
            ".toml file; a recording: csv, npz or a ROS bag; with trocar-learning a data set: its folder or HDF5 file.",
        ),
    ] = "PSM",
    compare: Annotated[Path | None, option("RECORDING", "Second recording, drawn as a ghost.")] = None,
    arm: options.RecordedArm = None,
    namespace: options.Namespace = None,
    parameters: options.ParameterSet = None,
    instrument: options.Instrument = None,
    touch: options.Touch = False,
    html: Annotated[
        Path | None, option("FILE", "Write a recording or scene as one HTML page, which needs no server, and exit.")
    ] = None,
    reports: Annotated[Path | None, option("DIR", "Folder of HTML reports to show in the page.")] = None,
    host: Annotated[str, option("ADDRESS", "Address to listen on.")] = "127.0.0.1",
    port: options.Port = None,
    play: Annotated[bool, flag("Start with the simulation running.", "--play/--paused")] = True,
    browser: options.Browser = True,
    native: Annotated[bool, flag("Use MuJoCo's own window; needs a display.", "--native")] = False,
) -> None:
    """Watch and drive an arm, a scene or a recording in the browser.

    Example: [bold]trocar view PSM[/bold], then open the address that it prints; end with Ctrl-C.
    Drag the sliders, switch off the counterweight, push the tip.

    More: [bold]trocar view cart_classic[/bold] (three PSMs and the endoscope's view);
    [bold]trocar view PSM --touch[/bold] (with objects to press on);
    [bold]trocar view trocar-sim/recording.npz[/bold] (play a recording);
    [bold]trocar view demos[/bold] (choose and play the episodes of a data set, each with the motion of its twin);
    [bold]trocar view measured.csv --compare simulated.csv --arm PSM[/bold] (compare two recordings);
    [bold]trocar view trocar-sim/recording.npz --html run.html[/bold] (one file for people without trocar).
    On another machine: [bold]ssh -L 8080:127.0.0.1:8080 MACHINE trocar view[/bold],
    then open the printed address here; this side needs no installation.

    The page is served on the loopback interface only, unless --host names another address, and
    only to those who have the printed address: it contains a token that changes with every run.
    Needs viser: pip install 'trocar\\[view]'. A running robot: [bold]trocar watch[/bold].
    """
    announce(f"opening {what}")
    from trocar.robot.settings import ArmSettings

    _quiet()
    shown = Shown(reports=reports, host=host, port=port, browser=browser)
    if (other := _other_view(what)) is not None:
        if compare or touch or native or html or namespace or arm or parameters or instrument:
            raise TrocarError(f"{what} is shown with --reports, --host, --port and --browser only")
        other.show(what, shown)
        return
    recording, scene = _recording(what, compare, namespace), _scene_name(what)
    if scene is not None and (parameters or instrument):
        raise TrocarError("--parameters and --instrument apply to one arm; a scene defines them in its file")
    if native and recording is not None:
        raise TrocarError("--native shows live simulations only; omit it to view a recording")
    name = (arm or "PSM") if recording or scene else options.arm_name(what) or what
    settings = ArmSettings(arm=name, parameters=parameters, instrument=instrument)
    tracks = _tracks(recording, compare, settings, namespace)
    built = _built(scene, settings, touch)
    if html is not None:
        _write_page(html, tracks, built, what)
    else:
        _show(built, tracks, settings, shown, playing=play and recording is None, native=native)


def _quiet() -> None:
    """Silence warnings that the page shows itself."""
    from trocar.errors import NearLimit, NearSingular

    for category in (NearSingular, NearLimit):
        warnings.simplefilter("ignore", category)
    # viser warns when a browser has just disconnected
    warnings.filterwarnings("ignore", "Queued a .* on a closed connection")


def _other_view(what: str) -> ViewKind | None:
    """The view of another package that opens this argument; arms, scenes and recordings go first."""
    from trocar.arms import ARMS
    from trocar.recording.loading import is_recording
    from trocar.simulation.scene_file import scene_names

    if what in scene_names() or options.arm_name(what) in ARMS or is_recording(Path(what)):
        return None
    views: dict[str, ViewKind] = plugins("trocar.views")
    return next((view for view in views.values() if view.accepts(what)), None)


def _show(
    scene: tr.Scene, tracks: list[Track], settings: ArmSettings, shown: Shown, *, playing: bool, native: bool
) -> None:
    """Show a live robot, or recordings beside it, until Ctrl-C."""
    with ExitStack() as running:  # stopped in reverse order
        robot = running.enter_context(tr.Robot(scene, speed="real", start="ready", playing=playing))
        if native:
            from trocar.view.native import show

            show(robot)
            return
        with VIEW.needed():
            from trocar.view.pages import viewer_page
            from trocar.view.panels.recordings import RecordingPanel
        page = shown.open(
            running,
            partial(viewer_page, robot=robot, reports=shown.reports, settings=settings, recording=bool(tracks)),
        )
        if tracks:
            page.panel(RecordingPanel).open(*tracks)
        shown.wait(page)


def _write_page(path: Path, tracks: list[Track], scene: tr.Scene, title: str) -> None:
    """Write a static page of recordings, or else of a scene."""
    from trocar.files import write_whole

    if path.suffix.lower() != ".html":
        raise TrocarError(f"--html takes FILE.html, got {path}")
    check_writable(path)
    with VIEW.needed():
        from trocar.view.static_page import recording_page, scene_page
    page = recording_page(*tracks) if tracks else scene_page(scene, title)
    typer.echo(f"{write_whole(path, page)}: {len(page) / 1e6:.1f} MB; open it in a browser, no server is needed")


def _recording(what: str, compare: Path | None, namespace: str | None) -> Path | None:
    """The file of a recording, None if an arm or a scene is named; checks the options that belong to it."""
    from trocar.recording.bag_file import is_bag
    from trocar.recording.loading import is_recording

    recording = Path(what) if is_recording(Path(what)) else None
    if namespace is not None and not any(path is not None and is_bag(path) for path in (recording, compare)):
        raise TrocarError("--namespace selects an arm in a bag; give a bag, or omit it")
    if compare is not None and recording is None:
        raise TrocarError("--compare takes the second recording; give the first one instead of an arm")
    for path in (recording, compare):
        if path is not None and not path.exists():
            raise TrocarError(f"the recording {path} does not exist; trocar sim makes one")
    return recording


def _tracks(recording: Path | None, compare: Path | None, settings: ArmSettings, namespace: str | None) -> list[Track]:
    """The recordings to show; a file that cannot be read or compared is reported before a page opens."""
    from trocar.robot.track import Track, difference

    tracks = [Track.load(file, settings, namespace) for file in (recording, compare) if file is not None]
    if len(tracks) == 2:
        difference(*tracks)
    return tracks


def _scene_name(what: str) -> str | None:
    """Name or file of a scene, None for an arm or a recording."""
    from trocar.arms import ARMS
    from trocar.errors import UnknownName
    from trocar.recording.loading import is_recording
    from trocar.simulation.scene_file import scene_names

    if what in scene_names():
        return what
    if Path(what).suffix and not Path(what).exists():
        raise TrocarError(f"the file {what} does not exist; known scenes: {', '.join(scene_names())}")
    if Path(what).suffix.lower() == ".toml":
        return what
    if not is_recording(Path(what)) and options.arm_name(what) not in ARMS:  # in upper or lower case
        raise UnknownName("arm, scene or recording", what, (*scene_names(), *ARMS, "a .toml file or a recording"))
    return None


def _built(name: str | None, settings: ArmSettings, touch: bool) -> tr.Scene:
    """The scene of a name or file, or of one arm; with objects to touch below its instruments."""
    from trocar.robot.controller.constants import PERIOD
    from trocar.simulation.objects.solid import practice_objects

    scene = settings.build() if name is None else tr.load_scene(name, timestep=PERIOD)
    return tr.Scene(**{**scene.arguments, "objects": practice_objects(scene)}) if touch else scene
