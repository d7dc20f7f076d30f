"""`trocar run`, `serve` and `crtk-check`: the live robot for dVRK scripts and for ROS, and its conformance."""

from __future__ import annotations

import ipaddress
import math
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trocar as tr
from trocar.commands import options
from trocar.commands.contest import contest_camera, open_contest
from trocar.commands.options import STARTS, argument, check_positive, flag, option
from trocar.commands.terminal import INTERRUPTED, plain_errors, show_table, status_line, termination_interrupts
from trocar.commands.view import open_browser, open_page, wait_for_browser
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable, write_json

if TYPE_CHECKING:
    from trocar.robot.conformance import Subject
    from trocar.robot.contest import ContestTrial
    from trocar.scripts.session import Session
    from trocar.transports.remote_bus import RemoteBus

SPEEDS = ("real", "fast")
OWN_MASTER = "own"
CONTEST = "peg_transfer"
POLL_INTERVAL = 0.2  # between checks of the simulation [s]
METRES_PER_RADIAN = 0.1  # --amplitude 0.05 allows 0.05 rad or 5 mm
COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


@plain_errors()
def run(
    script: Annotated[Path, argument("SCRIPT.py", "A Python script for the dVRK.")],
    arguments: Annotated[list[str] | None, argument("ARGS", "Arguments of the script.", show_default=False)] = None,
    scene: options.RobotScene = "dvrk",
    api: Annotated[
        str | None,
        option("RELEASE", "Release of the dvrk packages: 1, 2.0, 2.2 or 2.4. Default: detected from the script."),
    ] = None,
    speed: Annotated[str, option("SPEED", "real: real time; fast: time passes only while the script waits.")] = "real",
    start: options.Start = "ready",
    answers: Annotated[Path | None, option("FILE", "Lines for input(). Default: standard input.", "--input")] = None,
    pedal: Annotated[
        list[str] | None,
        option("NAME@T[+D]", "Press a pedal T seconds after the start, for D seconds (default: 0.5); can be repeated."),
    ] = None,
    seed: Annotated[int, option("K", "With --scene peg_transfer: seed of the board's and the pegs' places.")] = 0,
    image_size: Annotated[str, option("WxH", "With --scene peg_transfer: size of the images.")] = "640x400",
    duration: Annotated[
        float | None, option("S", "Stop the node after S seconds of robot time: rospy.is_shutdown() becomes true.")
    ] = None,
    arms: Annotated[
        list[str] | None,
        option("NAMES", "Arms to simulate: PSM1,ECM; repeatable. The others are left out. Default: all of the scene."),
    ] = None,
    parameters: options.ParametersByArm = None,
    record: Annotated[
        Path | None, option("BAG", "Record states and motion commands to BAG: .bag, .mcap, .db3.")
    ] = None,
    view: Annotated[
        bool, flag("Open the robot in the browser, wait for the page, and keep it until Ctrl-C.", "--view")
    ] = False,
    port: options.Port = 8080,
    browser: options.Browser = True,
) -> None:
    """Run a Python script for the dVRK without ROS or a robot.

    Example: [bold]trocar run --speed fast my_script.py -a PSM1[/bold]

    More: [bold]trocar run --arms PSM1 -p PSM1=mine.toml --record run.bag my_script.py[/bold] (one arm with identified
    parameters, recorded); [bold]trocar run --scene PSM --speed fast excitation/play.py --arm PSM[/bold] (an arm alone).

    Errors and warnings of the robot are printed on stderr with the robot's time.

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
    from trocar.robot.contest import score_line
    from trocar.scripts.launcher import run_script
    from trocar.scripts.session import FOREVER, Session
    from trocar.scripts.stereo_topics import StereoPublisher
    from trocar.teleoperation import Teleoperation
    from trocar.transports.bags import bags_of

    with ExitStack() as running:  # stopped in reverse order
        lines = None if answers is None else running.enter_context(answers.open(encoding="utf-8"))
        names = options.arm_names(arms)
        robot, trial = _script_robot(running, scene, names, parameters, speed, start, seed)
        Teleoperation(robot)
        running.enter_context(bags_of(robot, record, None, lambda text: typer.echo(f"trocar run: {text}", err=True)))
        page = open_page(running, "script_page", robot, port=port) if view else None
        if page is not None:
            wait_for_browser(page, "trocar run", browser)
        session = Session(robot, api, fast=speed == "fast")
        running.callback(session.close)
        if trial is not None:
            StereoPublisher(session, contest_camera(robot.scene, None, image_size))
        for press in presses:
            _schedule(session, *press)
        if duration is not None:
            session.at(session.now + round(min(duration, FOREVER) * 1e9), session.stop)
        status = run_script(session, script, arguments or [], lines)
        if trial is not None:
            typer.echo(f"trocar run: {score_line(trial.score)}", err=True)
        if page is not None and status != INTERRUPTED:
            session.close()
            typer.echo(f"trocar run: the script has ended with status {status}; end the page with Ctrl-C", err=True)
            with suppress(KeyboardInterrupt):
                page.wait()
    raise typer.Exit(status)


def _script_robot(
    running: ExitStack,
    scene: str,
    arms: list[str],
    parameters: list[str] | None,
    speed: str,
    start: str,
    seed: int,
) -> tuple[tr.Robot, ContestTrial | None]:
    """The robot of a script, with the referee of the peg transfer if it is its scene."""
    if scene == CONTEST:
        if arms or parameters or start != "ready":
            raise TrocarError(f"{CONTEST} has both arms, ready and with their best parameters; omit other options")
        return open_contest(running, seed, speed)
    if seed:
        raise TrocarError(f"--seed applies to --scene {CONTEST} only")
    return running.enter_context(tr.Robot(_built(scene, arms, parameters), speed=speed, start=start)), None


def _built(scene: str, arms: list[str], parameters: list[str] | None, *, only: bool = True) -> tr.Scene:
    """The scene of a name or file, or an arm alone, for the controllers of a robot.

    Args:
        arms: names of the arms to load with `only`, otherwise of those to control. Default: all.
        parameters: parameter sets or files, as ARM=SET.
    """
    from trocar.arms import ARMS
    from trocar.robot.controller.constants import PERIOD
    from trocar.robot.settings import ArmSettings
    from trocar.simulation.scene_file import arms_of

    if scene in ARMS:
        check_known("arm of the scene", (scene,), *arms)
        return ArmSettings(arm=scene, parameters=options.parameters_by_arm(parameters, [scene]).get(scene)).build()
    known = arms_of(scene)
    check_known("arm of the scene", known, *arms)
    loaded = arms if arms and only else known
    sets = options.parameters_by_arm(parameters, loaded)
    return tr.load_scene(scene, arms=loaded, parameters=sets, timestep=PERIOD)


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

    --coppelia serves CoppeliaSim's remote API; with SCENE also beside ROS. See docs/coppeliasim.md.

    Examples: [bold]trocar serve --ros1 --arms PSM1,ECM[/bold], [bold]trocar serve --ros2 --domain 7[/bold]

    [bold]trocar serve peg_transfer --ros2[/bold] offers the board, topics and cameras of the ICRA 2026 peg transfer,
    with poses relative to the left camera, and prints the referee's score at the end.

    More: [bold]trocar serve --fpga --config system-PSM1.json[/bold] (the dVRK's own software),
    [bold]trocar serve --ros1 --record run.bag[/bold] (record a bag),
    [bold]trocar serve --ros1 --replay run.bag[/bold] (replay its servo commands).

    Also publishes /tf, /joint_states and robot_description for RViz; --launch-files writes launch files for it.

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

        if not ros2 or fpga or coppelia or names or record or replay or start != "ready":
            raise TrocarError(
                f"{CONTEST} is served with --ros2, by both arms and ready; omit --fpga, --coppelia, --arms, --record, "
                "--replay and --start"
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

    built = _built(scene, names, parameters, only=False)
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
            served["camera"] = CameraSettings(scene, ecm, rate=images)
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
        return tr.Robot(_built(scene, [], None), start="ready")
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
