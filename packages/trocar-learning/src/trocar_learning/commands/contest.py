"""The peg transfer of the ICRA 2026 competition: `trocar serve contest`, and clients of `trocar score`."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trocar.commands.options import Domain, Interface, check_positive, option, pixels
from trocar.commands.serve import Distro, Rate, Speed, View, checked_domain, show_served
from trocar.commands.terminal import plain_errors, termination_interrupts
from trocar.errors import TrocarError, check_known, shown

if TYPE_CHECKING:
    from trocar.robot.robot import Robot
    from trocar.simulation import Scene
    from trocar.transports.camera import CameraSettings
    from trocar_learning.envs.contest_trial import ContestTrial
    from trocar_learning.envs.episode import Episode

IMAGE_RATE = 30.0  # of the competition's cameras [Hz]
BEGIN_TIMEOUT = 60.0  # real time until the first motion of a client [s]
END_TIMEOUT = 3.0  # real time in which a client ends after a signal [s]
POLL_INTERVAL = 0.05  # [s]


@plain_errors()
@termination_interrupts()
def contest(
    seed: Annotated[int, option("K", "Seed of the board's and the pegs' places.")] = 0,
    images: Annotated[float, option("HZ", "Rate of the images. 0: none.")] = IMAGE_RATE,
    image_size: Annotated[str, option("WxH", "Size of the images in pixels.")] = "1280x800",
    rate: Rate = 100.0,
    speed: Speed = 1.0,
    domain: Domain = None,
    interface: Interface = "lo",
    distro: Distro = "jazzy",
    view: View = False,
) -> None:
    """Serve the peg transfer of the ICRA 2026 competition in ROS 2: its board, topics and cameras.

    Example: [bold]trocar serve contest --seed 3 --view[/bold]

    Poses are relative to the left camera. Prints the score at the end. To run a client and score it:
    [bold]trocar score PegTransfer --client COMMAND[/bold]. Requires pip install 'trocar\\[ros2]'.
    """
    size = pixels("--image-size", image_size)
    check_positive(rate=rate, speed=speed)
    number = checked_domain(domain, interface, distro)
    from trocar.transports.ros2.bridge import Ros2Bridge

    with ExitStack() as running:
        robot, trial = open_contest(running, seed, speed)
        camera = contest_camera(robot.scene, images, size) if images else None
        ros: Any = {"domain": number, "interface": interface, "distro": distro, "rate": rate, "speed": speed}
        bridge = running.enter_context(Ros2Bridge(robot, offered=trial.topics, camera=camera, **ros))
        place = f"ROS_DOMAIN_ID={number} on {interface}"
        typer.echo(f"serving the peg transfer, seed {seed}: {len(bridge.topics)} topics; {place}; press Ctrl-C to stop")
        if view:
            show_served(running, robot)
        reported = False
        try:
            while bridge.running and robot.error is None:
                bridge.wait(POLL_INTERVAL)
                if trial.over and not reported:
                    typer.echo(f"the trial is over: {trial}")
                    reported = True
        except KeyboardInterrupt:
            typer.echo(f"stopped: {trial}")
            return
        raise TrocarError(bridge.error or f"the simulation stopped: {robot.error!r}")


def contest_camera(scene: Scene, rate: float, size: tuple[int, int]) -> CameraSettings:
    """The competition's cameras in a scene."""
    from trocar.transports.camera import CameraSettings
    from trocar_learning.envs.contest_scene import PEG_TRANSFER

    return CameraSettings(scene, "stereo", rate=rate, size=size, fixed=PEG_TRANSFER.camera, compressed=False)


def open_contest(running: ExitStack, seed: int, pace: str | float = "real") -> tuple[Robot, ContestTrial]:
    """A live robot at the board of a seed, and its trial."""
    from trocar.robot.robot import Robot
    from trocar_learning.envs.contest_trial import ContestTrial, drawn_scene

    if seed < 0:
        raise TrocarError(f"--seed must be at least 0, got {seed}")
    robot = running.enter_context(Robot(drawn_scene(seed), speed=pace, start="ready"))
    return robot, running.enter_context(ContestTrial(robot))


