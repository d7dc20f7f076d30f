"""Delays of a served robot in ROS 1, compared with a bare echo node in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np

from tools.bench.processes import Answering
from tools.bench.ros1_nodes import RATE, Task, client, echo
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.messages import Message
from trocar.spatial import Array
from trocar.transports.ros1.bridge import Ros1Bridge
from trocar.transports.ros1.debian import missing

ARMS = ("PSM1", "PSM2", "PSM3", "ECM")


def figures(
    rounds: int = 10,
    progress: Callable[[float], None] = lambda _: None,
    *,
    seconds: float = 1.5,
    scene: str | PathLike[str] = "cart_classic",
    arms: tuple[str, ...] = ARMS,
) -> dict[str, float]:
    """Delays of commands and of samples over ROS 1 while four arms are simulated in real time.

    A client process sends servo_jp to four arms, 250 Hz each, and reads their measured_js at 100 Hz. For comparison it
    sends the same messages to a process that only returns them, while the simulation also runs. Short rounds of both
    alternate, because the load of a machine changes.

    A command's delay is measured from its scheduled sending time until the robot, or the echo, receives it; it is late
    after a period (4 ms). A sample's delay is measured from its measurement, that of an echo from the scheduled time of
    its command.
    """
    if rounds < 1 or not (np.isfinite(seconds) and seconds > 0.0):
        raise TrocarError(f"rounds must be 1 or more and seconds positive, got {rounds} and {seconds}")
    if missing():
        raise TrocarError(missing())
    delays: dict[str, list[Array]] = {}
    late_cycles: dict[str, list[int]] = {"robot": [0, 0], "echo": [0, 0]}
    with (
        Robot(scene, speed="real", start="ready", arms=arms) as robot,
        Ros1Bridge(robot) as bridge,
        Answering(echo, bridge.master) as other,
        Answering(client, bridge.master) as sender,
    ):
        connected = sender.ask(arms[0])
        for k in range(rounds):
            for case in late_cycles:
                before = robot.pace.cycles, robot.pace.late
                through = _through_robot(robot, sender, arms, seconds) if case == "robot" else None
                for what, values in (through or _through(other, sender, arms, seconds)).items():
                    delays.setdefault(f"{case}_{what}", []).append(values)
                for i, now in enumerate((robot.pace.cycles, robot.pace.late)):
                    late_cycles[case][i] += now - before[i]
            progress((k + 1) / rounds)
        if robot.error is not None or bridge.error:
            raise TrocarError(f"the robot stopped: {robot.error or bridge.error}")
    return _named({name: np.concatenate(parts) for name, parts in delays.items()}, late_cycles, connected)


def _named(delays: dict[str, Array], cycles: dict[str, list[int]], connected: float) -> dict[str, float]:
    """Figures of delays [s] by case and direction, and of control cycles."""
    named = {"check_connections_s": connected}
    for name, values in delays.items():
        named[f"{name}_median_ms"] = 1e3 * float(np.median(values))
        named[f"{name}_p99_ms"] = 1e3 * float(np.percentile(values, 99))
    for case in cycles:
        named[f"{case}_late_commands_percent"] = 100.0 * float(np.mean(delays[f"{case}_command"] > 1.0 / RATE))
    named["late_commands_above_echo_percentage_points"] = (
        named["robot_late_commands_percent"] - named["echo_late_commands_percent"]
    )
    for case, (count, late) in cycles.items():
        named[f"{case}_late_control_cycles_percent"] = 100.0 * late / max(1, count)
    return {f"ros1_{name}": value for name, value in named.items()}


def _through_robot(robot: Robot, sender: Answering, arms: tuple[str, ...], seconds: float) -> dict[str, Array]:
    """Delays [s] of commands and samples of the robot."""
    arrived: list[int] = []

    def note(message: Message) -> None:
        arrived.append(time.time_ns() - message.stamp)

    subscriptions = [robot.bus.subscribe(f"{arm}/servo_jp", note) for arm in arms]
    samples: list[Any] = [robot.bus.read(f"{arm}/setpoint_js") for arm in arms]
    positions = tuple(np.array(sample.position) for sample in samples)
    commands, states = (tuple(f"{arm}/{topic}" for arm in arms) for topic in ("servo_jp", "measured_js"))
    try:
        returned = sender.ask(Task(commands, states, seconds, positions))
    finally:
        for subscription in subscriptions:
            subscription.close()
    return {"command": 1e-9 * np.array(arrived), "sample": 1e-9 * np.array(returned)}


def _through(other: Answering, sender: Answering, arms: tuple[str, ...], seconds: float) -> dict[str, Array]:
    """Delays [s] of messages to the echo and back."""
    commands, states = (tuple(f"echo_{k}/{way}" for k in range(len(arms))) for way in ("there", "back"))
    returned = sender.ask(Task(commands, states, seconds, (np.zeros(6),) * len(arms)))
    return {"command": 1e-9 * np.array(other.ask(None)), "return": 1e-9 * np.array(returned)}
