"""`trocar serve`: a simulated robot in ROS 1, in ROS 2, as controller boards or for clients of CoppeliaSim."""

from __future__ import annotations

import ipaddress
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

import trocar as tr
from trocar.commands import options
from trocar.commands.contest import CONTEST
from trocar.commands.options import STARTS, argument, check_positive, flag, option
from trocar.commands.robot_scene import built_scene
from trocar.commands.terminal import plain_errors, termination_interrupts
from trocar.commands.view import open_browser, open_page
from trocar.errors import TrocarError, check_known

OWN_MASTER = "own"
POLL_INTERVAL = 0.2  # between checks of the simulation [s]


@plain_errors()
@termination_interrupts()
def serve(
    scene: Annotated[
        str | None, argument("SCENE", "dvrk (default), dvrk_si, peg_transfer or a .toml file.", show_default=False)
    ] = None,
    ros1: Annotated[bool, flag("Serve ROS 1 (requires Debian's rospy).", "--ros1")] = False,
    ros2: Annotated[bool, flag("Serve ROS 2 over DDS (requires cyclonedds).", "--ros2")] = False,
    fpga: Annotated[bool, flag("Serve the controller boards to the dVRK's own software, over UDP.", "--fpga")] = False,
    arms: Annotated[list[str] | None, option("NAMES", "Arms to control: PSM1,ECM; repeatable. Default: all.")] = None,
    config: Annotated[
        Path | None, option("SYSTEM.json", "With --fpga: system file. Default: nominal files in trocar-fpga/.")
    ] = None,
    boards: Annotated[str, option("KIND", "With --fpga and no --config: QLA1 or DQLA.")] = "QLA1",
    instrument: Annotated[str | None, option("NUMBER", "With --fpga: instrument of the PSMs. Default: 400006.")] = None,
    tools: Annotated[bool, flag("With --fpga: start with instruments mounted.", "--tools/--no-tools")] = True,
    rate: Annotated[float, option("HZ", "Rate of state topics, at most 1500.")] = 100.0,
    start: options.Start = "ready",
    speed: Annotated[float, option("FACTOR", "Speed relative to real time; if not 1, time comes from /clock.")] = 1.0,
    images: Annotated[
        float | None,
        option("HZ", "Publish images of the endoscope at this rate. 0: none. Default: 0; peg_transfer: 30."),
    ] = None,
    image_size: Annotated[
        str | None, option("WxH", "With peg_transfer: size of the images in pixels. Default: 1280x800.")
    ] = None,
    seed: Annotated[int, option("K", "With peg_transfer: seed of the board's and the pegs' places.")] = 0,
    hold_when_lost: Annotated[
        bool, flag("Hold an arm in effort control when its client disconnects.", "--hold-when-lost")
    ] = False,
    record: Annotated[
        Path | None, option("BAG", "Record states and motion commands to BAG: .bag, .mcap, .db3.")
    ] = None,
    replay: Annotated[Path | None, option("BAG", "Replay the servo commands of a bag to the arms, once.")] = None,
    launch_files: Annotated[Path | None, option("DIR", "Write launch files for RViz to DIR and exit.")] = None,
    master: Annotated[
        str | None,
        option(
            "URI",
            "With --ros1: ROS master; own: start one, on 11311 if free. Default: ROS_MASTER_URI or 127.0.0.1:11311.",
        ),
    ] = None,
    host: Annotated[
        str,
        option("ADDRESS", "With --ros1, --fpga: this machine's IP address. Any but 127.x.x.x opens it to the network."),
    ] = "127.0.0.1",
    domain: options.Domain = None,
    interface: options.Interface = "lo",
    distro: Annotated[str, option("NAME", "With --ros2: jazzy (also Iron, Kilted and later) or humble.")] = "jazzy",
    priority: Annotated[
        bool, flag("Ask for real-time priority of the ROS node, for a machine with a free processor.", "--priority")
    ] = False,
    view: Annotated[bool, flag("Open the robot and its controls in the browser.", "--view")] = False,
    browser: options.Browser = True,
    port: Annotated[
        int | None, option("N", "Port of the page (default: 8080), or of --coppelia (default: 19997); 0: a free one.")
    ] = None,
    coppelia: Annotated[
        bool,
        flag("Serve clients of CoppeliaSim: the scene of Ferro et al. 2022, or the robot of SCENE.", "--coppelia"),
    ] = False,
    torque: Annotated[bool, flag("With --coppelia: the scene takes efforts, not velocities.", "--torque")] = False,
    counterweight: Annotated[
        bool, flag("With --coppelia: the scene with or without counterweight.", "--counterweight/--no-counterweight")
    ] = True,
    period: Annotated[
        float, option("S", "With --coppelia: simulation step, a multiple of 0.005 s (a robot: of 1/1500 s).")
    ] = 0.01,
    parameters: Annotated[
        list[str] | None,
        option(
            "ARM=SET",
            "Parameter set or file of an arm, such as PSM1=mine.toml; repeatable. With --coppelia without SCENE: SET.",
            *("--parameters", "-p"),
        ),
    ] = None,
    places: Annotated[
        list[str] | None,
        option("NAME=X,Y,Z", "With --coppelia: move a frame of the scene, such as Start; repeatable.", "--place"),
    ] = None,
    log: Annotated[Path | None, option("DIR", "With --coppelia: write the logs of each session to DIR.")] = None,
    zmq_port: Annotated[
        int | None, option("N", "With --coppelia: also serve the ZMQ remote API, usually on port 23000.", "--zmq")
    ] = None,
) -> None:
    """Serve the dVRK's ROS topics and services, or its controller boards, from a simulated robot until Ctrl-C.

    Examples: [bold]trocar serve --ros1 --arms PSM1,ECM[/bold], [bold]trocar serve --ros2 --domain 7[/bold]

    [bold]trocar serve peg_transfer --ros2[/bold] offers the board, topics and cameras of the ICRA 2026 peg transfer,
    with poses relative to the left camera, and prints the referee's score at the end.

    More: [bold]trocar serve --fpga --config system-PSM1.json[/bold] (the dVRK's own software),
    [bold]trocar serve --ros1 --record run.bag[/bold] (record a bag),
    [bold]trocar serve --ros1 --replay run.bag[/bold] (replay its servo commands).

    Also publishes /tf, /joint_states and robot_description for RViz; --launch-files writes launch files for it.

    --coppelia serves CoppeliaSim's remote API; with SCENE it can be combined with --ros1 or --ros2. See
    docs/coppeliasim.md.

    --fpga lets the dVRK's own software drive the simulated motors, as if they were a robot; see docs/fpga.md. With
    --ros2 it also publishes the true joints, tips and contact forces.

    --ros1 requires a running roscore or --master own. --ros2 requires no ROS installation. Neither has access control:
    anyone who reaches the node's ports can command the simulated robot. Without --host or --interface the node is
    reachable from this machine only.
    """
    if launch_files is not None:
        from trocar.transports.launch import write_launch_files

        for path in write_launch_files(launch_files):
            typer.echo(path)
        return
    if ros1 + (ros2 or fpga) > 1 or not (ros1 or ros2 or fpga or coppelia) or (coppelia and fpga):
        raise TrocarError("choose an interface with --ros1, --ros2, --fpga or --coppelia")
    names = options.arm_names(arms)
    if coppelia and scene is None:
        from trocar.commands.coppelia import serve_coppelia

        if record or replay or images or ros1 or ros2:
            raise TrocarError(
                "--coppelia without SCENE serves a scene of its own: omit --ros1, --ros2, --record, --replay and "
                "--images, or name a SCENE such as dvrk"
            )
        if len(parameters or ()) > 1:
            raise TrocarError("--coppelia without SCENE takes one parameter set for all its arms")
        chosen: Any = {"torque": torque, "counterweight": counterweight, "period": period}
        chosen["parameters"] = parameters[0] if parameters else None
        serve_coppelia(
            names,
            19997 if port is None else port,
            places=places or (),
            log=log,
            zmq_port=zmq_port,
            view=view,
            **chosen,
        )
        return
    if torque or not counterweight or places or log or (zmq_port is not None and not coppelia):
        raise TrocarError(
            "--torque, --no-counterweight, --place and --log apply to --coppelia without SCENE only, "
            "--zmq to --coppelia only"
        )
    if scene == CONTEST:
        from trocar.commands.contest import serve_contest

        others = fpga or coppelia or names or record or replay or start != "ready" or parameters or config
        if not ros2 or others or instrument or hold_when_lost or priority:
            raise TrocarError(
                f"{CONTEST} is served with --ros2, by both arms, ready and with their best parameters; of the other "
                "options it takes --rate, --speed, --domain, --interface, --distro, --images, --image-size, --seed, "
                "--view and --port"
            )
        check_positive(rate=rate, speed=speed)
        number = _checked_domain(domain, interface, distro)
        page = (8080 if port is None else port) if view else None
        ros: Any = {"domain": number, "interface": interface, "distro": distro, "rate": rate, "speed": speed}
        serve_contest(seed, images, image_size, page, **ros)
        return
    if image_size is not None or seed:
        raise TrocarError(f"--image-size and --seed apply to {CONTEST} only")
    scene = scene or "dvrk"
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
    if fpga:
        from trocar.commands.boards import serve_boards

        if record or replay or images or parameters:
            raise TrocarError("--fpga answers packets only: omit --record, --replay, --images and --parameters")
        serve_boards(
            *(scene, config, names),
            hardware=boards,
            instrument=instrument,
            host=host,
            tools=tools,
            view=view,
            ros2=(_checked_domain(domain, interface, distro), interface, rate) if ros2 else None,
        )
        return
    if config is not None or instrument is not None:
        raise TrocarError("--config and --instrument apply to --fpga only")
    if ros2 and master:
        raise TrocarError("--master applies to --ros1 only; omit it with --ros2")
    if coppelia and (replay or speed != 1.0):
        raise TrocarError("with --coppelia its clients let time pass: omit --replay and --speed")
    number = _checked_domain(domain, interface, distro) if ros2 else 0
    from trocar.commands.coppelia import attach_coppelia
    from trocar.teleoperation import Teleoperation
    from trocar.transports.bags import bags_of
    from trocar.transports.camera import CameraSettings
    from trocar.transports.link import USUAL_MASTER
    from trocar.transports.ros1.bridge import Ros1Bridge
    from trocar.transports.ros2.bridge import Ros2Bridge

    built = built_scene(scene, names, parameters, only=False)
    served: Any = {"rate": rate, "speed": speed, "hold_when_lost": hold_when_lost, "priority": priority}
    served["description"] = _description(built)
    with ExitStack() as running:
        pace = "stepped" if coppelia else speed
        robot = running.enter_context(tr.Robot(built, speed=pace, start=start, arms=names or None))
        running.enter_context(Teleoperation(robot))
        running.enter_context(bags_of(robot, record, replay, typer.echo))
        served["camera"] = None
        if images:
            ecm = next((name for name, kind in robot.devices.items() if kind == "ECM"), None)
            if ecm is None:
                raise TrocarError("--images requires an ECM and this robot has none; omit --images")
            served["camera"] = CameraSettings(robot.scene, ecm, rate=images)
        page = 8080 if port is None else port
        bridge: Ros1Bridge | Ros2Bridge | None = None
        if coppelia:
            page = 0 if port == 0 else 8080
            remote = attach_coppelia(running, robot, 19997 if port is None else port, period, zmq_port)
        if ros2:
            bridge = Ros2Bridge(robot, domain=number, interface=interface, distro=distro, **served)
            place = f"ROS_DOMAIN_ID={number} on {interface}"
        elif ros1:
            uri = options.master_uri(master)
            bridge = Ros1Bridge(robot, address=host, master=USUAL_MASTER if uri == OWN_MASTER else uri, **served)
            place = f"ROS_MASTER_URI={bridge.master}"
        if bridge is not None:
            running.enter_context(bridge)
            offer = f"{', '.join(robot.devices)}: {len(bridge.topics)} topics, {len(bridge.services)} services"
            typer.echo(f"serving {offer}; {place}; press Ctrl-C to stop")
        try:
            if view:
                shown = open_page(running, "served_page", robot, port=page)
                typer.echo(f"page: {shown.address}")
                if browser:
                    open_browser(shown.address)
            if bridge is not None and priority and not bridge.prioritised:
                typer.echo("no real-time priority: the system grants it to root and to users with a limit rtprio")
            while (bridge is None or bridge.running) and (not coppelia or remote.serving) and robot.error is None:
                (bridge or remote).wait(POLL_INTERVAL)
        except KeyboardInterrupt:
            typer.echo("stopped")
            return
        raise TrocarError((bridge and bridge.error) or f"the simulation stopped: {robot.error!r}")


def _checked_domain(domain: int | None, interface: str, distro: str) -> int:
    """The domain to serve; wrong options of ROS 2 raise an error before the scene is loaded."""
    from trocar.transports.ros2.bridge import DISTROS
    from trocar.transports.ros2.domain import check_installed, chosen_domain, configuration

    check_installed()
    check_known("distribution of ROS 2", DISTROS, distro)
    configuration(interface)
    return chosen_domain(domain)


def _description(scene: tr.Scene) -> str:
    from trocar.transports.scene_topics import write_description

    try:
        return write_description(scene)
    except TrocarError as error:
        typer.echo(f"no robot_description: {error}")
        return ""
