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
from functools import partial
from typing import Any, Self

from trocar.crtk.bus import Subscription
from trocar.crtk.interface import INTERFACES, RATE, Direction, Service
from trocar.crtk.messages import Empty, Message, OperatingState, String
from trocar.crtk.robot import Robot
from trocar.errors import TrocarError
from trocar.ros.camera import Camera, CameraSettings
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
from trocar.ros.scene_topics import INTERVALS, SceneTopics

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
        distro: "jazzy" or "humble", as the node must be announced; jazzy stands for all from Iron on.
        description: URDF for the topic robot_description; "" for none.
        speed: of the robot relative to real time. Other than 1: stamps are by the robot's clock, which is published as
            /clock. 1: stamps are by the wall clock.
        camera: publish images of an endoscope.
        hold_when_lost: let an arm hold its position when a client has gone that commanded an effort. False: the arm
            keeps the effort, as the robot does.

    Attributes:
        topics, services: as they are offered. error: why the node ended, if it did.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        rate: float = RATE,
        domain: int = 0,
        interface: str = LOOPBACK,
        distro: str = "jazzy",
        description: str = "",
        speed: float = 1.0,
        camera: CameraSettings | None = None,
        hold_when_lost: bool = False,
    ) -> None:
        if not (math.isfinite(rate) and 0.0 < rate <= 1500.0):
            raise TrocarError(f"the rate must be above 0 and at most 1500 Hz, got {rate}")
        if not (math.isfinite(speed) and speed > 0.0):
            raise TrocarError(f"the speed must be positive, got {speed}")
        check_installed()
        self._robot, self._bus, self._period = robot, robot.bus, round(1e9 / rate)
        self._due, self._pending = 0, deque[list[int]]()  # next sampling by the robot's clock [ns]; parts of this one
        self._simulated_time = speed != 1.0
        scene = SceneTopics(robot, clock=self._simulated_time, description=description)
        served = self._bus.topics
        self.topics = (*served.values(), *scene.sources, *scene.fixed, *(camera.topics if camera else ()))
        self._sources: dict[int, Callable[[], Message | None]] = {}  # of topics that are sampled, by number
        for number, topic in enumerate(self.topics):
            if topic in scene.sources:
                self._sources[number] = scene.sources[topic]
            elif topic.name in served:
                self._sources[number] = partial(self._bus.read, topic.name)
        self._names = {topic.name: number for number, topic in enumerate(self.topics)}
        self._intervals = {self._names[name]: interval for name, interval in INTERVALS.items()}
        self._templates = [Template(topic.ros) for topic in self.topics]
        self.services = tuple(
            Service(f"{device}/{service.name}", service.ros)
            for device, kind in robot.devices.items()
            for service in INTERFACES[kind].services
        )
        self._states: dict[int, tuple[Message, int]] = {}  # last sent operating states with their stamps
        self._read: set[int] = set()
        self._sent: dict[int, int] = {}  # stamp of the last sample of a state topic, by the robot's clock
        self._stamps = [0] * len(self.topics)  # of the last message of a topic, by the wall clock
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._ended = threading.Event()
        self.error = ""
        self._camera: Camera | None = None
        self._start(Settings(self.topics, self.services, domain, interface, distro, hold_when_lost), camera)
        self._subscriptions: list[Subscription] = []
        with self._bus.lock:
            fixed = [(self._names[topic.name], message) for topic, message in scene.fixed.items()]
            self._said.put([(number, message, self._by_wall_clock(number, message)) for number, message in fixed])
        for number, topic in enumerate(served.values()):
            if topic.direction is Direction.event:
                self._subscriptions.append(self._bus.subscribe(topic.name, self._passing(number)))
        self._threads = [threading.Thread(target=part, daemon=True) for part in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()
        robot.after_cycle.append(self._sample)

    def _start(self, settings: Settings, camera: CameraSettings | None) -> None:
        """Start the process of cyclonedds, and that of the camera, which sends its images to it."""
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        shown, drawn = context.Pipe(duplex=False) if camera else (None, None)
        arguments = other, settings, shown
        self._process = context.Process(target=process.run, args=arguments, name="trocar-ros2", daemon=True)
        self._process.start()
        other.close()
        if shown is not None and drawn is not None and camera is not None:
            shown.close()
            self._camera = Camera(camera, drawn)
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
        if self._camera is not None:
            self._camera.close()

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
        device = self.topics[number].name.rpartition("/")[0]

        def send_event(event: Message) -> None:
            samples: list[Stamped] = []
            if isinstance(event, OperatingState):
                read = [n for n in tuple(self._read) if self.topics[n].name.startswith(f"{device}/")]
                samples = self._samples(read, again=True)  # within a cycle, content can change and the stamp not
            self._said.put([*samples, (number, event, self._by_wall_clock(number, event))])

        return send_event

    def _lag(self) -> int:
        """The clock of ROS less the robot's [ns]."""
        return 0 if self._simulated_time else time.time_ns() - self._robot.now

    def _by_wall_clock(self, number: int, message: Message) -> int:
        """Stamp of a message by the clock of ROS, later than the one before; call it with the bus locked.

        Clients compare stamps with the time of their commands, and a robot on a busy machine lags behind.
        """
        if not message.valid:
            return 0
        stamp = max(message.stamp + self._lag(), self._stamps[number] + 1)
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
                self._look()
                said = self._packed(said)
                if not said.samples:
                    continue
            try:
                send(self._pipe, said)
            except OSError:
                return
            if said is None:
                return

    def _look(self) -> None:
        """Ask the camera for pictures, if somebody reads them and it has time."""
        if self._camera is not None:
            self._camera.look(
                self._robot, {self.topics[number].name for number in tuple(self._read)}, self._image_stamp
            )

    def _image_stamp(self) -> int:
        return self._by_wall_clock(len(self.topics) - 1, Empty(stamp=self._robot.now))  # all have that of the last one

    def _packed(self, messages: Sequence[Stamped]) -> Samples:
        """Bytes of messages; keeps operating states for repetition."""
        self._states |= {n: (message, stamp) for n, message, stamp in messages if isinstance(message, OperatingState)}
        return Samples(tuple((n, self._templates[n].pack(message, stamp)) for n, message, stamp in messages))

    def _samples(self, numbers: Iterable[int], again: bool = False) -> list[Stamped]:
        """Current samples, without those already sent unless `again`; call it with the bus locked."""
        new: list[Stamped] = []
        for number in numbers:
            if number not in self._sources or (not again and self._robot.now < self._next(number)):
                continue
            message = self._sources[number]()
            if message is None or (not again and message.valid and message.stamp == self._sent.get(number)):
                continue
            self._sent[number] = message.stamp
            new.append((number, message, self._by_wall_clock(number, message)))
        return new

    def _next(self, number: int) -> int:
        """Least stamp of the next sample of a topic, by the robot's clock [ns]."""
        return self._sent.get(number, 0) + self._intervals.get(number, 0)

    def _parts(self, numbers: Iterable[int]) -> Iterator[list[int]]:
        """Groups of topics to sample together: those of one device, or of several devices with few topics."""
        part: list[int] = []
        for _, device in itertools.groupby(sorted(numbers), lambda number: self.topics[number].name.partition("/")[0]):
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
                    self._bus.publish(self.topics[number].name, message)
                except Exception as error:  # whatever a message does, the next one must be heard
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
                result = replace(result, stamp=result.stamp + self._lag())
            return Answer(call.number, result)
        except Exception as error:
            return Answer(call.number, None, str(error) or type(error).__name__)

    def _warn(self, number: int, reason: str) -> None:
        """Say on the device's `warning` why a command was refused; a device without one ignores it."""
        device, _, command = self.topics[number].name.rpartition("/")
        while device and f"{device}/warning" not in self._names:
            device, _, part = device.rpartition("/")
            command = f"{part}/{command}"
        if device:
            self._bus.publish(f"{device}/warning", String(value=f"{device}: {command} refused: {reason}"))
