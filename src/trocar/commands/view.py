"""`trocar view`: an arm, a scene or a recording in the browser."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trocar as tr
from trocar.commands import options
from trocar.commands.options import argument, flag, option, task_name
from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError
from trocar.files import check_writable

if TYPE_CHECKING:
    from trocar.robot.settings import ArmSettings
    from trocar.robot.shadow import Shadow
    from trocar.robot.track import Track
    from trocar.transports.remote_bus import RemoteBus
    from trocar.view.page import Page

PAGE_TIMEOUT = 60.0  # [s] until a script starts although no browser shows its robot


@plain_errors()
def view(
    what: Annotated[
        str,
        argument(
            "[ARM | SCENE | RECORDING | DATA | TASK]",
            f"{options.ARMS}; a scene: cart_classic, cart_si, masters, dvrk, dvrk_si, suture or a "
            ".toml file; a recording: csv, npz or a ROS bag; a data set: the folder of trocar record, or another "
            "readable one; with --policy a task.",
        ),
    ] = "PSM",
    compare: Annotated[Path | None, option("RECORDING", "Second recording, drawn as a ghost.")] = None,
    episode: Annotated[int, option("K", "With a data set: number of the first episode to show, from 0.")] = 0,
    arm: options.RecordedArm = None,
    parameters: options.ParameterSet = None,
    instrument: options.Instrument = None,
    touch: options.Touch = False,
    html: Annotated[
        Path | None, option("FILE", "Write a recording or scene as one HTML page, which needs no server, and exit.")
    ] = None,
    reports: Annotated[Path | None, option("DIR", "Folder of HTML reports to show in the page.")] = None,
    host: Annotated[str, option("ADDRESS", "Address to listen on.")] = "127.0.0.1",
    port: options.Port = 8080,
    play: Annotated[bool, flag("Start with the simulation running.", "--play/--paused")] = True,
    browser: options.Browser = True,
    native: Annotated[bool, flag("Use MuJoCo's own window; needs a display.", "--native")] = False,
    namespace: options.Namespace = None,
    ros1: Annotated[str | None, option("/PSM1", "Watch this arm of a running ROS 1 system.")] = None,
    ros2: Annotated[str | None, option("/PSM1", "Watch this arm of a running ROS 2 system.")] = None,
    save: Annotated[
        Path | None, option("FILE", "With --ros1, --ros2: write the received data to FILE.npz or .csv at the end.")
    ] = None,
    master: options.Master = None,
    domain: options.Domain = None,
    interface: options.Interface = "lo",
    policy: Annotated[
        Path | None, option("FILE", "Watch a policy on a task: a network (.npz), or a Python file, which is executed.")
    ] = None,
    seed: Annotated[int, option("K", "With --policy: seed of the first episode.")] = 0,
    level: Annotated[str, option("LEVEL", "With --policy: nominal, 1sigma or 3sigma.")] = "nominal",
) -> None:
    """Watch and drive an arm, a scene or a recording in the browser.

    Example: [bold]trocar view PSM[/bold], then open the address that it prints; end with Ctrl-C.
    Drag the sliders, switch off the counterweight, push the tip.

    More: [bold]trocar view cart_classic[/bold] (three PSMs and the endoscope's view);
    [bold]trocar view PSM --touch[/bold] (with objects to press on);
    [bold]trocar view trocar-sim/recording.npz[/bold] (play a recording);
    [bold]trocar view demos[/bold] (choose and play the episodes of a data set, each with the motion of its twin);
    [bold]trocar view measured.csv --compare simulated.csv --arm PSM[/bold] (compare two recordings);
    [bold]trocar view --ros1 /PSM1 -p psm1.toml --save today.npz[/bold] (watch a running robot: the measured
    arm, its effort and the model's prediction; sends no commands);
    [bold]trocar view trocar-sim/recording.npz --html run.html[/bold] (one file for people without trocar);
    [bold]trocar view --policy examples/policies/reach.npz[/bold] (a learned policy on its task).
    On another machine: [bold]ssh -L 8080:127.0.0.1:8080 MACHINE trocar view[/bold],
    then open the printed address here; this side needs no installation.

    The page is served on the loopback interface only, unless --host names another address, and
    only to those who have the printed address: it contains a token that changes with every run.
    Needs viser: pip install 'trocar\\[view]'.
    """
    from trocar.errors import NearLimit, NearSingular
    from trocar.robot.settings import ArmSettings

    # the page itself warns near a singularity or a limit
    for category in (NearSingular, NearLimit):
        warnings.simplefilter("ignore", category)
    # viser warns when a browser has just disconnected
    warnings.filterwarnings("ignore", "Queued a .* on a closed connection")
    if ros1 is not None or ros2 is not None:
        if what != "PSM" or compare or touch or native or reports or namespace:
            raise TrocarError("--ros1 and --ros2 watch one arm of a robot; omit the scene or recording")
        with ExitStack() as running:
            client = options.connected(ros1 is not None, master, ros2 is not None, domain, interface)
            watched, name = running.enter_context(client), (ros1 or ros2 or "").strip("/")
            shadow = _shadow(watched, name, arm, save, parameters=parameters, instrument=instrument)
            _wait(open_page(running, "shadow_page", shadow, name, host=host, port=port), browser)
            if save is not None:
                typer.echo(f"{shadow.recording().save(save)}: {len(shadow)} rows")
        return
    if policy is not None:
        if compare or touch or native or reports or html or namespace or parameters or instrument or save:
            raise TrocarError("--policy goes with a task, --seed, --level and the options of the page only")
        with ExitStack() as running:
            _watch_policy(running, policy, None if what == "PSM" else what, seed, level, browser, host=host, port=port)
        return
    if seed or level != "nominal":
        raise TrocarError("--seed and --level go with --policy")
    if save is not None:
        raise TrocarError("--save writes the data received from a robot; it requires --ros1 or --ros2")
    if _is_data_set(what):
        if compare or touch or native or html or namespace or arm or parameters or instrument:
            raise TrocarError("a data set goes with --episode and the options of the page only")
        with ExitStack() as running:
            _show_episodes(running, what, episode, reports, browser, host=host, port=port)
        return
    if episode:
        raise TrocarError("--episode goes with a data set")
    recording, scene = _recording(what, compare, namespace), _scene_name(what)
    if scene is not None and (parameters or instrument):
        raise TrocarError("--parameters and --instrument apply to one arm; a scene defines them in its file")
    if native and recording is not None:
        raise TrocarError("--native shows live simulations only; omit it to view a recording")
    name = (arm or "PSM") if recording or scene else options.arm_name(what) or what
    settings = ArmSettings(arm=name, parameters=parameters, instrument=instrument)
    tracks = _tracks(recording, compare, settings, namespace)
    if html is not None:
        _write_page(html, tracks, _built(scene, settings, touch), what)
        return

    with ExitStack() as running:  # stopped in reverse order
        robot = tr.Robot(
            _built(scene, settings, touch), speed="real", start="ready", playing=play and recording is None
        )
        running.enter_context(robot)
        if native:
            from trocar.view.native import show

            show(robot)
            return
        page = open_page(running, "viewer_page", robot, reports, settings, recording is not None, host=host, port=port)
        from trocar.view.panels.recordings import RecordingPanel

        if tracks:
            page.panel(RecordingPanel).open(*tracks)
        _wait(page, browser)


def _is_data_set(what: str) -> bool:
    """True for the folder or HDF5 file of a data set."""
    from trocar.episodes.reading import HDF5_SUFFIXES
    from trocar.recording.bag_file import is_bag

    path = Path(what)
    if path.suffix.lower() in HDF5_SUFFIXES:
        return True
    try:
        return path.is_dir() and not is_bag(path)
    except (OSError, ValueError):
        return False


def _show_episodes(
    running: ExitStack, data: str, first: int, reports: Path | None, browser: bool, **address: Any
) -> None:
    """Show the episodes of a data set."""
    from trocar.episodes import load_episodes
    from trocar.robot.settings import ArmSettings

    episodes = load_episodes(data)
    if not 0 <= first < len(episodes):
        raise TrocarError(f"{data} has the episodes 0 to {len(episodes) - 1}, got --episode {first}")
    settings = ArmSettings(arm="PSM")
    robot = running.enter_context(tr.Robot(settings.build(), speed="real", start="ready", playing=False))
    page = open_page(running, "viewer_page", robot, reports, settings, True, episodes, first, **address)
    from trocar.view.panels.episodes import EpisodePanel

    page.run(page.panel(EpisodePanel).open)
    _wait(page, browser)


def _watch_policy(
    running: ExitStack, file: Path, task: str | None, seed: int, level: str, browser: bool, **address: Any
) -> None:
    """Show a policy on a task, episode after episode."""
    from trocar.envs.bench import own_task
    from trocar.envs.policies import environment_options, load_policy
    from trocar.envs.registration import make_task
    from trocar.view.policy_run import PolicyRun

    if seed < 0:
        raise TrocarError(f"--seed must be at least 0, got {seed}")
    policy_of = load_policy(file)
    name = own_task(policy_of) if task is None else task_name(task)
    if name is None:
        raise TrocarError(f"name the task of {file}: trocar view --policy {file} TASK")
    run = PolicyRun(make_task(name, level=level, **environment_options(policy_of)), policy_of, seed)
    running.callback(run.close)
    page = open_page(running, "policy_page", run, f"{name}: {file.name}, {level}", **address)
    run.start()
    _wait(page, browser)


def _write_page(path: Path, tracks: list[Track], scene: tr.Scene, title: str) -> None:
    """Write a static page of recordings, or else of a scene."""
    from trocar.files import write_whole

    if path.suffix.lower() != ".html":
        raise TrocarError(f"--html takes FILE.html, got {path}")
    check_writable(path)
    try:
        from trocar.view.static_page import recording_page, scene_page
    except ModuleNotFoundError as error:
        raise TrocarError(f"the page needs {error.name}: pip install 'trocar[view]'") from error
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
    from trocar.simulation.scene_file import BUILT_IN

    if what in BUILT_IN or Path(what).suffix.lower() == ".toml":
        return what
    if not is_recording(Path(what)) and options.arm_name(what) not in ARMS:  # in upper or lower case
        raise UnknownName("arm, scene or recording", what, (*BUILT_IN, *ARMS, "a .toml file or a recording"))
    return None


def _built(name: str | None, settings: ArmSettings, touch: bool) -> tr.Scene:
    """The scene of a name or file, or of one arm; with objects to touch below its instruments."""
    from trocar.robot.controller.constants import PERIOD
    from trocar.simulation.objects.solid import practice_objects

    scene = settings.build() if name is None else tr.load_scene(name, timestep=PERIOD)
    return tr.Scene(**{**scene.arguments, "objects": practice_objects(scene)}) if touch else scene


def open_browser(address: str) -> bool:
    """Open a page in a browser if there is a display."""
    from trocar.view import server

    return server.open_browser(address)


def wait_for_browser(page: Page, command: str, browser: bool) -> None:
    """Print the address of a page, open it, and wait until a browser shows it."""
    opened = browser and open_browser(page.address)
    todo = "waiting for the browser" if opened else "open this address in a browser"
    typer.echo(f"{command}: {page.address}  ({todo}; the script starts then, or after {PAGE_TIMEOUT:.0f} s)", err=True)
    if not page.wait_for_browser(PAGE_TIMEOUT):
        typer.echo(f"{command}: no browser has opened the page; the script starts without it", err=True)


def _wait(page: Page, browser: bool) -> None:
    typer.echo(f"trocar view: {page.address}  (end with Ctrl-C)")
    if browser:
        open_browser(page.address)
    try:
        page.wait()
    except KeyboardInterrupt:
        typer.echo("")


def open_page(
    running: ExitStack, kind: str, *subject: Any, host: str = "127.0.0.1", port: int = 8080, **options: Any
) -> Page:
    """Open a page of `trocar.view.pages` by name; closed with `running`. Warns if it will be open to others."""
    try:
        from trocar.view import pages
        from trocar.view.server import exposure, serve
    except ModuleNotFoundError as error:
        raise TrocarError(f"the page needs {error.name}: pip install 'trocar[view]'") from error
    if warning := exposure(host):
        typer.echo(f"warning: {warning}", err=True)
    server = serve(host, port)
    running.callback(server.stop)
    page: Page = getattr(pages, kind)(server, *subject, **options)
    running.callback(page.close)
    return page.start()


def _shadow(client: RemoteBus, name: str, arm: str | None, save: Path | None, **options: Any) -> Shadow:
    from trocar.recording.recording import check_suffix
    from trocar.robot.settings import ArmSettings
    from trocar.robot.shadow import Shadow
    from trocar.transports.shadow import arm_of, check_arm, follow

    if save is not None:
        check_suffix(save)
        check_writable(save)
    check_arm(client, name)
    shadow = Shadow(ArmSettings(arm=arm or arm_of(client, name), **options), f"{name}/measured_js")
    follow(shadow, client, name)
    return shadow
