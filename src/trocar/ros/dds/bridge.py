"""The simulation's end of the ROS 2 node: samples for readers, commands and calls from clients."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

from trocar.crtk.bus import Subscription
from trocar.crtk.interface import INTERFACES, RATE, Direction, Service
from trocar.crtk.messages import Message, OperatingState, String
from trocar.crtk.robot import Robot
from trocar.errors import TrocarError
from trocar.ros.dds import process
from trocar.ros.dds.domain import LOOPBACK, check_installed
from trocar.ros.dds.priority import prioritise
from trocar.ros.dds.protocol import (
    Answer,
    Call,
    Commands,
    Failed,
    Readers,
    Ready,
    Refused,
    Samples,
    Settings,
    receive,
    send,
)
from trocar.ros.dds.template import Template

DISTROS = ("jazzy", "humble")
START = 60.0  # longest start of the cyclonedds process [s]
MOST_AT_ONCE = 20  # topics of several devices that are sampled after one control cycle
MOST_WAITING = 100  # queued messages and groups of samples
REPEATED = 1.0  # interval of repeating operating_state, for readers that do not request the last one [s]

Stamped = tuple[int, Message, int]  # number of the topic, message, stamp by the clock of ROS [ns]


class Bridge:
    """The topics and services of a robot in ROS 2, until `close`.

    Args:
        robot: robot in real time, or advanced by the caller. rate: rate of state topics [Hz].
        domain: ROS_DOMAIN_ID of the clients. interface: network interface, by name or IP address.
        distro: "jazzy" (all distributions from Iron on) or "humble"; the announcement of the node depends on it.
        hold_when_lost: an arm holds its position when a client that commanded an effort disconnects. False: the arm
            keeps the effort, as on the robot.

    Attributes:
        services: offered services. error: reason for the end of the node, if it ended.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        rate: float = RATE,
        domain: int = 0,
        interface: str = LOOPBACK,
        distro: str = "jazzy",
        hold_when_lost: bool = True,
    ) -> None:
        if not (math.isfinite(rate) and 0.0 < rate <= 1500.0):
            raise TrocarError(f"the rate must be above 0 and at most 1500 Hz, got {rate}")
        check_installed()
        self._robot, self._bus, self._period = robot, robot.bus, round(1e9 / rate)
        self._due, self._pending = 0, deque[list[int]]()  # next sampling by the robot's clock [ns]; parts of this one
        self._topics = tuple(self._bus.topics.values())
        self._names = {topic.name for topic in self._topics}
        self._templates = [Template(topic.ros) for topic in self._topics]
        self.services = tuple(
            Service(f"{device}/{service.name}", service.ros)
            for device, kind in robot.devices.items()
            for service in INTERFACES[kind].services
        )
        self._states: dict[int, tuple[Message, int]] = {}  # last sent operating states with their stamps
        self._read: set[int] = set()
        self._sent: dict[int, int] = {}  # stamp of the last sample of a state topic, by the robot's clock
        self._stamps = [0] * len(self._topics)  # of the last message of a topic, by the wall clock
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._ended = threading.Event()
        self.error = ""
        self._start(Settings(self._topics, self.services, domain, interface, distro, hold_when_lost))
        self._subscriptions: list[Subscription] = []
        for number, topic in enumerate(self._topics):
            if topic.direction is Direction.event:
                self._subscriptions.append(self._bus.subscribe(topic.name, self._passing(number)))
        self._threads = [threading.Thread(target=part, daemon=True) for part in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()
        robot.after_cycle.append(self._sample)

    def _start(self, settings: Settings) -> None:
        """Start the cyclonedds process."""
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=process.run, args=(other, settings), name="trocar-ros2", daemon=True)
        self._process.start()
        other.close()
        try:
            said = receive(self._pipe) if self._pipe.poll(START) else Failed(f"no answer within {START:.0f} s")
        except EOFError:
            said = Failed("its process ended")
        if not isinstance(said, Ready):
            self._stop_process()
            raise TrocarError(f"the ROS 2 node did not start: {said.reason}")

    @property
    def running(self) -> bool:
        return not self._ended.is_set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the node ends, or for a time [s]."""
        self._ended.wait(timeout)

    def close(self) -> None:
        """End the node and its process."""
        self._ended.set()
        self._robot.after_cycle.remove(self._sample)
        for subscription in self._subscriptions:
            subscription.close()
        self._said.put(None)
        for thread in self._threads:
            thread.join(timeout=5.0)
        self._stop_process()

    def _stop_process(self) -> None:
        self._process.join(timeout=5.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- to DDS --------------------------------------------------------------------------------------------------------

    def _passing(self, number: int) -> Callable[[Message], None]:
        """A callback that sends an event.

        Samples of the device are sent before a change of its operating state: a client that sees the end of a motion
            must
        see the arm at its goal.
        """
        device = self._topics[number].name.rpartition("/")[0]

        def send_event(event: Message) -> None:
            samples: list[Stamped] = []
            if isinstance(event, OperatingState):
                read = [n for n in tuple(self._read) if self._topics[n].name.startswith(f"{device}/")]
                samples = self._samples(
                    read, again=True
                )  # within a cycle, the content may change while the stamp does not
            self._said.put([*samples, (number, event, self._by_wall_clock(number, event))])

        return send_event

    def _by_wall_clock(self, number: int, message: Message) -> int:
        """Stamp of a message by the clock of ROS, later than the one before; call it with the bus locked.

        Clients compare stamps with the time of their commands, and a robot on a busy machine lags behind.
        """
        if not message.valid:
            return 0
        stamp = max(message.stamp - self._robot.now + time.time_ns(), self._stamps[number] + 1)
        self._stamps[number] = stamp
        return stamp

    def _sample(self) -> None:
        """Sample some of the topics with readers after a control cycle, so that no other thread waits for the bus."""
        if not self._pending and self._robot.now >= self._due and self._read and self._said.qsize() < MOST_WAITING:
            self._due = max(self._due, self._robot.now - self._period) + self._period
            self._pending.extend(self._parts(self._read))
        if self._pending:
            self._said.put(self._samples(self._pending.popleft()))

    def _send(self) -> None:
        """Encode and send samples, events and answers: the only thread that writes to the pipe."""
        prioritise()
        repeat = time.perf_counter() + REPEATED
        while True:
            try:
                said = self._said.get(timeout=max(repeat - time.perf_counter(), 0.0))
            except queue.Empty:
                repeat = time.perf_counter() + REPEATED
                said = self._repetitions()
            if isinstance(said, list):
                said = self._packed(said)
                if not said.samples:
                    continue
            try:
                send(self._pipe, said)
            except OSError:
                return
            if said is None:
                return

    def _packed(self, messages: Sequence[Stamped]) -> Samples:
        """Bytes of messages; keeps operating states for repetition."""
        self._states |= {n: (message, stamp) for n, message, stamp in messages if isinstance(message, OperatingState)}
        return Samples(tuple((n, self._templates[n].pack(message, stamp)) for n, message, stamp in messages))

    def _samples(self, numbers: Iterable[int], again: bool = False) -> list[Stamped]:
        """Current samples, without those already sent unless `again`; call it with the bus locked."""
        new: list[Stamped] = []
        for number in numbers:
            message = self._bus.read(self._topics[number].name)
            if message is None or (not again and message.valid and message.stamp == self._sent.get(number)):
                continue
            self._sent[number] = message.stamp
            new.append((number, message, self._by_wall_clock(number, message)))
        return new

    def _parts(self, numbers: Iterable[int]) -> Iterator[list[int]]:
        """Groups of topics to sample together: those of one device, or of several devices with few topics."""
        part: list[int] = []
        for _, device in itertools.groupby(sorted(numbers), lambda number: self._topics[number].name.partition("/")[0]):
            own = list(device)
            if part and len(part) + len(own) > MOST_AT_ONCE:
                yield part
                part = []
            part += own
        if part:
            yield part

    def _repetitions(self) -> list[Stamped]:
        """The operating states again, 1 ns later: new for a client, but not later than a command it has just sent."""
        repeated: list[Stamped] = []
        with self._bus.lock:
            for number, (message, stamp) in self._states.items():
                if self._stamps[number] == stamp:  # otherwise a newer one is about to be sent
                    self._stamps[number] = stamp + 1
                    repeated.append((number, message, stamp + 1))
        return repeated

    # -- from DDS ------------------------------------------------------------------------------------------------------

    def _receive(self) -> None:
        prioritise()
        try:
            while True:
                said = receive(self._pipe)
                if isinstance(said, Failed):
                    self.error = "" if self._ended.is_set() else said.reason
                    break
                self._carry_out(said)
        except (EOFError, OSError):
            if not self._ended.is_set():
                self.error = "the process of the ROS 2 node ended"
        self._ended.set()

    def _carry_out(self, said: Any) -> None:
        if isinstance(said, Commands):
            for number, message in said.messages:
                try:
                    self._bus.publish(self._topics[number].name, message)
                except Exception as error:  # no message may prevent the next one from being handled
                    self._warn(number, str(error) or type(error).__name__)
        elif isinstance(said, Refused):
            self._warn(said.topic, said.reason)
        elif isinstance(said, Call):
            self._said.put(self._answer(said))
        elif isinstance(said, Readers):
            if not said.some:
                self._read.discard(said.topic)
                return
            self._read.add(said.topic)
            with self._bus.lock:
                self._said.put(self._samples((said.topic,), again=True))

    def _answer(self, call: Call) -> Answer:
        try:
            result = self._bus.call(call.service, *call.arguments)
            if isinstance(result, Message) and result.valid:
                result = replace(result, stamp=result.stamp - self._robot.now + time.time_ns())
            return Answer(call.number, result)
        except Exception as error:
            return Answer(call.number, None, str(error) or type(error).__name__)

    def _warn(self, number: int, reason: str) -> None:
        """Publish the reason for a rejected command as the device's `warning`, if it has this topic."""
        device, _, command = self._topics[number].name.rpartition("/")
        while device and f"{device}/warning" not in self._names:
            device, _, part = device.rpartition("/")
            command = f"{part}/{command}"
        if device:
            self._bus.publish(f"{device}/warning", String(value=f"{device}: {command} refused: {reason}"))
