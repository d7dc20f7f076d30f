"""`trocar view`: an arm, a scene or a recording in the browser."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trocar.commands.options import (
    Instrument,
    Namespace,
    ParameterSet,
    RecordedArm,
    arm_name,
    flag,
    master_uri,
    option,
)
from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.runtime.settings import Settings
    from trocar.transports.remote_bus import RemoteBus
    from trocar.view.page import Page
    from trocar.view.viser_internals import PageServer


@plain_errors()
def view(
    what: Annotated[
        str,
        typer.Argument(
            metavar="[ARM | SCENE | RECORDING]",
            help="PSM, PSM_Si, ECM, ECM_Si, MTML, MTMR; cart_classic, cart_si, masters, dvrk, dvrk_si or a .toml "
            "file; a recording (csv, npz, or a ROS bag).",
        ),
    ] = "PSM",
    compare: Annotated[Path | None, option("RECORDING", "Second recording, drawn as a ghost.")] = None,
    arm: RecordedArm = None,
    parameters: ParameterSet = None,
    instrument: Instrument = None,
    touch: Annotated[bool, flag("Add a plate, a block and a needle below the arms.", "--touch")] = False,
    reports: Annotated[Path | None, option("DIR", "Folder of HTML reports to show in the page.")] = None,
    host: Annotated[str, option("ADDRESS", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("N", "Port to listen on; 0 for any free one.")] = 8080,
    play: Annotated[bool, flag("Start with the simulation running.", "--play/--paused")] = True,
    browser: Annotated[bool, flag("Open the page in a browser.", "--browser/--no-browser")] = True,
    native: Annotated[bool, flag("Use MuJoCo's own window; needs a display.", "--native")] = False,
    namespace: Namespace = None,
    ros1: Annotated[str | None, option("/PSM1", "Watch this arm of a running ROS 1 system.")] = None,
    ros2: Annotated[str | None, option("/PSM1", "Watch this arm of a running ROS 2 system.")] = None,
    save: Annotated[
        Path | None, option("FILE", "With --ros1, --ros2: write the received data to FILE.npz or .csv at the end.")
    ] = None,
    master: Annotated[
        str | None, option("URI", "With --ros1: ROS master. Default: ROS_MASTER_URI or 127.0.0.1:11311.")
    ] = None,
    domain: Annotated[int | None, option("N", "With --ros2: domain, 0 to 101. Default: ROS_DOMAIN_ID or 0.")] = None,
    interface: Annotated[str, option("NAME", "With --ros2: network interface, by name or IP address.")] = "lo",
) -> None:
    """Watch and drive an arm, a scene or a recording in the browser.

    Example: [bold]trocar view PSM[/bold], then open the address that it prints; end with Ctrl-C.
    Drag the sliders, switch off the counterweight, push the tip.

    More: [bold]trocar view cart_classic[/bold] (three PSMs and the endoscope's view);
    [bold]trocar view PSM --touch[/bold] (with objects to press on);
    [bold]trocar view trocar-sim/recording.npz[/bold] (play a recording);
    [bold]trocar view measured.csv --compare simulated.csv --arm PSM[/bold] (compare two recordings);
    [bold]trocar view --ros1 /PSM1 -p psm1.toml --save today.npz[/bold] (watch a running robot: the measured
    arm, its effort and the model's prediction; sends no commands).
    On another machine: [bold]ssh -L 8080:127.0.0.1:8080 MACHINE trocar view[/bold],
    then open the printed address here; this side needs no installation.

    The page is served on the loopback interface only, unless --host names another address, and
    only to those who have the printed address: it contains a token that changes with every run.
    Needs viser: pip install 'trocar\\[view]'.
    """
    from trocar.arms import ARMS
    from trocar.errors import NearLimit, NearSingular, UnknownName
    from trocar.recording.bag_file import is_bag
    from trocar.recording.loading import is_recording
    from trocar.runtime.settings import Settings
    from trocar.simulation.objects.practice import practice_objects
    from trocar.simulation.scene_file import BUILT_IN

    # the page itself warns near a singularity or a limit
    for category in (NearSingular, NearLimit):
        warnings.simplefilter("ignore", category)
    # viser warns when a browser has just disconnected
    warnings.filterwarnings("ignore", "Queued a .* on a closed connection")
    if ros1 is not None and ros2 is not None:
        raise TrocarError("choose one of --ros1 and --ros2")
    if ros1 is not None or ros2 is not None:
        if what != "PSM" or compare or touch or native or reports or namespace:
            raise TrocarError("--ros1 and --ros2 watch one arm of a robot; omit the scene or recording")
        name = (ros1 or ros2 or "").strip("/")
        client = _client(ros1 is not None, master, domain, interface)
        _watch(
            client,
            name,
            Settings(arm=arm or "", parameters=parameters, instrument=instrument),
            save,
            host,
            port,
            browser,
        )
        return
    if save is not None:
        raise TrocarError("--save writes the data received from a robot; it requires --ros1 or --ros2")
    recording = Path(what) if is_recording(Path(what)) else None
    if namespace is not None and not any(path is not None and is_bag(path) for path in (recording, compare)):
        raise TrocarError("--namespace selects an arm in a bag; give a bag, or omit it")
    if compare is not None and recording is None:
        raise TrocarError("--compare takes the second recording; give the first one instead of an arm")
    what = arm_name(what) or what  # upper and lower case are equivalent
    scene = what if what in BUILT_IN or Path(what).suffix.lower() == ".toml" else None
    if scene is not None and (parameters or instrument):
        raise TrocarError("--parameters and --instrument apply to one arm; a scene defines them in its file")
    if scene is None and recording is None and what not in ARMS:
        raise UnknownName("arm, scene or recording", what, (*BUILT_IN, *ARMS, "a .toml file or a recording"))
    for path in (recording, compare):
        if path is not None and not path.exists():
            raise TrocarError(f"the recording {path} does not exist; trocar sim makes one")
    settings = Settings(
        arm=(arm or "PSM") if recording or scene else what,
        parameters=parameters,
        instrument=instrument,
        scene=scene,
        objects=practice_objects if touch else None,
    )
    if native:
        _native(settings, recording)
    else:
        _serve(settings, recording, compare, namespace, reports, host, port, play, browser)


def _serve(
    settings: Settings,
    recording: Path | None,
    compare: Path | None,
    namespace: str | None,
    reports: Path | None,
    host: str,
    port: int,
    play: bool,
    browser: bool,
) -> None:
    from trocar.runtime.session import Session

    session = Session(settings)
    with ExitStack() as running:  # stopped in reverse order
        server = serve_page(running, host, port)
        from trocar.view.endoscope import EndoscopeRenderer, endoscope_of
        from trocar.view.viewer_page import ViewerPage

        ecm = endoscope_of(session.frame)
        endoscope = None if ecm is None else EndoscopeRenderer(ecm)
        if endoscope is not None:
            running.callback(endoscope.close)
        page = ViewerPage(server, session, endoscope, reports)
        running.callback(session.close)
        session.start()
        running.callback(page.close)
        page.start()
        try:
            if recording is None and play:
                session.play()
            # a recording that cannot be read becomes a message in the page; the simulation still runs
            page.recordings.open(recording, compare, namespace)
            _announce(server, browser)
            page.wait()
        except KeyboardInterrupt:
            typer.echo("")


def serve_page(running: ExitStack, host: str = "127.0.0.1", port: int = 8080) -> PageServer:
    """A page's server, stopped with `running`; warns if it will be open to others."""
    try:
        from trocar.view.server import exposure, serve
    except ModuleNotFoundError as error:
        raise TrocarError(f"the page needs {error.name}: pip install 'trocar[view]'") from error
    warning = exposure(host)
    if warning:
        typer.echo(f"warning: {warning}", err=True)
    server = serve(host, port)
    running.callback(server.stop)
    return server


def open_page(
    running: ExitStack, kind: str, *subject: Any, host: str = "127.0.0.1", port: int = 8080, **options: Any
) -> Page:
    """Open a page of `trocar.view.pages` by name; closed with `running`."""
    server = serve_page(running, host, port)
    from trocar.view import pages

    page: Page = getattr(pages, kind)(server, *subject, **options)
    running.callback(page.close)
    return page.start()


def _announce(server: PageServer, browser: bool) -> None:
    from trocar.view.server import address, open_browser

    url = address(server)
    typer.echo(f"trocar view: {url}  (end with Ctrl-C)")
    if browser:
        open_browser(url)


def _client(ros1: bool, master: str | None, domain: int | None, interface: str) -> RemoteBus:
    """A client of a running ROS system."""
    from trocar.transports.remote_bus import connect_ros1, connect_ros2

    return connect_ros1(master_uri(master)) if ros1 else connect_ros2(domain, interface)


def _watch(
    client: RemoteBus,
    name: str,
    settings: Settings,
    save: Path | None,
    host: str,
    port: int,
    browser: bool,
) -> None:
    """Show an arm in ROS together with its model, until Ctrl-C."""
    from trocar.files import check_writable
    from trocar.recording.recording import check_suffix
    from trocar.runtime.shadow import Shadow
    from trocar.transports.shadow import arm_of, check_arm, follow

    with ExitStack() as running:
        running.enter_context(client)
        if save is not None:
            check_suffix(save)
            check_writable(save)
        check_arm(client, name)
        shadow = Shadow(replace(settings, arm=settings.arm or arm_of(client, name)), f"{name}/measured_js")
        follow(shadow, client, name)
        page = open_page(running, "shadow_page", shadow, name, host=host, port=port)
        try:
            _announce(page.server, browser)
            page.wait()
        except KeyboardInterrupt:
            typer.echo("")
        if save is not None:
            typer.echo(f"{shadow.recording().save(save)}: {len(shadow)} rows")


def _native(settings: Settings, recording: Path | None) -> None:
    if recording is not None:
        raise TrocarError("--native shows live simulations only; omit it to view a recording")
    from trocar.view.native import show

    show(settings)
