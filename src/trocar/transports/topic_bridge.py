"""The simulation's end of a ROS node, for ROS 1 and ROS 2 alike: samples for readers, commands from clients."""

from __future__ import annotations

import gc
import math
import multiprocessing
import queue
import select
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, cast

from trocar.errors import TrocarError
from trocar.robot.bus import Subscription
from trocar.robot.interface import INTERFACES, Direction, Service
from trocar.robot.messages import Empty, Message, String
from trocar.robot.robot import Robot
from trocar.transports.camera import Camera, CameraSettings
from trocar.transports.devices import EFFORTS, MOTIONS
from trocar.transports.priority import urgent_thread
from trocar.transports.protocol import (
    START,
    Answer,
    Call,
    Commands,
    Failed,
    Lost,
    Publish,
    Readers,
    Ready,
    Refused,
    receive,
    send,
)
from trocar.transports.sampling import Sampler, Stamped
from trocar.transports.scene_topics import SceneTopics

MOST_WAITING = 10  # queued messages and groups of samples, from which no new samples are taken
MOST_READ = 20  # values of the node that are executed before one control cycle
STILL = 0.01  # time without a control cycle after which the robot counts as stopped [s]
MOST_TEXTS = 1000  # queued messages, from which texts such as warnings are dropped


class Due(NamedTuple):
    """Samples, and the time at which they are to be sent [s]."""

    time: float
    samples: list[Stamped]


