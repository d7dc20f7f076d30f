"""The live part of `trocar teleop`: devices, robot, page and recording, until Ctrl-C or for a given time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trocar.commands.options import check_positive
from trocar.commands.terminal import show_written
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.crtk import Robot
    from trocar.simulation import Scene
    from trocar.teleoperation.devices import Device, DeviceConsole

MASTERS = ("gamepad", "spacemouse", "keyboard", "mouse", "scripted")
POLLING = 5e-3  # real time between two readings of the devices [s]
LONGEST_DELAY = 5000.0  # [ms]
ARMS = ("PSM1", "PSM2", "PSM3")


def drive(
    masters: Sequence[str],
    arms: Sequence[str],
    scale: float | None,
    delay: float,
    task: str,
    duration: float | None,
    folder: Path | None,
    port: int,
    page: bool,
    browser: bool,
) -> None:
    """Teleoperate a simulated robot with devices, one for each PSM; delay [ms], duration [s]."""
    from trocar.teleoperation.devices import TASKS

    check_known("master", MASTERS, *masters)
    check_known("task", TASKS, task)
    arms = list(arms) or list(ARMS[: len(masters)])
    check_known("arm", ARMS, *arms)
    if len(set(arms)) != len(arms) or len(arms) != len(masters):
        raise TrocarError(f"give one --arm for each --master, got {len(masters)} and {', '.join(arms)}")
    if scale is None:
        scale = 1.0 if "mouse" in masters else 0.2  # a handle that is dragged takes the tip along
    if not (math.isfinite(scale) and 0 < scale <= 1):
        raise TrocarError(f"--scale must be above 0 and at most 1, got {scale}")
    if not 0 <= delay <= LONGEST_DELAY:
        raise TrocarError(f"--delay must be 0 to {LONGEST_DELAY:g} ms, got {delay}")
    if duration is not None:
        check_positive(duration=duration)
    elif not page:
        raise TrocarError("--no-page needs --duration: there is nothing to look at")
    for master in {"keyboard", "mouse"} & set(masters):
        if not page:
            raise TrocarError(f"--master {master} is a part of the page: leave out --no-page")
    if folder is not None:
        from trocar.files import check_writable

        check_writable(*(folder / f"{arm}.npz" for arm in arms))
    with ExitStack() as running:  # what was started is ended in the opposite order
        devices: dict[str, Device] = {}
        for k, (arm, master) in enumerate(zip(arms, masters, strict=True)):
            devices[arm] = device = _device(master, masters[:k].count(master))
            running.callback(device.close)
        _run(running, devices, scale, 1e-3 * delay, task, duration, folder, port if page else None, browser)


def _device(master: str, index: int) -> Device:
    """The device of a name; index: among those of the same kind."""
    from trocar.teleoperation.devices import Gamepad, Keyboard, Mouse, Scripted, SpaceMouse

    if master == "gamepad":
        return Gamepad(index)
    if master == "spacemouse":
        return SpaceMouse(index)
    if index:
        raise TrocarError(f"--master {master} can be given once")
    others: dict[str, type[Device]] = {"keyboard": Keyboard, "mouse": Mouse, "scripted": Scripted}
    return others[master]()


def _run(
    running: ExitStack,
    devices: dict[str, Device],
    scale: float,
    delay: float,
    task: str,
    duration: float | None,
    folder: Path | None,
    port: int | None,
    browser: bool,
) -> None:
    from trocar.crtk import Robot
    from trocar.teleoperation.devices import DeviceConsole, MotionLog, training_scene

    robot = running.enter_context(Robot(training_scene(tuple(devices), task), start="ready", speed="real"))
    console = DeviceConsole(robot, devices, scale=scale, delay=delay)
    log = None if folder is None else MotionLog(robot, console)
    if port is not None:
        _open_page(running, robot, console, training_scene(tuple(devices), task, contacts=False), delay, port, browser)
    for psm, hand in console.hands.items():
        typer.echo(f"{psm}: {hand.device.name}. {hand.device.help}")
    typer.echo("Pinch to begin: close the gripper and open it. End with Ctrl-C.")
    console.start()
    told = ""
    try:
        begun = robot.time
        while duration is None or robot.time - begun < duration:
            console.poll()
            told = _tell(console, told)
            if robot.error is not None:
                raise TrocarError(f"the simulation has ended: {robot.error!r}")
            time.sleep(POLLING)
    except KeyboardInterrupt:
        typer.echo("")
    if log is not None and folder is not None:
        show_written(log.save(folder))


def _tell(console: DeviceConsole, told: str) -> str:
    """Print the latest error or warning unless it was the last one told; returns what was told last."""
    for said in reversed(list(console.messages)):
        if said.kind != "status":
            if said.text != told:
                typer.echo(f"{said.kind}: {said.text}", err=True)
            return said.text
    return told


def _open_page(
    running: ExitStack, robot: Robot, console: DeviceConsole, copy: Scene, delay: float, port: int, browser: bool
) -> None:
    try:
        from trocar.viewer.robot_endoscope import RobotEndoscope
        from trocar.viewer.server import address, open_browser, serve, stop
        from trocar.viewer.teleop_page import TeleopPage
    except ModuleNotFoundError as error:
        raise TrocarError(f"the page needs {error.name}: pip install 'trocar[view]', or use --no-page") from error
    server = serve(port=port)
    running.callback(stop, server)
    page = TeleopPage(server, robot, console, RobotEndoscope(copy), delay)
    running.callback(page.close)
    page.start()
    url = address(server)
    typer.echo(f"Page: {url}")
    if browser:
        open_browser(url)
