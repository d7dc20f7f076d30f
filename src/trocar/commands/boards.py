"""`trocar serve --fpga`: the dVRK's controller boards."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import trocar as tr
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.transports.fpga.server import BoardServer

HARDWARE = ("QLA1", "DQLA")
OUTPUT = Path("trocar-fpga")
CLASSIC_SCENE, SI_SCENE = "dvrk", "dvrk_si"


def serve_boards(
    scene: str,
    config: Path | None,
    arms: list[str],
    *,
    hardware: str,
    instrument: str | None,
    host: str,
    tools: bool,
    view: bool,
    ros2: tuple[int, str, float] | None = None,
) -> None:
    """Serve the boards of a system file, or of nominal files that are written first, until Ctrl-C.

    ros2: domain, interface and rate [Hz] of the truth as topics of ROS 2.
    """
    from trocar.transports.fpga import nominal
    from trocar.transports.fpga.bedside import Bedside
    from trocar.transports.fpga.controller import BoardController
    from trocar.transports.fpga.io_file import read_system
    from trocar.transports.fpga.plant import RobotPlant
    from trocar.transports.fpga.server import BoardServer

    check_known("boards", HARDWARE, hardware)
    configuration = None if config is None else read_system(config)
    if configuration is not None:
        if scene == CLASSIC_SCENE and "Si" in configuration.generations.values():
            scene = SI_SCENE
        names = [robot.name for robot in configuration.robots if robot.name in configuration.types]
        check_known(f"arm of {config}", names, *arms)
        names = arms or names
    else:
        built = tr.load_scene(scene)
        names = arms or [
            name for name in nominal.BOARDS if name in built.arms and built.arms[name].arm.name != "ECM_Si"
        ]
    if not names:
        raise TrocarError(f"{config} has no arm with an IO file next to it; there is nothing to simulate")
    built = _built(scene, names, instrument)
    if configuration is None:
        config = nominal.write_system(OUTPUT, built, names, hardware)
        configuration = read_system(config)
    plant = RobotPlant(built, configuration)
    if not tools:
        for name in plant.mounting.discs:
            plant.mounting.remove(name)
    server = BoardServer(BoardController(plant.boards, plant), Bedside(plant), host=host, report=typer.echo)
    boards = ", ".join(
        f"{number} ({kind.name})" for number, kind in zip(plant.boards.numbers, plant.boards.kinds, strict=True)
    )
    place = "this machine only" if host.startswith("127.") else "OPEN TO THE NETWORK"
    typer.echo(f"SIMULATED controller, not a robot: {', '.join(names)}; boards {boards}")
    typer.echo(f"UDP {host}:{server.address[1]} ({place}); hands, pedals and truth: UDP 127.0.0.1:1395")
    for note in plant.notes:
        typer.echo(f"note: {note}")
    numbers = " ".join(map(str, plant.boards.numbers))
    typer.echo(f'system file: {Path(str(config)).resolve()}; its "IOs" must have "port": "udp:{host}"')
    typer.echo(f"start the dVRK:   ros2 run dvrk_robot dvrk_system -j {Path(str(config)).resolve()}")
    typer.echo(f"or test programs: qladisp -pudp:{host} {numbers}")
    with ExitStack() as running:
        if view:  # another process draws; this one has no time to
            context = multiprocessing.get_context("spawn")
            page = context.Process(target=_show, args=(scene, names, instrument, server.bedside_address), daemon=True)
            page.start()
            running.callback(page.terminate)
        if ros2 is not None:
            joints = {name: tuple(joint.name for joint in arm.arm.joints) for name, arm in built.arms.items()}
            carriers = [name for name, arm in built.arms.items() if arm.arm.carries]
            context = multiprocessing.get_context("spawn")
            topics = context.Process(
                target=_publish_truth, args=(server.bedside_address, joints, carriers, *ros2), daemon=True
            )
            topics.start()
            running.callback(topics.terminate)
            typer.echo(f"truth in ROS 2: /truth/{names[0]}/..., ROS_DOMAIN_ID={ros2[0]} on {ros2[1]}, {ros2[2]:g} Hz")
        _run(server)


def _run(server: BoardServer) -> None:
    started, used = time.monotonic(), time.process_time()
    try:
        server.serve()
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
    from trocar.commands.view import open_page
    from trocar.transports.fpga.watch import BoardWatch

    with ExitStack() as running, suppress(KeyboardInterrupt):
        watch = BoardWatch(_built(scene, names, instrument), address)
        running.callback(watch.close)
        page = open_page(running, "scene_page", watch.frame)
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

    with suppress(KeyboardInterrupt), TruthTopics(address, joints, tools, domain, interface) as topics:
        due = time.monotonic()
        while True:
            topics.publish()
            due = max(due + 1.0 / rate, time.monotonic() - 1.0)
            time.sleep(max(due - time.monotonic(), 0.0))
