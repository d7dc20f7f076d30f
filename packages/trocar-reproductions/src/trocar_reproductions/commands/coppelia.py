"""`trocar serve coppelia` and `coppelia-robot`: Ferro's scene, or a robot, for clients of CoppeliaSim."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trocar as tr
from trocar.commands.options import ParametersByArm, arm_names, check_positive, flag, master_uri, option
from trocar.commands.pages import VIEW, show_page
from trocar.commands.robot_scene import built_scene
from trocar.commands.serve import Arms, Record, ServedScene, View, checked_domain, robot_of, show_served, wait
from trocar.commands.terminal import plain_errors, termination_interrupts
from trocar.errors import TrocarError
from trocar.transports.terminal_log import LimitedLines

if TYPE_CHECKING:
    from trocar.robot.messages import Frame
    from trocar_reproductions.coppelia.server import RemoteApiServer
    from trocar_reproductions.ferro2022.remote_scene import FerroScene

MAX_PLACE = 100.0  # largest coordinate of a frame [m]
POLL_INTERVAL = 0.5  # between checks of the server [s]
Port = Annotated[int, option("N", "Port of the legacy remote API; 0: a free one.")]
ZmqPort = Annotated[int | None, option("N", "Also serve the ZMQ remote API, usually on port 23000.", "--zmq")]


@plain_errors()
@termination_interrupts()
def coppelia(
    arms: Annotated[list[str] | None, option("NAMES", "PSM1,PSM2; repeatable. Default: PSM1.")] = None,
    port: Port = 19997,
    torque: Annotated[bool, flag("The scene takes efforts, not velocities.", "--torque")] = False,
    counterweight: Annotated[
        bool, flag("The scene with or without counterweight.", "--counterweight/--no-counterweight")
    ] = True,
    period: Annotated[float, option("S", "Simulation step, a multiple of 0.005 s.")] = 0.01,
    parameters: Annotated[
        str | None, option("SET", "Parameter set or file. Default: the masses of their scene.", "--parameters", "-p")
    ] = None,
    places: Annotated[
        list[str] | None, option("NAME=X,Y,Z", "Move a frame of the scene, such as Start; repeatable.", "--place")
    ] = None,
    log: Annotated[Path | None, option("DIR", "Write the logs of each session to DIR.")] = None,
    zmq_port: ZmqPort = None,
    view: Annotated[bool, flag("Open the scene in the browser.", "--view")] = False,
) -> None:
    """Serve CoppeliaSim's remote API on the scene of Ferro et al. 2022, for their program.

    Example: [bold]trocar serve coppelia --torque --log logs[/bold], then start the program.

    The clients let time pass. A robot instead of their scene: [bold]trocar serve coppelia-robot[/bold]. See
    docs/coppeliasim.md.
    """
    from trocar_reproductions.coppelia.server import RemoteApiServer
    from trocar_reproductions.ferro2022.remote_scene import PARAMETERS, FerroScene
    from trocar_reproductions.ferro2022.session_log import SessionLog

    check_positive(period=period)
    placed = dict(_place(text) for text in places or ())
    session = None if log is None else SessionLog(log, typer.echo)
    scene = FerroScene(
        arm_names(arms) or ("PSM1",),
        torque=torque,
        counterweight=counterweight,
        period=period,
        parameters=parameters or PARAMETERS,
        places=placed,
        report=typer.echo,
        observe=session or (lambda scene: None),
    )
    with ExitStack() as running:
        running.callback(scene.close)
        if session is not None:
            running.callback(session.close)  # after the server has ended
        server = running.enter_context(RemoteApiServer(scene, port, LimitedLines(typer.echo)))
        place = _ports(running, server, zmq_port)
        control = "efforts" if torque else "velocities"
        weight = "with" if counterweight else "without"
        typer.echo(
            f"serving {', '.join(scene.psms)} of Ferro et al. 2022, {weight} counterweight, {control}, steps of "
            f"{1e3 * period:g} ms, on {place}; press Ctrl-C to stop"
        )
        if view:
            with VIEW.needed():
                from trocar.view.pages import scene_page
            show_page(running, partial(scene_page, source=_locked(server, scene)))
        try:
            while server.serving:
                server.wait(POLL_INTERVAL)
        except KeyboardInterrupt:
            typer.echo("stopped")
            return
        raise TrocarError("the server stopped")


@plain_errors()
@termination_interrupts()
def coppelia_robot(
    scene: ServedScene = "dvrk",
    arms: Arms = None,
    port: Port = 19997,
    period: Annotated[float, option("S", "Simulation step, a multiple of 1/1500 s.")] = 0.01,
    parameters: ParametersByArm = None,
    record: Record = None,
    zmq_port: ZmqPort = None,
    ros1: Annotated[bool, flag("Also serve ROS 1, at ROS_MASTER_URI.", "--ros1")] = False,
    ros2: Annotated[bool, flag("Also serve ROS 2, in ROS_DOMAIN_ID on this machine.", "--ros2")] = False,
    view: View = False,
) -> None:
    """Serve CoppeliaSim's remote API on a simulated dVRK, whose time its clients let pass.

    Example: [bold]trocar serve coppelia-robot dvrk --arms PSM1 --zmq 23000[/bold]
    """
    from trocar_reproductions.coppelia.robot_scene import RobotScene
    from trocar_reproductions.coppelia.server import RemoteApiServer

    names = arm_names(arms)
    check_positive(period=period)
    built = built_scene(scene, names, parameters, only=False)
    with ExitStack() as running:
        robot = robot_of(running, built, names, "stepped", "ready", record)
        served = RobotScene(robot, period)
        running.callback(served.close)
        server = running.enter_context(RemoteApiServer(served, port, LimitedLines(typer.echo)))
        place = _ports(running, server, zmq_port)
        typer.echo(
            f"serving {', '.join(robot.arms)} to clients of CoppeliaSim, steps of {1e3 * period:g} ms, on {place}; "
            "press Ctrl-C to stop"
        )
        bridges = _bridges(running, robot, ros1, ros2)
        if view:
            show_served(running, robot)
        wait(robot, _Server(server), *bridges)


@dataclass(frozen=True)
class _Server:
    """A remote API as one of the servers that a command waits for."""

    api: RemoteApiServer
    error: None = None

    @property
    def running(self) -> bool:
        return self.api.serving

    def wait(self, timeout: float) -> None:
        self.api.wait(timeout)


def _bridges(running: ExitStack, robot: tr.Robot, ros1: bool, ros2: bool) -> list[Any]:
    """The robot in ROS as well."""
    bridges: list[Any] = []
    if ros1:
        from trocar.transports.ros1.bridge import Ros1Bridge

        bridges.append(running.enter_context(Ros1Bridge(robot, master=master_uri(None))))
        typer.echo(f"serving ROS 1: ROS_MASTER_URI={bridges[-1].master}")
    if ros2:
        from trocar.transports.ros2.bridge import Ros2Bridge

        number = checked_domain(None, "lo")
        bridges.append(running.enter_context(Ros2Bridge(robot, domain=number)))
        typer.echo(f"serving ROS 2: ROS_DOMAIN_ID={number} on lo")
    return bridges


def _ports(running: ExitStack, server: RemoteApiServer, zmq_port: int | None) -> str:
    """Addresses of the remote APIs, after the ZMQ one was started if it has a port."""
    place = f"127.0.0.1:{server.port}"
    if zmq_port is None:
        return place
    from trocar_reproductions.coppelia.zmq_server import ZmqApiServer

    zmq_server = running.enter_context(ZmqApiServer(server.stepping, zmq_port, server.report))
    return f"{place}, ZMQ on port {zmq_server.port}"


def _locked(server: RemoteApiServer, scene: FerroScene) -> Callable[..., Frame]:
    """Frames of a served scene for another thread."""

    def source(arms: Collection[str] | None = None) -> Frame:
        with server.stepping.lock:
            return scene.frame(arms)

    return source


def _place(text: str) -> tuple[str, list[float]]:
    """Name and position of NAME=X,Y,Z."""
    name, _, numbers = text.partition("=")
    try:
        position = [float(number) for number in numbers.split(",")]
    except ValueError:
        position = []
    if len(position) != 3 or not all(abs(x) <= MAX_PLACE for x in position):
        raise TrocarError(
            f"--place must be NAME=X,Y,Z in metres, at most {MAX_PLACE:g} each, such as Start=-1.539,-0.168,0.715; "
            f"got {text!r}"
        )
    return name, position
