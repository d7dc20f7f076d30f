"""Clients of a robot in ROS 2 that send valid, invalid and hostile commands, and leave and come."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import Counter
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from cyclonedds.core import DDSException

from tests.support.ros_samples import damaged, random_message
from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.robot.interface import Direction, Topic
from trocar.transports.codec import codec
from trocar.transports.ros2.client import Ros2Client
from trocar.transports.ros2.domain import FIRST_PORT, PORTS
from trocar.transports.ros2.participant import Participant, sample_class

VISIT = (2.0, 20.0)  # time that a client stays [s]
ANSWER = 1.0  # time that it waits for an answer, which invalid calls do not get [s]
PAUSE = 0.005  # mean time between two commands [s]
HUGE = 2**21  # bytes of a sample that is longer than any command
ANNOUNCING_PORTS = 80  # of a domain that receive garbage
STATES = ("enable", "disable", "home", "unhome", "pause", "resume", "jump")
STATE_ODDS = (0.35, 0.03, 0.4, 0.01, 0.04, 0.15, 0.02)
# Actions and their odds
ODDS = {"near": 0.4, "state": 0.06, "random": 0.25, "damaged": 0.2, "call": 0.05, "garbage": 0.035, "huge": 0.005}


class RoughClient:
    """Random commands of one client, reproducible up to the timing.

    Args:
        counts: of the actions so far, by kind. stay: shortest and longest time of a visit [s].
    """

    def __init__(
        self, domain: int, rng: np.random.Generator, counts: Counter[str], stay: tuple[float, float] = VISIT
    ) -> None:
        self._domain, self._rng, self._counts, self._stay = domain, rng, counts, stay

    def visit(self) -> None:
        """Join the domain, send commands for a random time, leave."""
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with Ros2Client(self._domain) as client, Participant(self._domain) as participant, udp as raw:
            self._client, self._participant, self._raw = client, participant, raw
            client.call_timeout = ANSWER
            self._writers: dict[str, Any] = {}
            self._commands = [topic for topic in client.topics.values() if topic.direction is Direction.command]
            self._states = [topic for topic in self._commands if topic.name.endswith("/state_command")]
            self._texts = [topic for topic in self._commands if topic.ros == "std_msgs/String"]
            self._positions = self._last_positions()
            self._counts["visits"] += 1
            end = time.monotonic() + self._rng.uniform(*self._stay)
            while self._states and self._texts and client.services and time.monotonic() < end:
                kind = str(self._rng.choice(list(ODDS), p=list(ODDS.values())))
                with contextlib.suppress(TrocarError, DDSException):  # refused: as good as sent
                    getattr(self, f"_send_{kind}")()
                self._counts[kind] += 1
                time.sleep(self._rng.exponential(PAUSE))

    def _last_positions(self) -> dict[str, np.ndarray]:
        """Joint setpoints of all arms that send them."""
        names = [name for name in self._client.topics if name.endswith("setpoint_js") and "gravity" not in name]
        messages = {name.removesuffix("setpoint_js"): self._client.read(name) for name in names}
        return {arm: np.array(js.position) for arm, js in messages.items() if isinstance(js, m.JointState)}

    def _write(self, topic: Topic, cdr: bytes) -> None:
        if topic.name not in self._writers:
            self._writers[topic.name] = self._participant.topic_writer(topic)
        self._writers[topic.name].write(sample_class(topic.ros)(cdr))

    def _send_near(self) -> None:
        """A joint command near the setpoint at the beginning of the visit."""
        if not self._positions:
            return
        prefix = str(self._rng.choice(list(self._positions)))
        q = self._positions[prefix] + 0.02 * self._rng.standard_normal(len(self._positions[prefix]))
        name = prefix + str(self._rng.choice(["servo_jp", "servo_jp", "move_jp", "servo_jf"]))
        command = m.JointState(effort=0.05 * q) if name.endswith("f") else m.JointState(position=q)
        if (topic := self._client.topics.get(name)) is not None:
            self._write(topic, codec(2).encode(command, topic.ros))

    def _send_state(self) -> None:
        topic = self._states[self._rng.integers(len(self._states))]
        command = m.String(value=str(self._rng.choice(STATES, p=STATE_ODDS)))
        self._write(topic, codec(2).encode(command, topic.ros))

    def _send_random(self) -> None:
        topic = self._commands[self._rng.integers(len(self._commands))]
        self._write(topic, codec(2).bytes_of(random_message(topic.ros, self._rng, codec(2)), topic.ros))

    def _send_damaged(self) -> None:
        topic = self._commands[self._rng.integers(len(self._commands))]
        sample = codec(2).bytes_of(random_message(topic.ros, self._rng, codec(2)), topic.ros)
        self._write(topic, damaged(sample, self._rng))

    def _send_huge(self) -> None:
        topic = self._texts[self._rng.integers(len(self._texts))]
        self._write(topic, codec(2).encode(m.String(value="x" * HUGE), topic.ros))

    def _send_garbage(self) -> None:
        """A packet to a port of the domain, with or without the magic number of RTPS."""
        port = FIRST_PORT + PORTS * self._domain + int(self._rng.integers(ANNOUNCING_PORTS))
        head = b"RTPS" if self._rng.integers(2) else b""
        body = self._rng.integers(0, 256, self._rng.integers(0, 1400), dtype=np.uint8).tobytes()
        with contextlib.suppress(OSError):  # nobody listens on this port
            self._raw.sendto(head + body, ("127.0.0.1", port))

    def _send_call(self) -> None:
        services = list(self._client.services)
        name = services[self._rng.integers(len(services))]
        q = self._rng.normal(size=self._rng.integers(0, 9))
        T = np.eye(4)
        T[:3, 3] = 0.1 * self._rng.normal(size=3)
        arguments = {"forward_kinematics": (q,), "inverse_kinematics": (q, T), "actuator_to_joint_position": (q,)}
        self._client.call(name, *arguments.get(name.rpartition("/")[2], ()))


def rough_threads(domain: int, seed: int, number: int, stay: tuple[float, float], counts: Connection) -> None:
    """Clients that come one after the other in some threads, until the process is killed; sends counts of actions."""
    sending = threading.Lock()

    def visits(rng: np.random.Generator) -> None:
        while True:
            counter = Counter[str]()
            with contextlib.suppress(TrocarError):  # the domain is full for a moment
                RoughClient(domain, rng, counter, stay).visit()
            with sending:
                counts.send(dict(counter))

    seeds = np.random.SeedSequence(seed).spawn(number)
    threads = [threading.Thread(target=visits, args=(np.random.default_rng(each),)) for each in seeds]
    for thread in threads:
        thread.start()
