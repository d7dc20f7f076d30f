"""`trocar run`: a Python script for the dVRK on a simulated robot, without ROS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trocar as tr
from trocar.commands import options
from trocar.commands.options import STARTS, argument, check_positive, flag, option, pixels
from trocar.commands.pages import VIEW, open_page, wait_for_browser
from trocar.commands.robot_scene import attended, built_scene
from trocar.commands.terminal import INTERRUPTED, plain_errors
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.appearance.camera_place import CameraPlace
    from trocar.scripts.session import Session
    from trocar.view.page import Page

SPEEDS = ("real", "fast")
IMAGE_SIZE, IMAGE_RATE = "640x400", 30.0  # of a scene's own camera [pixels, Hz]


@plain_errors()
def run(
    context: typer.Context,
    script: Annotated[Path, argument("SCRIPT.py", "A Python script for the dVRK.")],
    arguments: Annotated[list[str] | None, argument("ARGS", "Arguments of the script.", show_default=False)] = None,
    scene: options.RobotScene = "dvrk",
    api: Annotated[
        str | None,
        option("RELEASE", "Release of the dvrk packages: 1, 2.0, 2.2 or 2.4. Default: detected from the script."),
    ] = None,
    speed: Annotated[str, option("SPEED", "real: real time; fast: time passes only while the script waits.")] = "real",
    start: options.Start = "ready",
    answers: Annotated[Path | None, option("FILE", "Lines for input(). Default: standard input.", "--input")] = None,
    pedal: Annotated[
        list[str] | None,
        option("NAME@T[+D]", "Press a pedal T seconds after the start, for D seconds (default: 0.5); can be repeated."),
    ] = None,
    seed: Annotated[int | None, option("K", "Seed of a scene that is drawn at random, such as peg_transfer.")] = None,
    image_size: Annotated[
        str | None, option("WxH", "Size of the images of a scene with a camera of its own. Default: 640x400.")
    ] = None,
    duration: Annotated[
        float | None, option("S", "Stop the node after S seconds of robot time: rospy.is_shutdown() becomes true.")
    ] = None,
    arms: Annotated[
        list[str] | None,
        option("NAMES", "Arms to simulate: PSM1,ECM; repeatable. The others are left out. Default: all of the scene."),
    ] = None,
    parameters: options.ParametersByArm = None,
    record: Annotated[
        Path | None, option("BAG", "Record states and motion commands to BAG: .bag, .mcap, .db3.", "--record", "-o")
    ] = None,
    view: Annotated[
        bool, flag("Open the robot in the browser, wait for the page, and keep it until Ctrl-C.", "--view")
    ] = False,
) -> None:
    """Run a Python script for the dVRK without ROS or a robot.

    Example: [bold]trocar run --speed fast my_script.py -a PSM1[/bold]

    More: [bold]trocar run --arms PSM1 -p PSM1=mine.toml --record run.bag my_script.py[/bold] (one arm with identified
    parameters, recorded); [bold]trocar run --scene PSM --speed fast excitation/play.py --arm PSM[/bold] (an arm alone).

    Errors and warnings of the robot are printed on stderr with the robot's time.

    The script imports dvrk, crtk, rospy, PyKDL and ROS messages as usual and gets stand-ins that drive a simulated
    robot in the same process. All arguments after SCRIPT.py are passed to the script. Exit status: the script's; 2 if
    the command line is wrong. The script runs with your permissions, as with python SCRIPT.py.
    """
    from trocar.robot.interface import PEDALS
    from trocar.scripts.launcher import run_script
    from trocar.scripts.session import Session
    from trocar.transports.bags import bags_of

    _check(script, speed, start, api, duration)
    camera = _camera(scene, image_size)
    _warn_of_own_options(context, script, arguments or [])
    presses = [_press(text, PEDALS) for text in pedal or []]
    api = api or _judged(script)
    with ExitStack() as running:  # stopped in reverse order
        lines = None if answers is None else running.enter_context(answers.open(encoding="utf-8"))
        built = built_scene(scene, options.arm_names(arms), parameters, seed=seed)
        robot = running.enter_context(tr.Robot(built, speed=speed, start=start))
        referee = attended(running, robot, scene)
        _teleoperation(running, robot)
        running.enter_context(bags_of(robot, record, None, lambda text: typer.echo(f"trocar run: {text}", err=True)))
        page = _page(running, robot) if view else None
        session = Session(robot, api, fast=speed == "fast")
        running.callback(session.close)
        if camera is not None:
            _publish_pictures(session, *camera)
        for press in presses:
            _schedule(session, *press)
        _limit(session, duration)
        status = run_script(session, script, arguments or [], lines)
        if referee is not None:
            typer.echo(f"trocar run: {referee}", err=True)
        if page is not None and status != INTERRUPTED:
            _keep(page, session, status)
    raise typer.Exit(status)


def _check(script: Path, speed: str, start: str, api: str | None, duration: float | None) -> None:
    """Raise an error if a value is not allowed."""
    from trocar.scripts.session import APIS

    check_known("speed", SPEEDS, speed)
    check_known("start", STARTS, start)
    if api is not None:
        check_known("api", APIS, api)
    if not script.is_file():
        problem = "is a folder, not a Python file" if script.is_dir() else "does not exist"
        raise TrocarError(f"the script {script} {problem}")
    if duration is not None:
        check_positive(duration=duration)


def _judged(script: Path) -> str:
    """The release of the dvrk packages that a script is written for, printed with the reason."""
    from trocar.scripts.script_api import judge

    judgement = judge(script)
    typer.echo(f"trocar run: API {judgement.api} ({judgement.reason}); choose with --api", err=True)
    return judgement.api


def _teleoperation(running: ExitStack, robot: tr.Robot) -> None:
    from trocar.teleoperation import Teleoperation

    running.enter_context(Teleoperation(robot))


def _page(running: ExitStack, robot: tr.Robot) -> Page:
    """The page of the robot, once a browser shows it."""
    with VIEW.needed():
        from trocar.view.pages import script_page
    page = open_page(running, partial(script_page, robot=robot))
    wait_for_browser(page, "trocar run")
    return page


def _camera(scene: str, size: str | None) -> tuple[CameraPlace, tuple[int, int]] | None:
    """A scene's own camera and the size of its images [pixels]; None if it has none."""
    from trocar.simulation.scene_file import named_scene

    named = named_scene(scene)
    if named is not None and named.camera is not None:
        return named.camera, pixels("--image-size", IMAGE_SIZE if size is None else size)
    if size is not None:
        raise TrocarError(f"--image-size goes with a scene that has a camera of its own; {scene} has none")
    return None


