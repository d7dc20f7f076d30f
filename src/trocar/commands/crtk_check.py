"""`trocar crtk-check`: conformance of arms to the dVRK's interface."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trocar.commands.options import check_positive, flag, option
from trocar.commands.terminal import plain_errors, show_table, status_line
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.crtk import Robot
    from trocar.ros.dds.client import Client
    from trocar.spatial import Array

ARM_KINDS = ("PSM", "ECM", "MTM", "ARM")
METRES_PER_RADIAN = 0.1  # --amplitude 0.05 is 0.05 rad or 5 mm
COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


@plain_errors()
def crtk_check(
    scene: Annotated[str, option("NAME", "dvrk, dvrk_si or a .toml file.")] = "dvrk",
    arms: Annotated[
        list[str] | None, option("ARM", "Arm to check; can be repeated. Default: all arms of the scene.")
    ] = None,
    allow_motion: Annotated[bool, flag("Send commands that move the arms.", "--allow-motion")] = False,
    amplitude: Annotated[
        float, option("RAD", "Largest motion of a joint; a tenth of it in metres for prismatic joints.")
    ] = 0.05,
    unbounded: Annotated[
        bool,
        flag("With --allow-motion: also move to a joint limit, power off and home.", "--unbounded"),
    ] = False,
    ros2: Annotated[bool, flag("Check the robot that runs in ROS 2, instead of a simulated one.", "--ros2")] = False,
    domain: Annotated[
        int | None, option("N", "With --ros2: domain, 0 to 101. Default: ROS_DOMAIN_ID or 0.", "--domain")
    ] = None,
    interface: Annotated[
        str, option("NAME", "With --ros2: network interface, by name or IP address.", "--interface")
    ] = "lo",
    json_file: Annotated[Path | None, option("FILE", "Write the results to FILE.", "--json")] = None,
) -> None:
    """Check that arms behave as the dVRK's interface (CRTK) requires.

    Example: [bold]trocar crtk-check --arms PSM1 --allow-motion --json results.json[/bold]

    Topics, services, sizes, units, frames, stamps, latching, kinematics; with --allow-motion also states, moves and
    refusals. Checks that are not permitted are listed as skipped. The arms are simulated, enabled and homed, or with
    --ros2 those of a robot that runs there, in whatever state they are. Exit status 1 if a check fails.
    """
    from trocar.crtk.conformance import Permission, Result, Subject, examine
    from trocar.files import check_writable, write_json

    check_positive(amplitude=amplitude)
    if unbounded and not allow_motion:
        raise TrocarError("--unbounded needs --allow-motion")
    check_writable(json_file)
    permission = Permission.unbounded if unbounded else Permission.motion if allow_motion else Permission.read
    results: list[Result] = []
    with _robot(scene, ros2, domain, interface) as robot, status_line("crtk-check") as show:
        devices = {name: kind for name, kind in robot.devices.items() if kind in ARM_KINDS}
        chosen = tuple(dict.fromkeys(arms or devices))
        check_known("arm in ROS" if ros2 else "arm of the scene", devices, *chosen)
        for name in chosen:
            limits = _limits(robot, name)
            subject = Subject(robot, name, devices[name], limits, amplitude, METRES_PER_RADIAN * amplitude)
            for result in examine(subject, permission):
                show(f"{name}: {result.check}")
                results.append(result)
            subject.close()
    count = Counter(result.status for result in results)
    summary = {status: count[status] for status in COLOURS}
    if json_file is not None:
        write_json(
            json_file, {"scene": None if ros2 else scene, "summary": summary, "results": [r.as_dict() for r in results]}
        )
    show_table(
        "trocar crtk-check",
        ("arm", "check", "result", "reason, or what was required"),
        [
            (r.arm, r.check, f"[{COLOURS[r.status]}]{r.status}[/]", (r.reason or r.requirement).replace("[", r"\["))
            for r in results
        ],
        left=(0, 1, 2, 3),
    )
    typer.echo(", ".join(f"{number} {status}" for status, number in summary.items()))
    if summary["failed"]:
        raise typer.Exit(1)


def _robot(scene: str, ros2: bool, domain: int | None, interface: str) -> Robot | Client:
    """The arms to check: simulated, or those of a robot in ROS."""
    if ros2:
        from trocar.ros.dds.domain import check_installed

        check_installed()
        from trocar.ros.dds.client import connected

        return connected(domain, interface)
    from trocar.crtk import Robot

    return Robot(scene, start="ready")


def _limits(robot: Robot | Client, name: str) -> tuple[Array, Array] | None:
    """Joint limits of a simulated arm; None of one in ROS, which does not tell them."""
    from trocar.crtk import Robot

    if not isinstance(robot, Robot):
        return None
    arm = robot.controllers[name].arm
    return arm.lower[: arm.tip_joints], arm.upper[: arm.tip_joints]
