"""`trocar run`: a Python script for the dVRK on a simulated robot, without ROS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import trocar as tr
from trocar.commands import options
from trocar.commands.contest import CONTEST, contest_camera, open_contest
from trocar.commands.options import STARTS, argument, check_positive, flag, option
from trocar.commands.robot_scene import built_scene
from trocar.commands.terminal import INTERRUPTED, plain_errors
from trocar.commands.view import open_page, wait_for_browser
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.robot.contest import ContestTrial
    from trocar.scripts.session import Session

SPEEDS = ("real", "fast")
IMAGE_SIZE = "640x400"  # of the peg transfer [pixels]


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
    seed: Annotated[int, option("K", "With --scene peg_transfer: seed of the board's and the pegs' places.")] = 0,
    image_size: Annotated[
        str | None, option("WxH", "With --scene peg_transfer: size of the images. Default: 640x400.")
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
        Path | None, option("BAG", "Record states and motion commands to BAG: .bag, .mcap, .db3.")
    ] = None,
    view: Annotated[
        bool, flag("Open the robot in the browser, wait for the page, and keep it until Ctrl-C.", "--view")
    ] = False,
    port: options.Port = 8080,
    browser: options.Browser = True,
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
    from trocar.scripts.script_api import judge
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
    for name in _own_options(context, script, arguments or []):
        where = f"trocar run: {name} is passed to the script; options of trocar run go before {script}"
        typer.echo(where, err=True)
    if scene != CONTEST and (seed or image_size is not None):
        raise TrocarError(f"--seed and --image-size apply to --scene {CONTEST} only")
    presses = [_press(text, PEDALS) for text in pedal or []]
    if api is None:
        judgement = judge(script)
        api = judgement.api
        typer.echo(f"trocar run: API {api} ({judgement.reason}); choose with --api", err=True)
    from trocar.robot.contest import score_line
    from trocar.scripts.launcher import run_script
    from trocar.scripts.session import FOREVER, Session
    from trocar.scripts.stereo_topics import StereoPublisher
    from trocar.teleoperation import Teleoperation
    from trocar.transports.bags import bags_of

    with ExitStack() as running:  # stopped in reverse order
        lines = None if answers is None else running.enter_context(answers.open(encoding="utf-8"))
        names = options.arm_names(arms)
        robot, trial = _script_robot(running, scene, names, parameters, speed, start, seed)
        running.enter_context(Teleoperation(robot))
        running.enter_context(bags_of(robot, record, None, lambda text: typer.echo(f"trocar run: {text}", err=True)))
        page = open_page(running, "script_page", robot, port=port) if view else None
        if page is not None:
            wait_for_browser(page, "trocar run", browser)
        session = Session(robot, api, fast=speed == "fast")
        running.callback(session.close)
        if trial is not None:
            StereoPublisher(session, contest_camera(robot.scene, None, image_size or IMAGE_SIZE))
        for press in presses:
            _schedule(session, *press)
        if duration is not None:
            session.at(session.now + round(min(duration, FOREVER) * 1e9), session.stop)
        status = run_script(session, script, arguments or [], lines)
        if trial is not None:
            typer.echo(f"trocar run: {score_line(trial.score)}", err=True)
        if page is not None and status != INTERRUPTED:
            session.close()
            typer.echo(f"trocar run: the script has ended with status {status}; end the page with Ctrl-C", err=True)
            page.post(f"The script has ended with status {status}. The robot stays until Ctrl-C in the terminal.")
            with suppress(KeyboardInterrupt):
                page.wait()
    raise typer.Exit(status)


def _script_robot(
    running: ExitStack,
    scene: str,
    arms: list[str],
    parameters: list[str] | None,
    speed: str,
    start: str,
    seed: int,
) -> tuple[tr.Robot, ContestTrial | None]:
    """The robot of a script, with the referee of the peg transfer if it is its scene."""
    if scene == CONTEST:
        if arms or parameters or start != "ready":
            raise TrocarError(f"{CONTEST} has both arms, ready and with their best parameters; omit other options")
        return open_contest(running, seed, speed)
    return running.enter_context(tr.Robot(built_scene(scene, arms, parameters), speed=speed, start=start)), None


def _own_options(context: typer.Context, script: Path, arguments: Sequence[str]) -> list[str]:
    """Options of `trocar run` among the arguments of a script whose text does not have them."""
    text = script.read_text("utf-8", errors="replace")
    own = {name for parameter in context.command.params for name in parameter.opts}
    names = [argument.partition("=")[0] for argument in arguments]
    return [name for name in dict.fromkeys(names) if name.startswith("--") and name in own and name not in text]


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