class TopicBridge(ABC):
    """The topics and services of a robot in ROS, until `close`.

    A subclass calls `_open` with the main function and the settings of the node's process, and packs its messages.

    Attributes:
        topics, services: offered topics and services. error: reason for the end of the node, if it ended.
        prioritised: the process of the node has real-time priority.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        rate: float,
        speed: float,
        description: str,
        camera: CameraSettings | None,
        hold_when_lost: bool,
    ) -> None:
        if not (math.isfinite(speed) and speed > 0.0):
            raise TrocarError(f"the speed must be positive, got {speed}")
        self._robot, self._bus, self._hold_when_lost = robot, robot.bus, hold_when_lost
        self._simulated_time = speed != 1.0
        self._scene = SceneTopics(robot, clock=self._simulated_time, description=description)
        self._sampler = Sampler(robot, self._scene, rate, self._simulated_time)
        self._served = self._bus.topics
        images = camera.topics if camera else ()
        self.topics = (*self._served.values(), *self._scene.sources, *self._scene.fixed, *images)
        self.services = tuple(
            Service(f"{device}/{service.name}", service.ros)
            for device, kind in robot.devices.items()
            for service in INTERFACES[kind].services
        )
        self._moved_by: dict[str, str] = {}  # last motion command of an arm
        self._camera_settings = camera
        self._camera: Camera | None = None
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._read_at = 0.0
        self._ended = threading.Event()
        self.error = ""
        self.prioritised = False

    def _open(self, run: Callable[..., None], settings: Any) -> Ready:
        """Start the process of the node, that of the camera, which sends its images to the node, and the exchange."""
        ready = self._start(run, settings)
        self.prioritised = ready.prioritised
        self._subscriptions: list[Subscription] = []
        with self._bus.lock:
            for topic, message in self._scene.fixed.items():
                self._say(topic.name, message)
        for name, topic in self._served.items():
            if topic.direction is Direction.event:
                self._subscriptions.append(self._bus.subscribe(name, self._passing(name)))
        self._arrivals = select.poll()
        self._arrivals.register(self._pipe.fileno(), select.POLLIN)
        self._threads = [threading.Thread(target=part, daemon=True) for part in (self._send, self._answer_calls)]
        for thread in self._threads:
            thread.start()
        self._robot.before_cycle.append(self._read)
        self._robot.after_cycle.append(self._sample)
        gc.freeze()  # as the control loop has done with what existed before; it unfreezes all at its end
        return ready

    def _start(self, run: Callable[..., None], settings: Any) -> Ready:
        context, camera = multiprocessing.get_context("spawn"), self._camera_settings
        self._pipe, other = context.Pipe()
        shown, drawn = context.Pipe(duplex=False) if camera else (None, None)
        self._process = context.Process(target=run, args=(other, settings, shown), name="trocar-ros", daemon=True)
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
            self._stop_processes()
            raise TrocarError(f"the ROS node did not start: {said.reason}")
        return said

    @property
    def running(self) -> bool:
        return not self._ended.is_set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the node ends, or for a time [s]."""
        self._ended.wait(timeout)

    def close(self) -> None:
        """End the node and its process."""
        self._ended.set()
        self._robot.before_cycle.remove(self._read)
        self._robot.after_cycle.remove(self._sample)
        for subscription in self._subscriptions:
            subscription.close()
        self._said.put(None)
        self._calls.put(None)
        for thread in self._threads:
            thread.join(timeout=5.0)
        self._stop_processes()

    def _stop_processes(self) -> None:
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

    # -- to the node ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def _packed(self, messages: Sequence[Stamped]) -> tuple[tuple[str, Any], ...]:
        """Messages as the node publishes them."""

    def _passing(self, name: str) -> Callable[[Message], None]:
        return lambda event: self._say(name, event)

    def _say(self, name: str, event: Message) -> None:
        """Send an event; call it with the bus locked."""
        if not isinstance(event, String) or self._said.qsize() < MOST_TEXTS:
            self._said.put(self._sampler.with_samples(name, event))

    def _sample(self) -> None:
        """Take samples after a control cycle, in its thread: it need not wait for another one that has the bus."""
        samples = self._sampler.after_cycle(busy=self._said.qsize() >= MOST_WAITING)
        if samples is not None:
            self._said.put(Due(time.perf_counter() + self._sampler.ahead, samples))

    def _send(self) -> None:
        """Pack and send samples, events and answers: the only thread that writes to the pipe."""
        urgency, said = urgent_thread(), cast(Any, ())
        while said is not None:
            urgency.check()
            said = self._next()
            if isinstance(said, Due):
                time.sleep(max(said.time - time.perf_counter(), 0.0))
                said = said.samples
            if isinstance(said, list):
                self._look()
                if not said:
                    continue
                said = Publish(self._packed(said))
            try:
                send(self._pipe, said)
            except OSError:
                return

    def _next(self) -> Any:
        """The next value to send, when there is one: stamped messages, an answer, or None at the end."""
        return self._said.get()

    def _look(self) -> None:
        """Ask the camera for pictures if they have readers and it has time."""
        if self._camera is not None:
            self._camera.look(self._robot, self._sampler.read, self._sampler.image_stamp)

    # -- from the node -------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Execute what the node has sent; call it with the bus locked.

        The control loop calls it before every cycle. A thread of its own would not be faster, because commands take
        effect in a cycle, and it would interrupt the cycles and the node whenever a command comes.
        """
        self._read_at = time.monotonic()
        try:
            for _ in range(MOST_READ):
                if self._ended.is_set() or not self._arrivals.poll(0):
                    return
                self._carry_out(receive(self._pipe))
        except (EOFError, OSError):
            self._end("the process of the ROS node ended")

    def _answer_calls(self) -> None:
        """Answer calls, which can take longer than a control cycle; read the pipe while there are no cycles."""
        urgency = urgent_thread()
        while not self._ended.is_set():
            urgency.check()
            try:
                call = self._calls.get(timeout=STILL)
            except queue.Empty:
                if time.monotonic() > self._read_at + STILL:
                    with self._bus.lock:
                        self._read()
            else:
                if call is not None:
                    self._said.put(self._answer(call))

    def _end(self, reason: str) -> None:
        self.error = "" if self._ended.is_set() else reason
        self._ended.set()

    def _carry_out(self, said: Any) -> None:
        if isinstance(said, Commands):
            for topic, message in said.messages:
                self._command(topic, message)
        elif isinstance(said, Refused):
            self._warn(said.topic, said.reason)
        elif isinstance(said, Lost):
            self._hold(said.topic)
        elif isinstance(said, Call):
            self._calls.put(said)
        elif isinstance(said, Failed):
            self._end(said.reason)
        elif isinstance(said, Readers):
            if said.some:
                self._sampler.read.add(said.topic)
                self._said.put(self._sampler.current(said.topic))
            else:
                self._sampler.read.discard(said.topic)

    def _command(self, topic: str, message: Message) -> None:
        if MOTIONS.search(topic):
            self._moved_by[self._device(topic, "hold")] = topic
        try:
            self._bus.publish(topic, message)
        except Exception as error:  # no message may prevent the next one from being handled
            self._warn(topic, str(error) or type(error).__name__)

    def _hold(self, topic: str) -> None:
        """Hold an arm in effort control after its client has disconnected, if that was asked for."""
        device = self._device(topic, "hold")
        if self._hold_when_lost and topic.endswith(EFFORTS) and self._moved_by.get(device) == topic:
            self._command(f"{device}/hold", Empty())

    def _answer(self, call: Call) -> Answer:
        try:
            result = self._bus.call(call.service, *call.arguments)
            if isinstance(result, Message) and result.valid:
                result = replace(result, stamp=self._sampler.by_clock(result.stamp))
            return Answer(call.number, result)
        except Exception as error:
            return Answer(call.number, None, str(error) or type(error).__name__)

    def _warn(self, topic: str, reason: str) -> None:
        """Publish the reason for a rejected command as the device's `warning`, if it has this topic."""
        device = self._device(topic, "warning")
        if device and self._said.qsize() < MOST_TEXTS:
            command = topic.removeprefix(f"{device}/")
            self._bus.publish(f"{device}/warning", String(value=f"{device}: {command} refused: {reason}"))

    def _device(self, topic: str, serves: str) -> str:
        """The device of a topic that also serves another topic; "" if there is none."""
        device = topic.rpartition("/")[0]
        while device and f"{device}/{serves}" not in self._served:
            device = device.rpartition("/")[0]
        return device
