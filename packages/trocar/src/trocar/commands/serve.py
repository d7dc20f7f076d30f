"""`trocar serve`: a simulated robot in ROS 1 or in ROS 2; launch files for RViz."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trocar as tr
from trocar.commands import options
from trocar.commands.options import argument, check_positive, flag, option
from trocar.commands.pages import VIEW, show_page
from trocar.commands.robot_scene import built_scene
from trocar.commands.terminal import plain_errors, termination_interrupts
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.transports.camera import CameraSettings
    from trocar.transports.topic_bridge import TopicBridge

OWN_MASTER = "own"
POLL_INTERVAL = 0.2  # between checks of the simulation [s]

ServedScene = Annotated[str, argument("SCENE", "dvrk, dvrk_si, another scene's name or a .toml file.")]
Arms = Annotated[list[str] | None, option("NAMES", "Arms to control: PSM1,ECM; repeatable. Default: all.")]
Rate = Annotated[float, option("HZ", "Rate of state topics, at most 1500.")]
Speed = Annotated[float, option("FACTOR", "Speed relative to real time; if not 1, time comes from /clock.")]
Images = Annotated[float, option("HZ", "Publish images of the endoscope at this rate. 0: none.")]
HoldWhenLost = Annotated[bool, flag("Hold an arm in effort control when its client disconnects.", "--hold-when-lost")]
Record = Annotated[
    Path | None, option("BAG", "Record states and motion commands to BAG: .bag, .mcap, .db3.", "--record", "-o")
]
Replay = Annotated[Path | None, option("BAG", "Replay the servo commands of a bag to the arms, once.")]
Priority = Annotated[
    bool, flag("Ask for real-time priority of the ROS node, for a machine with a free processor.", "--priority")
]
View = Annotated[bool, flag("Open the robot and its controls in the browser (port: TROCAR_PORT or 8080).", "--view")]
Distro = Annotated[str, option("NAME", "jazzy (also Iron, Kilted and later) or humble.")]


@plain_errors()
def serve(context: typer.Context) -> None:
    """Serve a simulated robot to other programs until Ctrl-C: ROS 1, ROS 2, or the dVRK's controller boards.

    Examples: [bold]trocar serve ros2 --arms PSM1,ECM --view[/bold], [bold]trocar serve ros1 --master own[/bold],
    [bold]trocar serve boards --config system-PSM1.json[/bold] (for the dVRK's own software).
    [bold]trocar serve ros2 --help[/bold] lists the options of one.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


@dataclass(frozen=True, kw_only=True)
class Served:
    """A robot to serve, as the command line describes it; checked before anything is loaded."""

    scene: str
    arms: list[str] | None
    start: str
    speed: float
    rate: float
    images: float
    parameters: list[str] | None
    record: Path | None
    replay: Path | None
    hold_when_lost: bool
    priority: bool
    view: bool

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Served:
        """The robot that the options of a command describe, checked; other values are ignored."""
        served = cls(**{field.name: values[field.name] for field in fields(cls)})
        served.check()
        return served

    def check(self) -> None:
        """Raise an error if a value is not allowed."""
        check_known("start", options.STARTS, self.start)
        check_positive(rate=self.rate, speed=self.speed)
        if self.images:
            check_positive(images=self.images)
        if self.replay is not None and not self.replay.exists():
            raise TrocarError(f"--replay {self.replay}: the bag does not exist")

    def run(self, bridge_of: Callable[..., TopicBridge], place: Callable[[Any], str]) -> None:
        """Serve the robot until Ctrl-C.

        Args:
            bridge_of: function of the robot and the options of a `TopicBridge`. place: where clients find the bridge.
        """
        names = options.arm_names(self.arms)
        built = built_scene(self.scene, names, self.parameters, only=False)
        with ExitStack() as running:
            robot = robot_of(running, built, names, self.speed, self.start, self.record, self.replay)
            chosen: Any = {"hold_when_lost": self.hold_when_lost, "priority": self.priority}
            camera = endoscope_camera(robot, self.images) if self.images else None
            description = _description(built)
            bridge = bridge_of(
                robot, rate=self.rate, speed=self.speed, description=description, camera=camera, **chosen
            )
            running.enter_context(bridge)
            offer = f"{', '.join(robot.devices)}: {len(bridge.topics)} topics, {len(bridge.services)} services"
            typer.echo(f"serving {offer}; {place(bridge)}; press Ctrl-C to stop")
            if self.view:
                show_served(running, robot)
            if self.priority and not bridge.prioritised:
                typer.echo("no real-time priority: the system grants it to root and to users with a limit rtprio")
            wait(robot, bridge)


@plain_errors()
@termination_interrupts()
def ros1(
    scene: ServedScene = "dvrk",
    arms: Arms = None,
    rate: Rate = 100.0,
    start: options.Start = "ready",
    speed: Speed = 1.0,
    images: Images = 0.0,
    parameters: options.ParametersByArm = None,
    record: Record = None,
    replay: Replay = None,
    hold_when_lost: HoldWhenLost = False,
    priority: Priority = False,
    master: Annotated[
        str | None,
        option("URI", "ROS master; own: start one, on 11311 if free. Default: ROS_MASTER_URI or 127.0.0.1:11311."),
    ] = None,
    host: Annotated[
        str, option("ADDRESS", "This machine's IP address. Any but 127.x.x.x opens the node to the network.")
    ] = "127.0.0.1",
    view: View = False,
) -> None:
    """Serve the dVRK's topics and services in ROS 1; requires Debian's rospy.

    Example: [bold]trocar serve ros1 --master own --arms PSM1,ECM[/bold]

    More: [bold]trocar serve ros1 --record run.bag[/bold] (record a bag),
    [bold]trocar serve ros1 --replay run.bag[/bold] (replay its servo commands).

    Also publishes /tf, /joint_states and robot_description for RViz; [bold]trocar serve launch-files[/bold] writes
    launch files. Requires a running roscore or --master own. There is no access control: anyone who reaches the node's
    ports can command the simulated robot.
    """
    served = Served.of(locals())
    from trocar.transports.link import USUAL_MASTER
    from trocar.transports.ros1.bridge import Ros1Bridge

    check_address(host)
    uri = options.master_uri(master)
    bridge_of = partial(Ros1Bridge, address=host, master=USUAL_MASTER if uri == OWN_MASTER else uri)
    served.run(bridge_of, lambda bridge: f"ROS_MASTER_URI={bridge.master}")


@plain_errors()
@termination_interrupts()
def ros2(
    scene: ServedScene = "dvrk",
    arms: Arms = None,
    rate: Rate = 100.0,
    start: options.Start = "ready",
    speed: Speed = 1.0,
    images: Images = 0.0,
    parameters: options.ParametersByArm = None,
    record: Record = None,
    replay: Replay = None,
    hold_when_lost: HoldWhenLost = False,
    priority: Priority = False,
    domain: options.Domain = None,
    interface: options.Interface = "lo",
    distro: Distro = "jazzy",
    view: View = False,
) -> None:
    """Serve the dVRK's topics and services in ROS 2 over DDS; requires no installation of ROS.

    Example: [bold]trocar serve ros2 --domain 7 --view[/bold]

    More: [bold]trocar serve ros2 --arms PSM1 -p PSM1=mine.toml[/bold] (one arm with identified parameters),
    [bold]trocar serve ros2 --record run.mcap[/bold] (record a bag).

    Also publishes /tf, /joint_states and robot_description for RViz; [bold]trocar serve launch-files[/bold] writes
    launch files. There is no access control: anyone who reaches the node can command the simulated robot. By default
    it is reachable from this machine only. Requires pip install 'trocar\\[ros2]'.
    """
    served = Served.of(locals())
    number = checked_domain(domain, interface, distro)
    from trocar.transports.ros2.bridge import Ros2Bridge

    bridge_of = partial(Ros2Bridge, domain=number, interface=interface, distro=distro)
    served.run(bridge_of, lambda bridge: f"ROS_DOMAIN_ID={number} on {interface}")


@plain_errors()
def launch_files(folder: Annotated[Path, argument("DIR", "Folder for the files.")]) -> None:
    """Write launch files that show a served robot in RViz, for ROS 1 and ROS 2.

    Example: [bold]trocar serve launch-files launch[/bold]
    """
    from trocar.transports.launch import write_launch_files

    for path in write_launch_files(folder):
        typer.echo(path)


def robot_of(
    running: ExitStack,
    scene: tr.Scene,
    arms: list[str],
    pace: str | float,
    start: str,
    record: Path | None = None,
    replay: Path | None = None,
) -> tr.Robot:
    """The served robot with the console's teleoperation, and its bags."""
    from trocar.teleoperation import Teleoperation
    from trocar.transports.bags import bags_of

    robot = running.enter_context(tr.Robot(scene, speed=pace, start=start, arms=arms or None))
    running.enter_context(Teleoperation(robot))
    running.enter_context(bags_of(robot, record, replay, typer.echo))
    return robot


def show_served(running: ExitStack, robot: tr.Robot) -> None:
    """Open the page of a served robot."""
    with VIEW.needed():
        from trocar.view.pages import served_page
    show_page(running, partial(served_page, robot=robot))


def wait(robot: tr.Robot, *servers: Any) -> None:
    """Wait until Ctrl-C; an error of the simulation or of a server is raised."""
    try:
        while robot.error is None and all(server.running for server in servers):
            servers[0].wait(POLL_INTERVAL)
    except KeyboardInterrupt:
        typer.echo("stopped")
        return
    errors = [server.error for server in servers if server.error]
    raise TrocarError(errors[0] if errors else f"the simulation stopped: {robot.error!r}")


def checked_domain(domain: int | None, interface: str, distro: str = "jazzy") -> int:
    """The domain to serve; wrong options of ROS 2 raise an error before the scene is loaded."""
    from trocar.transports.ros2.bridge import DISTROS
    from trocar.transports.ros2.domain import check_installed, chosen_domain, configuration

    check_installed()
    check_known("distribution of ROS 2", DISTROS, distro)
    configuration(interface)
    return chosen_domain(domain)


def check_address(host: str) -> None:
    """Raise an error unless --host is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise TrocarError(f"--host must be an IP address, got {host!r}") from None


def endoscope_camera(robot: tr.Robot, rate: float) -> CameraSettings:
    """Cameras of the robot's endoscope [Hz]."""
    from trocar.transports.camera import CameraSettings

    ecm = next((name for name, kind in robot.devices.items() if kind == "ECM"), None)
    if ecm is None:
        raise TrocarError("--images requires an ECM and this robot has none; omit --images")
    return CameraSettings(robot.scene, ecm, rate=rate)


def _description(scene: tr.Scene) -> str:
    from trocar.transports.scene_topics import write_description

    try:
        return write_description(scene)
    except TrocarError as error:
        typer.echo(f"no robot_description: {error}")
        return ""
