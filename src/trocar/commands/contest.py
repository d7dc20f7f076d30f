"""The peg transfer of the ICRA 2026 competition: `trocar serve peg_transfer`, and clients of `trocar score`."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import typer

from trocar.commands.options import pixels
from trocar.commands.view import open_page
from trocar.errors import TrocarError, shown

if TYPE_CHECKING:
    from trocar.envs.scoring import ScoredTrial
    from trocar.robot.contest import ContestTrial
    from trocar.robot.robot import Robot
    from trocar.simulation import Scene
    from trocar.transports.camera import CameraSettings

CONTEST = "peg_transfer"  # its name among scenes and tasks
IMAGE_SIZE = "--image-size"
IMAGE_RATE = 30.0  # of the competition's cameras [Hz]
BEGIN_TIMEOUT = 60.0  # real time until the first motion of a client [s]
END_TIMEOUT = 3.0  # real time in which a client ends after a signal [s]
POLL_INTERVAL = 0.05  # [s]


def contest_camera(scene: Scene, rate: float | None, size: str | None) -> CameraSettings:
    """The competition's cameras in a scene."""
    from trocar.appearance.camera_place import CameraPlace
    from trocar.simulation.contest.peg_board import BASELINE, PIXELS, VIEW, T_world_camera
    from trocar.transports.camera import CameraSettings

    fixed = CameraPlace(T_world_camera(), float(VIEW), BASELINE)
    chosen_size = PIXELS if size is None else pixels(IMAGE_SIZE, size)
    chosen = IMAGE_RATE if rate is None else rate
    return CameraSettings(scene, "stereo", rate=chosen, size=chosen_size, fixed=fixed, compressed=False)


def open_contest(running: ExitStack, seed: int, pace: str | float = "real") -> tuple[Robot, ContestTrial]:
    """A live robot at the board of a seed, and its trial."""
    from trocar.robot.contest import ContestTrial, drawn_scene
    from trocar.robot.robot import Robot

    if seed < 0:
        raise TrocarError(f"--seed must be at least 0, got {seed}")
    robot = running.enter_context(Robot(drawn_scene(seed), speed=pace, start="ready"))
    return robot, running.enter_context(ContestTrial(robot))


def serve_contest(seed: int, images: float | None, size: str | None, page: int | None, **options: Any) -> None:
    """Serve the peg transfer in ROS 2 until Ctrl-C, then print the score.

    Args:
        images: rate of the cameras [Hz]. page: port of the page; None for none. options: of `Ros2Bridge`.
    """
    from trocar.robot.contest import score_line
    from trocar.transports.ros2.bridge import Ros2Bridge

    if size is not None:
        pixels(IMAGE_SIZE, size)
    with ExitStack() as running:
        robot, trial = open_contest(running, seed, options["speed"])
        camera = None if images == 0 else contest_camera(robot.scene, images, size)
        bridge = running.enter_context(Ros2Bridge(robot, offered=trial.topics, camera=camera, **options))
        place = f"ROS_DOMAIN_ID={options['domain']} on {options['interface']}"
        typer.echo(f"serving the peg transfer, seed {seed}: {len(bridge.topics)} topics; {place}; press Ctrl-C to stop")
        if page is not None:
            typer.echo(f"page: {open_page(running, 'served_page', robot, port=page).address}")
        reported = False
        try:
            while bridge.running and robot.error is None:
                bridge.wait(POLL_INTERVAL)
                if trial.over and not reported:
                    typer.echo(f"the trial is over: {score_line(trial.score)}")
                    reported = True
        except KeyboardInterrupt:
            typer.echo(f"stopped: {score_line(trial.score)}")
            return
        raise TrocarError(bridge.error or f"the simulation stopped: {robot.error!r}")


def client_trial(
    command: str,
    seed: int,
    domain: int,
    images: tuple[float | None, str | None],
    progress: Callable[[float], None],
) -> ScoredTrial:
    """Serve the board of a seed in ROS 2, run a client and referee it.

    The trial begins with the client's first command and ends after three minutes, when a peg leaves the workspace, or
    when the client ends by itself.

    Args:
        images: rate [Hz] and size of the images. Default: those of the competition.
    """
    from trocar.simulation.contest import DURATION
    from trocar.transports.ros2.bridge import Ros2Bridge

    words = client_words(command)
    with ExitStack() as running:
        robot, trial = open_contest(running, seed)
        camera = None if images[0] == 0 else contest_camera(robot.scene, *images)
        bridge = running.enter_context(Ros2Bridge(robot, domain=domain, offered=trial.topics, camera=camera))
        client = running.enter_context(_Client(words, domain))
        deadline = time.monotonic() + BEGIN_TIMEOUT
        while not trial.over and client.status is None:
            if robot.error is not None or not bridge.running:
                raise TrocarError(bridge.error or f"the simulation stopped: {robot.error!r}")
            if not trial.begun and time.monotonic() > deadline:
                raise TrocarError(f"the client {shown(command)} sent no motion within {BEGIN_TIMEOUT:g} s")
            progress(trial.score.time / DURATION)
            time.sleep(POLL_INTERVAL)
        if client.status:
            raise TrocarError(
                f"the client {shown(command)} ended with status {client.status} after {trial.score.time:.1f} s; "
                "run it by itself against trocar serve peg_transfer --ros2"
            )
        if not trial.begun:
            raise TrocarError(f"the client {shown(command)} ended without a motion")
        with robot.bus.lock:
            return contest_result(seed, trial, "" if trial.over else "the client ended")


def contest_result(seed: int, trial: ContestTrial, ended: str = "") -> ScoredTrial:
    """The trial of `trocar score` for a live one."""
    from trocar.envs.scoring import ScoredTrial
    from trocar.simulation.contest.peg_board import PEGS

    score = trial.score
    details: dict[str, Any] = {"points": score.points, "last_point": score.last_time}
    done = score.points >= len(PEGS)
    figures: Any = {"time": score.time, "path": sum(score.path.values()), "peak_force": score.peak_force}
    return ScoredTrial(seed, done, done, drops=score.drops, details=details, ended=score.ended or ended, **figures)


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
