"""`trocar serve boards`: the dVRK's controller boards."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import trocar as tr
from trocar.commands import options
from trocar.commands.options import argument, check_positive, flag, option
from trocar.commands.pages import VIEW, open_page
from trocar.commands.serve import check_address, checked_domain
from trocar.commands.terminal import plain_errors, termination_interrupts
from trocar.errors import TrocarError, check_known
from trocar.interrupts import deaf_processes

if TYPE_CHECKING:
    from trocar.transports.fpga.io_file import IOConfiguration
    from trocar.transports.fpga.plant import RobotPlant
    from trocar.transports.fpga.server import BoardServer

HARDWARE = ("QLA1", "DQLA")
OUTPUT = Path("trocar-fpga")
CLASSIC_SCENE, SI_SCENE = "dvrk", "dvrk_si"


@plain_errors()
@termination_interrupts()
def boards(
    scene: Annotated[str, argument("SCENE", "dvrk, dvrk_si, another scene's name or a .toml file.")] = CLASSIC_SCENE,
    arms: Annotated[list[str] | None, option("NAMES", "Arms to simulate: PSM1,ECM; repeatable. Default: all.")] = None,
    config: Annotated[
        Path | None, option("SYSTEM.json", "System file of the dVRK. Default: nominal files in trocar-fpga/.")
    ] = None,
    hardware: Annotated[str, option("KIND", "Boards of nominal files: QLA1 or DQLA.", "--boards")] = "QLA1",
    instrument: Annotated[str | None, option("NUMBER", "Instrument of the PSMs. Default: 400006.")] = None,
    tools: Annotated[bool, flag("Start with instruments mounted.", "--tools/--no-tools")] = True,
    host: Annotated[
        str, option("ADDRESS", "This machine's IP address. Any but 127.x.x.x opens the boards to the network.")
    ] = "127.0.0.1",
    truth: Annotated[
        bool, flag("Publish true joints, tips and contact forces in ROS 2: /truth/PSM1/...", "--truth")
    ] = False,
    domain: options.Domain = None,
    interface: options.Interface = "lo",
    rate: Annotated[float, option("HZ", "Rate of the truth in ROS 2.")] = 100.0,
    view: Annotated[bool, flag("Open the arms in the browser.", "--view")] = False,
) -> None:
    """Serve the dVRK's controller boards over UDP, for its own software: the motors are simulated.

    Example: [bold]trocar serve boards --config system-PSM1.json[/bold], then start the dVRK as it prints.

    More: [bold]trocar serve boards --arms PSM1 --truth --view[/bold] (nominal files, the truth in ROS 2, a page).
    See docs/fpga.md for the system file, hands, pedals and faults.
    """
    from trocar.transports.fpga.bedside import Bedside
    from trocar.transports.fpga.controller import BoardController
    from trocar.transports.fpga.plant import RobotPlant
    from trocar.transports.fpga.server import BoardServer

    check_known("boards", HARDWARE, hardware)
    check_address(host)
    check_positive(rate=rate)
    number = checked_domain(domain, interface) if truth else 0
    scene, names, configuration = _configured(scene, config, options.arm_names(arms))
    built = _built(scene, names, instrument)
    if configuration is None:
        config, configuration = _nominal(built, names, hardware)
    plant = RobotPlant(built, configuration)
    if not tools:
        for name in plant.mounting.discs:
            plant.mounting.remove(name)
    server = BoardServer(BoardController(plant.boards, plant), Bedside(plant), host=host, report=typer.echo)
    with ExitStack() as running:
        if view:  # another process draws; this one has no time to
            _start(running, _show, scene, names, instrument, server.bedside_address)
        if truth:
            joints = {name: tuple(joint.name for joint in arm.arm.joints) for name, arm in built.arms.items()}
            carriers = [name for name, arm in built.arms.items() if arm.arm.carries]
            _start(running, _publish_truth, server.bedside_address, joints, carriers, number, interface, rate)
            typer.echo(f"truth in ROS 2: /truth/{names[0]}/..., ROS_DOMAIN_ID={number} on {interface}, {rate:g} Hz")
        _run(server, partial(_announce, plant, server, names, host, Path(str(config)).resolve()))


def _configured(scene: str, config: Path | None, arms: list[str]) -> tuple[str, list[str], IOConfiguration | None]:
    """Scene and arms of a system file, or of nominal files that are still to be written."""
    from trocar.transports.fpga import nominal
    from trocar.transports.fpga.system_file import read_system

    if config is None:
        built = tr.load_scene(scene)
        known = [name for name in nominal.BOARDS if name in built.arms and built.arms[name].arm.name != "ECM_Si"]
        return scene, arms or known, None
    system = read_system(config)
    if scene == CLASSIC_SCENE and "Si" in system.generations.values():
        scene = SI_SCENE
    names = [robot.name for robot in system.robots if robot.name in system.types]
    names = names or _arms_on_set_up(scene, system)
    check_known(f"arm of {config}", names, *arms)
    if not names:
        raise TrocarError(f"{config} has no arm with an IO file next to it; there is nothing to simulate")
    return scene, arms or names, system


def _arms_on_set_up(scene: str, system: IOConfiguration) -> list[str]:
    """Arms on the set-up joints of a system that has no others: they hang there without power."""
    if not system.set_up:
        return []
    present = tr.load_scene(scene).arms
    return [pots.arm for pots in system.set_up if pots.arm in present]


def _nominal(built: tr.Scene, names: list[str], hardware: str) -> tuple[Path, IOConfiguration]:
    """Nominal files of a scene's arms: written, and read."""
    from trocar.transports.fpga import nominal
    from trocar.transports.fpga.system_file import read_system

    config = nominal.write_system(OUTPUT, built, names, hardware)
    return config, read_system(config)


