"""Delays of a served robot in ROS 1, beside an echo that does nothing, in the same run."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import PathFinder
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from trocar.crtk import Robot
from trocar.crtk.interface import INTERFACES, Direction
from trocar.crtk.messages import Message
from trocar.errors import TrocarError
from trocar.ros import packages
from trocar.ros.bridge import LOOPBACK, START, Bridge
from trocar.ros.node import use_master
from trocar.spatial import Array

ARMS = ("PSM1", "PSM2", "PSM3", "ECM")
RATE = 250.0  # of servo commands to every arm [Hz]
JOINTS = "sensor_msgs/JointState"
SWING, FREQUENCY = 0.01, 0.5  # of the first joint about its setpoint [rad, Hz]
CONNECTION = 10.0  # longest time for all peers to be found [s]


@dataclass(frozen=True)
class _Task:
    """Commands to publish for a time [s], and topics to read meanwhile."""

    commands: tuple[str, ...]
    states: tuple[str, ...]
    seconds: float
    positions: tuple[Array, ...]


def missing() -> str:
    """Packages to install where ROS 1 is not there; "" where it is."""
    found = PathFinder.find_spec("rospy", [packages.DEBIAN]) is not None
    return "" if found else f"ROS 1 is missing; apt-get install {packages.NEEDED}"


def ros1_figures(
    rounds: int = 3, seconds: float = 5.0, scene: str = "dvrk", progress: Callable[[float], None] | None = None
) -> dict[str, float]:
    """Delays of commands and of samples over ROS 1 while four arms are simulated in real time.

    A client process sends servo_jp to four arms, 250 Hz each, and reads their measured_js at 100 Hz. For comparison it
    sends the same messages to a process that does nothing but send them back; the simulation runs then too. Rounds of
    both alternate. A command's delay is counted from the moment at which the client was due to send it until the robot,
    or the echo, has it; it is late after a period (4 ms). A sample's delay is counted from its measurement, that of an
    echo from the moment at which its command was due.
    """
    if rounds < 1 or not (np.isfinite(seconds) and seconds > 0.0):
        raise TrocarError(f"rounds must be 1 or more and seconds positive, got {rounds} and {seconds}")
    delays: dict[str, list[Array]] = {}
    late_cycles: dict[str, list[int]] = {"robot": [0, 0], "echo": [0, 0]}
    with Robot(scene, speed="real", start="ready", arms=ARMS) as robot, Bridge(robot) as bridge:
        echo, client = (_Helper(run, bridge.master) for run in (_echo, _client))
        try:
            connected = client.ask("PSM1")
            for k in range(rounds):
                for case in late_cycles:
                    before = robot.pace.cycles, robot.pace.late
                    found = _through_robot(robot, client, seconds) if case == "robot" else _through(echo, client, seconds)
                    for what, values in found.items():
                        delays.setdefault(f"{case}_{what}", []).append(values)
                    for i, now in enumerate((robot.pace.cycles, robot.pace.late)):
                        late_cycles[case][i] += now - before[i]
                if progress is not None:
                    progress((k + 1) / rounds)
        finally:
            echo.close()
            client.close()
        if robot.error is not None or bridge.error:
            raise TrocarError(f"the robot has stopped: {robot.error or bridge.error}")
    return _named({name: np.concatenate(parts) for name, parts in delays.items()}, late_cycles, connected)


def _named(delays: dict[str, Array], cycles: dict[str, list[int]], connected: float) -> dict[str, float]:
    """Figures of delays [s] by case and direction, and of control cycles."""
    found = {"check_connections_s": connected}
    for name, values in delays.items():
        found[f"{name}_median_ms"] = 1e3 * float(np.median(values))
        found[f"{name}_p99_ms"] = 1e3 * float(np.percentile(values, 99))
    for case in cycles:
        found[f"{case}_late_commands_percent"] = 100.0 * float(np.mean(delays[f"{case}_command"] > 1.0 / RATE))
    found["late_commands_above_echo_percentage_points"] = (
        found["robot_late_commands_percent"] - found["echo_late_commands_percent"]
    )
    for case, (count, late) in cycles.items():
        found[f"{case}_late_control_cycles_percent"] = 100.0 * late / max(1, count)
    return {f"ros1_{name}": value for name, value in found.items()}


def _through_robot(robot: Robot, client: _Helper, seconds: float) -> dict[str, Array]:
    """Delays [s] of commands and samples of the robot."""
    arrived: list[int] = []

    def note(message: Message) -> None:
        arrived.append(time.time_ns() - message.stamp)

    subscriptions = [robot.bus.subscribe(f"{arm}/servo_jp", note) for arm in ARMS]
    samples: list[Any] = [robot.bus.read(f"{arm}/setpoint_js") for arm in ARMS]
    positions = tuple(np.array(sample.position) for sample in samples)
    commands, states = (tuple(f"{arm}/{topic}" for arm in ARMS) for topic in ("servo_jp", "measured_js"))
    try:
        returned = client.ask(_Task(commands, states, seconds, positions))
    finally:
        for subscription in subscriptions:
            subscription.close()
    return {"command": 1e-9 * np.array(arrived), "sample": 1e-9 * np.array(returned)}


def _through(echo: _Helper, client: _Helper, seconds: float) -> dict[str, Array]:
    """Delays [s] of messages to the echo and back."""
    commands, states = (tuple(f"echo_{arm}/{way}" for arm in ARMS) for way in ("there", "back"))
    returned = client.ask(_Task(commands, states, seconds, (np.zeros(6),) * len(ARMS)))
    return {"command": 1e-9 * np.array(echo.ask(None)), "return": 1e-9 * np.array(returned)}


# -- processes ---------------------------------------------------------------------------------------------------------


class _Helper:
    """A process with rospy that answers what it is asked."""

    def __init__(self, run: Callable[[Connection, str, str], None], master: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=run, args=(other, master, packages.cache()), daemon=True)
        self._process.start()
        other.close()
        self._answer(START)

    def ask(self, question: Any) -> Any:
        self._pipe.send(question)
        return self._answer(600.0)

    def _answer(self, timeout: float) -> Any:
        try:
            if self._pipe.poll(timeout):
                return self._pipe.recv()
        except EOFError:
            pass
        raise TrocarError("a process of the measurement has ended or does not answer")

    def close(self) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.join()


def _rospy(name: str, master: str, folder: str) -> Any:
    """rospy, as a node of this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    packages.use_debian()
    packages.use_generated(Path(folder))
    use_master(master, LOOPBACK)
    import rospy

    rospy.init_node(name, argv=[name], disable_signals=True)
    return rospy


