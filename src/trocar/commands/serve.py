"""`trocar serve`: the simulated dVRK as a ROS node."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trocar.commands.options import check_positive, flag, master_uri, option
from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.crtk import Robot

OWN_MASTER = "own"
STARTS = ("ready", "off")
WATCHED = 0.2  # interval between checks of the simulation [s]


@plain_errors()
def serve(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help="dvrk, dvrk_si or a .toml file.")] = "dvrk",
    ros1: Annotated[bool, flag("Serve ROS 1 (requires Debian's rospy).", "--ros1")] = False,
    ros2: Annotated[bool, flag("Serve ROS 2 over DDS (requires cyclonedds).", "--ros2")] = False,
    arms: Annotated[
        list[str] | None, option("NAMES", "Arms to control, such as PSM1,ECM. Can be repeated. Default: all.")
    ] = None,
    rate: Annotated[float, option("HZ", "Rate of state topics, at most 1500.")] = 100.0,
    start: Annotated[str, option("STATE", "ready: enabled and homed; off: as after switching on.")] = "ready",
    speed: Annotated[
        float, option("FACTOR", "Simulated over real time; other than 1: publishes /clock and sets use_sim_time.")
    ] = 1.0,
    images: Annotated[float, option("HZ", "Publish endoscope images at this rate; 0: none.")] = 0.0,
    hold_when_lost: Annotated[
        bool, flag("Hold an arm in effort control when its client disconnects.", "--hold-when-lost")
    ] = False,
    launch_files: Annotated[
        Path | None, option("DIR", "Write launch files for RViz to DIR and exit.", "--launch-files")
    ] = None,
    master: Annotated[
        str | None, option("URI", "ROS master; own: start one. Default: ROS_MASTER_URI or 127.0.0.1:11311.")
    ] = None,
    host: Annotated[
        str, option("ADDRESS", "IP address to announce. Any address but 127.x.x.x exposes the node to the network.")
    ] = "127.0.0.1",
    domain: Annotated[
        int | None, option("N", "With --ros2: domain, 0 to 101. Default: ROS_DOMAIN_ID or 0.", "--domain")
    ] = None,
    interface: Annotated[
        str, option("NAME", "With --ros2: network interface, by name or IP address.", "--interface")
    ] = "lo",
    distro: Annotated[
        str, option("NAME", "With --ros2: jazzy (also Iron, Kilted and later) or humble.", "--distro")
    ] = "jazzy",
) -> None:
    """Serve the dVRK's ROS topics and services from a simulated robot in real time, until Ctrl-C.

    Examples: [bold]trocar serve --ros1 --arms PSM1,ECM[/bold], [bold]trocar serve --ros2 --domain 7[/bold]

    --ros1 also publishes /tf, /joint_states and robot_description for RViz; --launch-files writes launch files for it.

    --ros1 requires a running roscore or --master own. --ros2 requires no ROS installation. Neither has access control:
    anyone who reaches the node's ports can command the simulated robot. Without --host or --interface the node is
    reachable from this machine only.
    """
    if launch_files is not None:
        from trocar.ros.launch import write_launch_files

        for path in write_launch_files(launch_files):
            typer.echo(path)
        return
    if ros1 == ros2:
        raise TrocarError("choose an interface with --ros1 or --ros2")
    check_known("start", STARTS, start)
    check_positive(rate=rate, speed=speed)
    if images:
        check_positive(images=images)
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise TrocarError(f"--host must be an IP address, got {host!r}") from None
    names = [name for group in arms or [] for name in group.split(",") if name]
    if ros2:
        unused = {"--images": images, "--speed": speed != 1.0, "--hold-when-lost": hold_when_lost, "--master": master}
        for name, given in unused.items():
            if given:
                raise TrocarError(f"{name} applies to --ros1 only; omit it with --ros2")
        from trocar.ros.dds.serving import serve as serve_ros2

        serve_ros2(scene, start, names, rate, domain, interface, distro, typer.echo)
        return
    from trocar.crtk import Robot
    from trocar.crtk.controller.constants import PERIOD
    from trocar.ros import Bridge, CameraSettings, write_description
    from trocar.simulation import load_scene
    from trocar.teleoperation import Teleoperation

    built = load_scene(scene, timestep=PERIOD)
    check_known("arm of the scene", built.arms, *names)
    try:
        description = write_description(built)
    except TrocarError as error:
        typer.echo(f"no robot_description: {error}")
        description = ""
    with Robot(built, speed=speed, start=start, arms=names or None) as robot, Teleoperation(robot):
        camera = CameraSettings(scene, _endoscope(robot), rate=images) if images else None
        uri = master_uri(master)
        with Bridge(
            robot,
            rate=rate,
            address=host,
            master="" if uri == OWN_MASTER else uri,
            description=description,
            speed=speed,
            camera=camera,
            hold_when_lost=hold_when_lost,
        ) as bridge:
            typer.echo(
                f"serving {', '.join(robot.devices)}: {len(bridge.topics)} topics, {len(bridge.services)} services; "
                f"ROS_MASTER_URI={bridge.master}; press Ctrl-C to stop"
            )
            try:
                while bridge.running and robot.error is None:
                    bridge.wait(WATCHED)
            except KeyboardInterrupt:
                typer.echo("stopped")
                return
            raise TrocarError(bridge.error or f"the simulation stopped: {robot.error!r}")


def _endoscope(robot: Robot) -> str:
    """The robot's first arm with an endoscope."""
    found = [name for name, kind in robot.devices.items() if kind == "ECM"]
    if not found:
        raise TrocarError("--images requires an ECM and this robot has none; omit --images")
    return found[0]