def _announce(plant: RobotPlant, server: BoardServer, names: list[str], host: str, config: Path) -> None:
    """Print what is served, and how to start the dVRK's programs on it."""
    kinds = zip(plant.boards.numbers, plant.boards.kinds, strict=True)
    boards = ", ".join(f"{number} ({kind.name})" for number, kind in kinds)
    place = "this machine only" if host.startswith("127.") else "OPEN TO THE NETWORK"
    set_up = ["set-up joints"] if plant.set_up is not None else []
    typer.echo(f"SIMULATED controller, not a robot: {', '.join([*names, *set_up])}; boards {boards}")
    typer.echo(f"UDP {host}:{server.address[1]} ({place}); hands, pedals and truth: UDP 127.0.0.1:1395")
    for note in plant.notes:
        typer.echo(f"note: {note}")
    numbers = " ".join(map(str, plant.boards.numbers))
    typer.echo(f'system file: {config}; its "IOs" must have "port": "udp:{host}"')
    typer.echo(f"start the dVRK:   ros2 run dvrk_robot dvrk_system -j {config}")
    typer.echo(f"or test programs: qladisp -pudp:{host} {numbers}")


def _start(running: ExitStack, target: Callable[..., None], *arguments: object) -> None:
    """Run a function in a process of its own, which ends with `running`."""
    process = multiprocessing.get_context("spawn").Process(target=target, args=arguments, daemon=True)
    with deaf_processes():
        process.start()
    running.callback(process.terminate)


def _run(server: BoardServer, announce: Callable[[], None]) -> None:
    started, used = time.monotonic(), time.process_time()
    try:
        server.serve(ready=announce)  # who reads the announcement gets replies at once
    except KeyboardInterrupt:
        share = (time.process_time() - used) / max(time.monotonic() - started, 1e-3)
        priority = "with" if server.prioritised else "without (limit rtprio)"
        typer.echo(f"stopped: {server.summary()}; {100 * share:.0f} % of a processor, {priority} real-time priority")
    finally:
        server.close()


def _built(scene: str, names: list[str], instrument: str | None) -> tr.Scene:
    from trocar.robot.controller.constants import PERIOD

    built = tr.load_scene(scene, arms=names, timestep=PERIOD)
    if instrument is None:
        return built
    carriers = [name for name in names if built.arms[name].arm.carries == "instrument"]
    return built.changed({name: {"instrument": instrument} for name in carriers})


def _show(scene: str, names: list[str], instrument: str | None, address: tuple[str, int]) -> None:
    """A page of the served arms, in a process of its own."""
    from trocar.transports.fpga.watch import BoardWatch

    with VIEW.needed():
        from trocar.view.pages import scene_page

    with ExitStack() as running:
        watch = BoardWatch(_built(scene, names, instrument), address)
        running.callback(watch.close)
        page = open_page(running, partial(scene_page, source=watch.frame))
        typer.echo(f"page: {page.address}")
        page.wait()


def _publish_truth(
    address: tuple[str, int],
    joints: dict[str, tuple[str, ...]],
    tools: list[str],
    domain: int,
    interface: str,
    rate: float,
) -> None:
    """Topics of the truth, in a process of its own."""
    from trocar.transports.fpga.truth_topics import TruthTopics

    with TruthTopics(address, joints, tools, domain, interface) as topics:
        due = time.monotonic()
        while True:
            topics.publish()
            due = max(due + 1.0 / rate, time.monotonic() - 1.0)
            time.sleep(max(due - time.monotonic(), 0.0))