def _publish_pictures(session: Session, camera: CameraPlace, size: tuple[int, int]) -> None:
    """Publish the pictures of a scene's own camera to the script."""
    from trocar.scripts.stereo_topics import StereoPublisher
    from trocar.transports.camera import CameraSettings

    fixed: Any = {"fixed": camera, "compressed": False}
    StereoPublisher(session, CameraSettings(session.robot.scene, "stereo", rate=IMAGE_RATE, size=size, **fixed))


def _limit(session: Session, duration: float | None) -> None:
    """Stop the node after a time by the robot's clock [s]."""
    from trocar.scripts.session import FOREVER

    if duration is not None:
        session.at(session.now + round(min(duration, FOREVER) * 1e9), session.stop)


def _keep(page: Page, session: Session, status: int) -> None:
    """Keep the page of an ended script until Ctrl-C."""
    session.close()
    typer.echo(f"trocar run: the script has ended with status {status}; end the page with Ctrl-C", err=True)
    page.post(f"The script has ended with status {status}. The robot stays until Ctrl-C in the terminal.")
    with suppress(KeyboardInterrupt):
        page.wait()


def _warn_of_own_options(context: typer.Context, script: Path, arguments: Sequence[str]) -> None:
    """Name the options of `trocar run` among the arguments of a script whose text does not have them."""
    text = script.read_text("utf-8", errors="replace")
    own = {name for parameter in context.command.params for name in parameter.opts}
    names = [argument.partition("=")[0] for argument in arguments]
    for name in dict.fromkeys(names):
        if name.startswith("--") and name in own and name not in text:
            where = f"{name} is passed to the script; options of trocar run go before {script}"
            typer.echo(f"trocar run: {where}", err=True)


def _press(text: str, pedals: tuple[str, ...]) -> tuple[str, float, float]:
    """Pedal, time and duration [s] of NAME@T or NAME@T+D."""
    name, _, when = text.partition("@")
    check_known("pedal", pedals, name)
    begin, _, duration = when.partition("+")
    try:
        times = float(begin), float(duration or 0.5)
    except ValueError:
        times = math.nan, math.nan
    if not all(math.isfinite(time) and time >= 0 for time in times):
        form = "NAME@T or NAME@T+D with times in seconds, such as clutch@2+0.5"
        raise TrocarError(f"--pedal must be {form}, got {text!r}")
    return name, *times


def _schedule(session: Session, pedal: str, begin: float, duration: float) -> None:
    from trocar.robot.messages import Joy

    def button(value: int) -> None:
        session.bus.publish(f"console/emulate_{pedal}", Joy(buttons=(value,)))

    pressed = session.now + round(begin * 1e9)
    session.at(pressed, lambda: button(Joy.PRESSED))
    session.at(pressed + round(duration * 1e9), lambda: button(Joy.RELEASED))