def _echo(pipe: Connection, master: str, folder: str) -> None:
    """Send every message back; asked, tell the delays of those since the last time [ns]."""
    rospy, kind = _rospy("echo", master, folder), packages.Classes()[JOINTS]
    arrived: list[int] = []

    def back(message: Any, publisher: Any) -> None:
        arrived.append(time.time_ns() - message.header.stamp.to_nsec())
        publisher.publish(message)

    for arm in ARMS:
        publisher = rospy.Publisher(f"/echo_{arm}/back", kind, queue_size=100, tcp_nodelay=True)
        rospy.Subscriber(f"/echo_{arm}/there", kind, back, publisher, queue_size=100, tcp_nodelay=True)
    pipe.send(None)
    while True:
        pipe.recv()
        count = len(arrived)
        pipe.send(arrived[:count])
        del arrived[:count]


def _client(pipe: Connection, master: str, folder: str) -> None:
    """Asked with a task, do it and tell the delays of the messages read [ns]; with an arm, how long connecting takes."""
    rospy, classes = _rospy("client", master, folder), packages.Classes()
    pipe.send(None)
    while True:
        task = pipe.recv()
        pipe.send(_connect(rospy, classes, task) if isinstance(task, str) else _stream(rospy, classes[JOINTS], task))


def _connect(rospy: Any, classes: packages.Classes, arm: str) -> float:
    """Time until all topics of a PSM have their peer [s]."""
    start, ends = time.perf_counter(), []
    for topic in INTERFACES["PSM"].topics:
        kind, name = classes[topic.ros], f"/{arm}/{topic.name}"
        command = topic.direction is Direction.command
        ends.append(rospy.Publisher(name, kind, queue_size=10) if command else rospy.Subscriber(name, kind))
    _wait_for_peers(ends)
    taken = time.perf_counter() - start
    for end in ends:
        end.unregister()
    return taken


def _wait_for_peers(ends: list[Any]) -> None:
    deadline = time.perf_counter() + CONNECTION
    while not all(end.get_num_connections() for end in ends):
        if time.perf_counter() > deadline:
            raise TimeoutError("no peer")
        time.sleep(0.001)


def _stream(rospy: Any, kind: Any, task: _Task) -> list[int]:
    """Publish at the rate for a while; delays of the messages read meanwhile [ns]."""
    arrived: list[int] = []

    def note(message: Any) -> None:
        arrived.append(time.time_ns() - message.header.stamp.to_nsec())

    readers = [rospy.Subscriber(f"/{name}", kind, note, queue_size=100, tcp_nodelay=True) for name in task.states]
    writers = [rospy.Publisher(f"/{name}", kind, queue_size=100, tcp_nodelay=True) for name in task.commands]
    _wait_for_peers(readers + writers)
    time.sleep(0.2)
    del arrived[:]
    messages = [kind(position=position.tolist()) for position in task.positions]
    start = time.time_ns()
    for k in range(round(task.seconds * RATE)):
        due = start + round(k * 1e9 / RATE)
        time.sleep(max(due - time.time_ns(), 0) * 1e-9)
        swing = SWING * np.sin(2.0 * np.pi * FREQUENCY * k / RATE)
        for writer, message, position in zip(writers, messages, task.positions, strict=True):
            message.header.stamp.secs, message.header.stamp.nsecs = divmod(due, 10**9)
            message.position[0] = float(position[0] + swing)
            writer.publish(message)
    time.sleep(0.2)
    for end in (*readers, *writers):
        end.unregister()
    return list(arrived)
