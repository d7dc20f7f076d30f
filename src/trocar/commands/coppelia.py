"""`trocar serve --coppelia`: the scene of Ferro et al. 2022, or a robot, for clients of CoppeliaSim."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import trocar as tr
from trocar import checks
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.experiments.ferro2022.remote_scene import FerroScene
    from trocar.robot.messages import Frame
    from trocar.transports.coppelia.server import RemoteApiServer

POLL_INTERVAL = 0.5  # between checks of the server [s]


def serve_coppelia(
    arms: Sequence[str],
    port: int,
    *,
    torque: bool,
    counterweight: bool,
    period: float,
    parameters: str | None,
    places: Sequence[str],
    log: Path | None,
    zmq_port: int | None,
    view: bool,
) -> None:
    """Serve the scene until Ctrl-C."""
    from trocar.commands.view import open_page
    from trocar.experiments.ferro2022.remote_scene import PARAMETERS, FerroScene
    from trocar.experiments.ferro2022.session_log import SessionLog
    from trocar.transports.coppelia.server import RemoteApiServer

    checks.positive("--period", period)
    placed = dict(_place(text) for text in places)
    observe = SessionLog(log, typer.echo) if log is not None else (lambda scene: None)
    scene = FerroScene(
        arms or ("PSM1",),
        torque=torque,
        counterweight=counterweight,
        period=period,
        parameters=parameters or PARAMETERS,
        places=placed,
        report=typer.echo,
        observe=observe,
    )
    with ExitStack() as running:
        running.callback(scene.close)
        if log is not None:
            running.callback(observe, None)  # after the server has ended
        server = running.enter_context(RemoteApiServer(scene, port, typer.echo))
        place = _ports(running, server, zmq_port)
        control = "efforts" if torque else "velocities"
        weight = "with" if counterweight else "without"
        typer.echo(
            f"serving {', '.join(scene.psms)} of Ferro et al. 2022, {weight} counterweight, {control}, steps of "
            f"{1e3 * period:g} ms, on {place}; press Ctrl-C to stop"
        )
        if view:
            page = open_page(running, "scene_page", _locked(server, scene), port=0 if port == 0 else 8080)
            typer.echo(f"page: {page.address}")
        try:
            while server.serving:
                server.wait(POLL_INTERVAL)
        except KeyboardInterrupt:
            typer.echo("stopped")
            return
        raise TrocarError("the server stopped")


def attach_coppelia(
    running: ExitStack, robot: tr.Robot, port: int, period: float, zmq_port: int | None
) -> RemoteApiServer:
    """Serve a robot whose time the clients let pass, until `running` is closed."""
    from trocar.transports.coppelia.robot_scene import RobotScene
    from trocar.transports.coppelia.server import RemoteApiServer

    scene = RobotScene(robot, period)
    running.callback(scene.close)
    server = running.enter_context(RemoteApiServer(scene, port, typer.echo))
    place = _ports(running, server, zmq_port)
    typer.echo(
        f"serving {', '.join(robot.arms)} to clients of CoppeliaSim, steps of {1e3 * period:g} ms, on {place}; "
        "press Ctrl-C to stop"
    )
    return server


def _ports(running: ExitStack, server: RemoteApiServer, zmq_port: int | None) -> str:
    """Addresses of the remote APIs, after the ZMQ one was started if it has a port."""
    place = f"127.0.0.1:{server.port}"
    if zmq_port is None:
        return place
    from trocar.transports.coppelia.zmq_server import ZmqApiServer

    zmq_server = running.enter_context(ZmqApiServer(server.stepping, zmq_port, typer.echo))
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
    if len(position) != 3:
        raise TrocarError(f"--place must be NAME=X,Y,Z in metres, such as Start=-1.539,-0.16781,0.71475, got {text!r}")
    return name, [checks.number("--place", x, -100.0, 100.0, "m") for x in position]