def client_trial(
    command: str,
    seed: int,
    domain: int,
    settings: Mapping[str, Any],
    progress: Callable[[float], None],
) -> Episode:
    """Serve the board of a seed in ROS 2, run a client and judge it.

    The trial begins with the client's first command and ends after three minutes, when a peg leaves the workspace, or
    when the client ends by itself.

    Args:
        settings: `pictures`, the size of the images [pixels] or None for none. Default: that of the competition.
    """
    from trocar.transports.ros2.bridge import Ros2Bridge
    from trocar_learning.contest.peg_board import PIXELS
    from trocar_learning.envs.episode import Episode
    from trocar_learning.envs.tasks.peg_rules import DURATION

    check_known("setting of a client", ("pictures",), *settings)
    words = client_words(command)
    with ExitStack() as running:
        robot, trial = open_contest(running, seed)
        size = settings.get("pictures", PIXELS)
        camera = None if size is None else contest_camera(robot.scene, IMAGE_RATE, size)
        bridge = running.enter_context(Ros2Bridge(robot, domain=domain, offered=trial.topics, camera=camera))
        client = running.enter_context(_Client(words, domain))
        deadline = time.monotonic() + BEGIN_TIMEOUT
        while not trial.over and client.status is None:
            if robot.error is not None or not bridge.running:
                raise TrocarError(bridge.error or f"the simulation stopped: {robot.error!r}")
            if not trial.begun and time.monotonic() > deadline:
                raise TrocarError(f"the client {shown(command)} sent no motion within {BEGIN_TIMEOUT:g} s")
            progress(trial.time / DURATION)
            time.sleep(POLL_INTERVAL)
        if client.status:
            raise TrocarError(
                f"the client {shown(command)} ended with status {client.status} after {trial.time:.1f} s; "
                "run it by itself against trocar serve contest"
            )
        if not trial.begun:
            raise TrocarError(f"the client {shown(command)} ended without a motion")
        with robot.bus.lock:
            return Episode.of(seed, trial.info(), ended=trial.ended or ("" if trial.over else "the client ended"))


def client_words(command: str) -> list[str]:
    """Program and arguments of a client's command, as a shell splits them."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise TrocarError(f"the command {shown(command)} of --client is incomplete: {error}") from None
    if not words or "\0" in command:
        raise TrocarError(f"--client needs a command, such as 'python3 my_client.py', got {shown(command)}")
    if shutil.which(words[0]) is None:
        raise TrocarError(f"the program {shown(words[0])} of --client does not exist or cannot be executed")
    return words


class _Client:
    """A client in a process group of its own; the whole group ends with this object."""

    def __init__(self, words: list[str], domain: int) -> None:
        environment = os.environ | {"ROS_DOMAIN_ID": str(domain)}
        try:
            self._process = subprocess.Popen(words, env=environment, start_new_session=True, stdin=subprocess.DEVNULL)
        except OSError as error:
            raise TrocarError(f"the client {shown(words[0])} cannot be started: {error.strerror}") from None

    @property
    def status(self) -> int | None:
        """Exit status; None while it runs."""
        return self._process.poll()

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self._ended(number):
                return

    def _ended(self, number: int) -> bool:
        """Send a signal to the group; True if all its processes end in time."""
        deadline = time.monotonic() + END_TIMEOUT
        try:
            os.killpg(self._process.pid, number)
            while time.monotonic() < deadline:
                self._process.poll()  # an ended process belongs to its group until its status is read
                os.killpg(self._process.pid, 0)
                time.sleep(POLL_INTERVAL)
        except (ProcessLookupError, PermissionError):  # the latter on macOS, for a group of ended processes
            self._process.wait()
            return True
        return False
