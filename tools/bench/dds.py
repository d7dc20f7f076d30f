"""Round trips over DDS at a high rate, of a served robot in real time and of a bare echo in the same run.

A client in a separate process sends `servo_jp` to several arms at a fixed rate and detects each command in
`setpoint_js`. The bare echo is a third process that returns the client's bytes. The simulation runs during both. Short
rounds of both alternate, because the load of a machine changes. Client and echo are ordinary processes, without the
node's priority.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from tools.bench.processes import Answering
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.interface import Direction, Topic
from trocar.robot.messages import JointState
from trocar.transports.codec import Decoder, Encoder, codec
from trocar.transports.link import receive, send
from trocar.transports.ros2.bridge import Ros2Bridge
from trocar.transports.ros2.domain import check_installed

JOINTS = "sensor_msgs/JointState"
SWING = 1e-3  # amplitude of the first joint of every arm [rad]
DISCOVERY = 1.0  # time for discovery of endpoints [s]
NO_TIME = 1e-6  # shortest wait for samples [s]
LATE = 2.0  # periods after the last sample from which the next one is late


@dataclass(frozen=True)
class Line:
    """A pair of topics on which a command comes back as a state, and the positions that are commanded [rad, m]."""

    command: str
    state: str
    position: tuple[float, ...]


@dataclass(frozen=True)
class Trips:
    """Times of a number of commands.

    Attributes:
        round_trips: from writing a command to receiving the state that contains it [s]. gaps: between states [s].
        cycles: between the cycles of the client [s].
    """

    round_trips: tuple[float, ...] = ()
    gaps: tuple[float, ...] = ()
    cycles: tuple[float, ...] = ()

    def __add__(self, other: Trips) -> Trips:
        return Trips(self.round_trips + other.round_trips, self.gaps + other.gaps, self.cycles + other.cycles)


def figures(
    rounds: int = 4,
    progress: Callable[[float], None] = lambda _: None,
    *,
    scene: str = "dvrk",
    arms: int = 4,
    rate: float = 1000.0,
    seconds: float = 2.0,
    domain: int = 83,
) -> dict[str, float]:
    """Figures of both by name; late: share of states more than two periods after the last one [%].

    `client_..._late_percent` is the same share of the client's own cycles, in which it sends one command to every arm.
    `dds_prioritised` is 1 if the node has real-time priority. `dds_loop_..._late_percent` is the share of control
    cycles of 1/1500 s that begin more than a period late, while nothing is sent, during the echo and while the robot is
    served.
    """
    check_installed()
    if rounds < 1 or not (np.isfinite(seconds) and seconds > 0.0):
        raise TrocarError(f"rounds must be 1 or more and seconds positive, got {rounds} and {seconds}")
    with Robot(scene, speed="real", start="ready") as robot:
        names = robot.arms[:arms]
        if len(names) < arms:
            raise TrocarError(f"the scene {scene} has {len(names)} arms, but {arms} are required")
        named: dict[str, float] = {"arms": arms, "rate_hz": rate, "load_1min": os.getloadavg()[0]}
        with (
            Ros2Bridge(robot, rate=rate, domain=domain) as bridge,
            Answering(echo, domain, len(names)),
            Answering(client, domain) as sender,
        ):
            time.sleep(DISCOVERY)
            named["prioritised"] = float(bridge.prioritised)
            parts: dict[str, Callable[[], Trips]] = {
                "idle": lambda: _idle(seconds),
                "echo": lambda: sender.ask((echo_lines(len(names)), rate, seconds)),
                "served": lambda: sender.ask((arm_lines(robot, names), rate, seconds)),
            }
            trips = {part: Trips() for part in parts}
            cycles = {part: np.zeros(3) for part in parts}  # cycles, late ones, time [s]
            for number in range(rounds):
                for part, run in parts.items():
                    before = np.array([robot.pace.cycles, robot.pace.late, time.perf_counter()])
                    trips[part] += run()
                    cycles[part] += np.array([robot.pace.cycles, robot.pace.late, time.perf_counter()]) - before
                progress((number + 1) / rounds)
    for part, (count, late, elapsed) in cycles.items():
        named[f"loop_{part}_hz"] = count / elapsed
        named[f"loop_{part}_late_percent"] = 100.0 * late / max(count, 1)
        named |= {} if part == "idle" else _part_figures(part, trips[part], rate)
    for what in ("", "client_", "loop_"):
        difference = named[f"{what}served_late_percent"] - named[f"{what}echo_late_percent"]
        named[f"{what}late_above_echo_percentage_points"] = difference
    return {f"dds_{name}": value for name, value in named.items()}


def _idle(seconds: float) -> Trips:
    time.sleep(seconds)
    return Trips()


def _part_figures(part: str, trips: Trips, rate: float) -> dict[str, float]:
    times, gaps = np.array(trips.round_trips), np.array(trips.gaps)
    if not len(times) or not len(gaps):
        raise TrocarError(f"no answer came in the part {part}")
    return {
        f"{part}_us": 1e6 * float(np.median(times)),
        f"{part}_p99_us": 1e6 * float(np.percentile(times, 99)),
        f"{part}_late_percent": 100.0 * float(np.mean(gaps > LATE / rate)),
        f"{part}_received_hz": 1.0 / float(np.mean(gaps)),
        f"client_{part}_late_percent": 100.0 * float(np.mean(np.array(trips.cycles) > LATE / rate)),
    }


def echo_lines(count: int) -> list[Line]:
    return [Line(f"echo{n}/there", f"echo{n}/back", (0.0,) * 6) for n in range(count)]


def arm_lines(robot: Robot, arms: Sequence[str]) -> list[Line]:
    lines = []
    for arm in arms:
        setpoint = robot.bus.read(f"{arm}/setpoint_js")
        assert isinstance(setpoint, JointState)
        lines.append(Line(f"{arm}/servo_jp", f"{arm}/setpoint_js", tuple(setpoint.position)))
    return lines


def echo(pipe: Connection, domain: int, count: int) -> None:
    """Return every sample of the lines unchanged until the pipe is closed."""
    from trocar.transports.ros2.participant import Participant, taken, topic_name, topic_qos

    with Participant(domain) as participant:

        def write_all(reader: Any, writer: Any) -> None:
            for sample in taken(reader):
                writer.write(sample)

        for line in echo_lines(count):
            reader = participant.reader(topic_name(line.command), JOINTS, topic_qos(JOINTS, Direction.command))
            writer = participant.writer(topic_name(line.state), JOINTS, topic_qos(JOINTS, Direction.state))
            participant.on_samples(reader, partial(write_all, reader, writer))
        send(pipe, None)
        while not pipe.poll():
            for handler in participant.events.wait(0.2):
                handler()


def client(pipe: Connection, domain: int) -> None:
    """Measure every list of lines received from the pipe until it is closed."""
    send(pipe, None)
    while True:
        lines, rate, seconds = receive(pipe)
        send(pipe, measured(domain, lines, rate, seconds))


def measured(domain: int, lines: Sequence[Line], rate: float, seconds: float) -> Trips:
    """Send commands at a rate for some time and receive states meanwhile."""
    from trocar.transports.ros2.participant import Participant, sample_class, taken, topic_name, topic_qos

    with Participant(domain) as participant:
        ready: list[int] = []
        command, state = (topic_qos(JOINTS, direction) for direction in (Direction.command, Direction.state))
        writers = [participant.writer(topic_name(line.command), JOINTS, command) for line in lines]
        readers = [participant.reader(topic_name(line.state), JOINTS, state) for line in lines]
        for number, reader in enumerate(readers):
            participant.on_samples(reader, partial(ready.append, number))
        kind, encoders = sample_class(JOINTS), [Encoder(JOINTS, codec(2)) for _ in lines]
        decoders = [Decoder(Topic(line.state, JointState, Direction.state, JOINTS), codec(2)) for line in lines]
        sent: list[dict[float, float]] = [{} for _ in lines]  # time of writing by the first position
        last, round_trips, gaps, begun = [0.0] * len(lines), list[float](), list[float](), list[float]()
        time.sleep(DISCOVERY)
        for reader in readers:
            reader.take(10**4)  # discard earlier samples
        due, cycle = time.perf_counter(), 0
        end = due + seconds
        while due < end:
            cycle += 1
            begun.append(time.perf_counter())
            shift = SWING * np.sin(2.0 * np.pi * cycle / rate) + 1e-9 * cycle  # all different
            for number, line in enumerate(lines):
                position = np.array(line.position)
                position[0] += shift
                sample = kind(encoders[number](JointState(position=position), time.time_ns()))
                sent[number][float(position[0])] = time.perf_counter()
                writers[number].write(sample)
            due = max(due + 1.0 / rate, time.perf_counter() + NO_TIME)  # a late client skips commands, and also reads
            left = due - time.perf_counter()
            while left > 0.0:
                for handler in participant.events.wait(left):
                    handler()
                    number = ready.pop()
                    for sample in taken(readers[number]):
                        now = time.perf_counter()
                        received: Any = decoders[number](sample.cdr)
                        start = sent[number].pop(float(received.position[0]), None)
                        if start is not None:
                            round_trips.append(now - start)
                        if last[number]:
                            gaps.append(now - last[number])
                        last[number] = now
                left = due - time.perf_counter()
    return Trips(tuple(round_trips), tuple(gaps), tuple(np.diff(begun).tolist()))
