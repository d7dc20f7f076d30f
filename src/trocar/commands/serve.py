"""`trocar serve`: the simulated dVRK as a ROS node."""

from __future__ import annotations

import ipaddress
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trocar.commands.options import STARTS, Domain, Interface, Port, Start, check_positive, flag, master_uri, option
from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.simulation import Scene

OWN_MASTER = "own"
POLL_INTERVAL = 0.2  # between checks of the simulation [s]


@plain_errors()
def serve(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help="dvrk, dvrk_si or a .toml file.")] = "dvrk",
    ros1: Annotated[bool, flag("Serve ROS 1 (requires Debian's rospy).", "--ros1")] = False,
    ros2: Annotated[bool, flag("Serve ROS 2 over DDS (requires cyclonedds).", "--ros2")] = False,
    arms: Annotated[
        list[str] | None, option("NAMES", "Arms to control, such as PSM1,ECM. Can be repeated. Default: all.")
    ] = None,
    rate: Annotated[float, option("HZ", "Rate of state topics, at most 1500.")] = 100.0,
    start: Start = "ready",
    speed: Annotated[float, option("FACTOR", "Speed relative to real time; if not 1, time comes from /clock.")] = 1.0,
    images: Annotated[float, option("HZ", "Publish images of the endoscope at this rate. 0: none.")] = 0.0,
    hold_when_lost: Annotated[
        bool, flag("Hold an arm in effort control when its client disconnects.", "--hold-when-lost")
    ] = False,
    record: Annotated[
        Path | None, option("BAG", "Record measured states and motion commands to BAG: .bag, .mcap or .db3.")
    ] = None,
    replay: Annotated[
        Path | None, option("BAG", "Replay the servo commands of a bag to the simulated arms, once.")
    ] = None,
    launch_files: Annotated[
        Path | None, option("DIR", "Write launch files for RViz to DIR and exit.", "--launch-files")
    ] = None,
    master: Annotated[
        str | None,
        option("URI", "With --ros1: ROS master; own: start one. Default: ROS_MASTER_URI or 127.0.0.1:11311."),
    ] = None,
    host: Annotated[
        str, option("ADDRESS", "With --ros1: IP address to announce. Any but 127.x.x.x opens the node to the network.")
    ] = "127.0.0.1",
    domain: Domain = None,
    interface: Interface = "lo",
    distro: Annotated[str, option("NAME", "With --ros2: jazzy (also Iron, Kilted and later) or humble.")] = "jazzy",
    priority: Annotated[
        bool, flag("Ask for real-time priority of the ROS node, for a machine with a free processor.", "--priority")
    ] = False,
    view: Annotated[bool, flag("Show the robot and its controls in the browser.", "--view")] = False,
    port: Port = 8080,
) -> None:
    """Serve the dVRK's ROS topics and services from a simulated robot in real time, until Ctrl-C.

    Examples: [bold]trocar serve --ros1 --arms PSM1,ECM[/bold], [bold]trocar serve --ros2 --domain 7[/bold]

    More: [bold]trocar serve --ros1 --record run.bag[/bold] (record a bag),
    [bold]trocar serve --ros1 --replay run.bag[/bold] (replay its servo commands).

    Also publishes /tf, /joint_states and robot_description for RViz; --launch-files writes launch files for it.

    --ros1 requires a running roscore or --master own. --ros2 requires no ROS installation. Neither has access control:
    anyone who reaches the node's ports can command the simulated robot. Without --host or --interface the node is
    reachable from this machine only.
    """
    if launch_files is not None:
        from trocar.transports.launch import write_launch_files

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
    if replay is not None and not replay.exists():
        raise TrocarError(f"--replay {replay}: the bag does not exist")
    names = [name for group in arms or [] for name in group.split(",") if name]
    if ros2 and master:
        raise TrocarError("--master applies to --ros1 only; omit it with --ros2")
    number = _checked_domain(domain, interface, distro) if ros2 else 0
    from trocar.robot import Robot
    from trocar.robot.controller.constants import PERIOD
    from trocar.simulation import load_scene
    from trocar.teleoperation import Teleoperation
    from trocar.transports.bags import bags_of
    from trocar.transports.camera import CameraSettings
    from trocar.transports.ros1.bridge import Ros1Bridge
    from trocar.transports.ros2.bridge import Ros2Bridge

    built = load_scene(scene, timestep=PERIOD)
    check_known("arm of the scene", built.arms, *names)
    options: Any = {"rate": rate, "speed": speed, "hold_when_lost": hold_when_lost, "priority": priority}
    options["description"] = _description(built)
    with ExitStack() as running:
        robot = running.enter_context(Robot(built, speed=speed, start=start, arms=names or None))
        running.enter_context(Teleoperation(robot))
        running.enter_context(bags_of(robot, record, replay, typer.echo))
        options["camera"] = None
        if images:
            ecm = next((name for name, kind in robot.devices.items() if kind == "ECM"), None)
            if ecm is None:
                raise TrocarError("--images requires an ECM and this robot has none; omit --images")
            options["camera"] = CameraSettings(scene, ecm, rate=images)
        bridge: Ros1Bridge | Ros2Bridge
        if ros2:
            bridge = Ros2Bridge(robot, domain=number, interface=interface, distro=distro, **options)
            place = f"ROS_DOMAIN_ID={number} on {interface}"
        else:
            uri = master_uri(master)
            bridge = Ros1Bridge(robot, address=host, master="" if uri == OWN_MASTER else uri, **options)
            place = f"ROS_MASTER_URI={bridge.master}"
        running.enter_context(bridge)
        typer.echo(
            f"serving {', '.join(robot.devices)}: {len(bridge.topics)} topics, {len(bridge.services)} services; "
            f"{place}; press Ctrl-C to stop"
        )
        if view:
            from trocar.commands.view import open_page

            typer.echo(f"page: {open_page(running, 'served_page', robot, port=port).address}")
        if priority and not bridge.prioritised:
            typer.echo("no real-time priority: the system grants it to root and to users with a limit rtprio")
        try:
            while bridge.running and robot.error is None:
                bridge.wait(POLL_INTERVAL)
        except KeyboardInterrupt:
            typer.echo("stopped")
            return
        raise TrocarError(bridge.error or f"the simulation stopped: {robot.error!r}")


def _checked_domain(domain: int | None, interface: str, distro: str) -> int:
    """The domain to serve; wrong options of ROS 2 raise an error before the scene is loaded."""
    from trocar.transports.ros2.bridge import DISTROS
    from trocar.transports.ros2.domain import check_installed, chosen_domain, configuration

    check_installed()
    check_known("distribution of ROS 2", DISTROS, distro)
    configuration(interface)
    return chosen_domain(domain)


def _description(scene: Scene) -> str:
    from trocar.transports.scene_topics import write_description

    try:
        return write_description(scene)
    except TrocarError as error:
        typer.echo(f"no robot_description: {error}")
        return ""
