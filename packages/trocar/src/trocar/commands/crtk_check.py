"""`trocar crtk-check`: conformance of a simulated robot, or of one in ROS, to the dVRK's interface."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import trocar as tr
from trocar.commands import options
from trocar.commands.options import check_positive, flag, option
from trocar.commands.robot_scene import built_scene
from trocar.commands.terminal import plain_errors, show_table, status_line
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable, write_json

if TYPE_CHECKING:
    from trocar.robot.conformance import Subject
    from trocar.transports.remote_bus import RemoteBus

METRES_PER_RADIAN = 0.1  # --amplitude 0.05 allows 0.05 rad or 5 mm
COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


@plain_errors()
def crtk_check(
    scene: options.RobotScene = "dvrk",
    arms: Annotated[
        list[str] | None, option("NAME", "Device to check, such as PSM1 or console; can be repeated. Default: all.")
    ] = None,
    allow_motion: Annotated[bool, flag("Send commands that move the arms.", "--allow-motion")] = False,
    amplitude: Annotated[float, option("RAD", "Largest motion of a joint; prismatic: a tenth of it in metres.")] = 0.05,
    unbounded: Annotated[
        bool,
        flag("With --allow-motion: also move to a limit, release the arm, trigger FAULT, power off.", "--unbounded"),
    ] = False,
    ros1: Annotated[bool, flag("Check a robot running in ROS 1 instead of a simulated scene.", "--ros1")] = False,
    master: options.Master = None,
    ros2: Annotated[bool, flag("Check a robot running in ROS 2 instead of a simulated scene.", "--ros2")] = False,
    domain: options.Domain = None,
    interface: options.Interface = "lo",
    json_file: Annotated[Path | None, option("FILE", "Write the results to FILE.", "--json")] = None,
) -> None:
    """Check that a robot behaves as the dVRK's interface (CRTK) requires.

    Example: [bold]trocar crtk-check --arms PSM1 --allow-motion --json results.json[/bold]

    Checks topics, services, sizes, units, frames, time stamps, latching and kinematics; with --allow-motion also
    states, moves, rejected commands and pedals; with --unbounded also limits, power, homing and FAULT. Checks that are
    not permitted are listed as skipped. Simulated arms are enabled and homed first; with --ros1 or --ros2 the arms are
    checked in their current state. Exit status 1 if a check fails.
    """
    from trocar.robot.conformance import Permission, Result, examine

    check_positive(amplitude=amplitude)
    if unbounded and not allow_motion:
        raise TrocarError("--unbounded requires --allow-motion")
    check_writable(json_file)
    permission = Permission.unbounded if unbounded else Permission.motion if allow_motion else Permission.read
    results: list[Result] = []
    in_ros = ros1 or ros2
    with _robot(scene, ros1, master, ros2, domain, interface) as robot, status_line("crtk-check") as show:
        chosen = tuple(dict.fromkeys(arms or robot.devices))
        check_known("device in ROS" if in_ros else "device of the scene", robot.devices, *chosen)
        for name in chosen:
            subject = _subject(robot, name, amplitude)
            for result in examine(subject, permission):
                show(f"{name}: {result.check}")
                results.append(result)
            subject.close()
    count = Counter(result.status for result in results)
    summary = {status: count[status] for status in COLOURS}
    if json_file is not None:
        listed = [asdict(result) for result in results]
        write_json(json_file, {"scene": None if in_ros else scene, "summary": summary, "results": listed})
    rows = []
    for r in results:
        text = (r.reason or r.requirement).replace("[", r"\[")
        rows.append((r.arm, r.check, f"[{COLOURS[r.status]}]{r.status}[/]", text))
    headings = ("device", "check", "result", "reason or requirement")
    show_table("trocar crtk-check", headings, rows, left=(0, 1, 2, 3))
    typer.echo(", ".join(f"{number} {status}" for status, number in summary.items()))
    if summary["failed"]:
        raise typer.Exit(1)


def _robot(
    scene: str, ros1: bool, master: str | None, ros2: bool, domain: int | None, interface: str
) -> tr.Robot | RemoteBus:
    if not (ros1 or ros2):
        return tr.Robot(built_scene(scene, [], None), start="ready")
    client = options.connected(ros1, master, ros2, domain, interface)
    if ros2 and not client.devices:
        from trocar.transports.ros2.domain import chosen_domain

        client.close()
        where = f"in domain {chosen_domain(domain)} on {interface}"
        remedy = "start the robot's node first, or name its --domain and --interface"
        raise TrocarError(f"no device was found {where}: {remedy}")
    return client


def _subject(robot: tr.Robot | RemoteBus, name: str, amplitude: float) -> Subject:
    """A device to check; a simulated arm has its joint and motor limits, which ROS does not publish."""
    import numpy as np

    from trocar.robot.conformance import Subject

    kind, slide = robot.devices[name], METRES_PER_RADIAN * amplitude
    if not isinstance(robot, tr.Robot):
        return Subject(robot, name, kind, None, amplitude, slide)
    if name not in robot.arms:
        return Subject(robot, name, kind)
    arm = robot.readings(name).arm
    n = arm.tip_joints
    efforts = np.abs(np.linalg.inv(arm.motors.coupling).T) @ arm.motors.effort
    limits = arm.lower[:n], arm.upper[:n]
    return Subject(robot, name, kind, limits, amplitude, slide, efforts[:n])
