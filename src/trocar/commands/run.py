"""`trocar run`: run an unmodified dVRK script without ROS or a robot."""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trocar.commands.options import STARTS, Port, RobotScene, Start, check_positive, flag, option
from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.scripts.session import Session

SPEEDS = ("real", "fast")


@plain_errors()
def run(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT.py", help="A Python script for the dVRK.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGS", help="Arguments of the script.", show_default=False)
    ] = None,
    scene: RobotScene = "dvrk",
    api: Annotated[
        str | None,
        option("RELEASE", "Release of the dvrk packages: 1, 2.0, 2.2 or 2.4. Default: detected from the script."),
    ] = None,
    speed: Annotated[str, option("SPEED", "real: real time; fast: time passes only while the script waits.")] = "real",
    start: Start = "ready",
    answers: Annotated[
        Path | None, option("FILE", "Lines that input() reads. Default: standard input.", "--input")
    ] = None,
    pedal: Annotated[
        list[str] | None,
        option("NAME@T[+D]", "Press a pedal T seconds after the start, for D seconds (default: 0.5); can be repeated."),
    ] = None,
    duration: Annotated[
        float | None, option("S", "Stop the node after S seconds of robot time: rospy.is_shutdown() becomes true.")
    ] = None,
    view: Annotated[bool, flag("Show the robot in the browser while the script runs.", "--view")] = False,
    port: Port = 8080,
) -> None:
    """Run a Python script for the dVRK without ROS or a robot.

    Example: [bold]trocar run --speed fast my_script.py -a PSM1[/bold]

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
        raise TrocarError(f"the script {script} does not exist")
    if duration is not None:
        check_positive(duration=duration)
    presses = [_press(text, PEDALS) for text in pedal or []]
    if api is None:
        judgement = judge(script)
        api = judgement.api
        typer.echo(f"trocar run: API {api} ({judgement.reason}); choose with --api", err=True)
    from trocar.robot import Robot
    from trocar.scripts.launcher import run_script
    from trocar.scripts.session import FOREVER, Session
    from trocar.teleoperation import Teleoperation

    with ExitStack() as running:  # stopped in reverse order
        lines = None if answers is None else running.enter_context(answers.open(encoding="utf-8"))
        robot = running.enter_context(Robot(scene, speed=speed, start=start))
        Teleoperation(robot)
        if view:
            from trocar.commands.view import open_page

            typer.echo(f"trocar run: {open_page(running, 'script_page', robot, port=port).address}", err=True)
        session = Session(robot, api, fast=speed == "fast")
        running.callback(session.close)
        for press in presses:
            _schedule(session, *press)
        if duration is not None:
            session.at(session.now + round(min(duration, FOREVER) * 1e9), session.stop)
        status = run_script(session, script, arguments or [], lines)
    raise typer.Exit(status)


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
