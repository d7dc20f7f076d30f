"""The simulation's end of a ROS node, for ROS 1 and ROS 2 alike: samples for readers, commands from clients."""

from __future__ import annotations

import gc
import math
import multiprocessing
import queue
import re
import select
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypedDict

from trocar.closing import Closable
from trocar.errors import TrocarError, check_known
from trocar.robot.bus import Subscription
from trocar.robot.interface import INTERFACES, RATE, Direction, Service
from trocar.robot.messages import Empty, Message, String
from trocar.robot.robot import Robot
from trocar.transports import link
from trocar.transports.camera import Camera, CameraSettings
from trocar.transports.codec import Encoder, codec
from trocar.transports.link import Answer, Call, Publish, Ready
from trocar.transports.priority import urgent_thread
from trocar.transports.remote_bus import CLOCK_TOPIC
from trocar.transports.sampling import Sampler, Stamped
from trocar.transports.scene_topics import SceneTopics

MOTIONS = re.compile(r"/(servo|move|interpolate)_\w+$|/(hold|free)$")
# Commands of efforts and wrenches, which an arm obeys until the next command.
EFFORTS = ("servo_jf", "servo_cf", "servo_cs", "servo_ci")
MAX_QUEUED = 10  # messages and groups of samples in the queue, from which no new samples are taken
MAX_READ = 20  # values of the node that are executed before one control cycle
STOPPED = 0.01  # time without a control cycle after which the robot counts as stopped [s]
MAX_TEXTS = 1000  # messages in the queue, from which texts such as warnings are dropped


class Due(NamedTuple):
    """Samples, and the time at which they are to be sent [s]."""

    time: float
    samples: list[Stamped]


class BridgeOptions(TypedDict, total=False):
    """Options of a bridge of either version of ROS; see `TopicBridge`."""

    rate: float
    speed: float
    description: str
    camera: CameraSettings | None
    hold_when_lost: bool
    priority: bool
    offered: Collection[str] | None


class TopicBridge(Closable):
    """The topics and services of a robot in ROS, until `close`. A subclass calls `_open` with its node.

    Args:
        robot: robot in real time, or advanced by the caller. version: of ROS, 1 or 2.
        rate: rate of state topics by the robot's clock [Hz].
        speed: speed of the robot relative to real time. Other than 1: stamps follow the robot's clock, which is
            published as /clock. 1: stamps follow the wall clock.
        description: URDF for the topic robot_description; "" for none.
        camera: publish images of an endoscope.
        hold_when_lost: an arm whose last command was an effort or a wrench holds its position when the client
            disconnects; otherwise it keeps the effort. An arm in position control always holds.
        priority: ask the system for real-time priority of the node's process. It shortens delays where every process
            has a processor; where they share one, the node starves its clients.
        offered: names of the robot's topics to offer, and no services. Default: all, with those of the scene.

    Attributes:
        topics, services: offered topics and services. error: reason for the end of the node, if it ended.
        prioritised: the process of the node has real-time priority.
    """

    def __init__(
        self,
        robot: Robot,
        version: int,
        *,
        rate: float = RATE,
        speed: float = 1.0,
        description: str = "",
        camera: CameraSettings | None = None,
        hold_when_lost: bool = False,
        priority: bool = False,
        offered: Collection[str] | None = None,
    ) -> None:
        if not (math.isfinite(speed) and speed > 0.0):
            raise TrocarError(f"the speed must be positive, got {speed}")
        self._robot, self._bus, self._hold_when_lost = robot, robot.bus, hold_when_lost
        self._simulated_time = speed != 1.0
        self._scene = SceneTopics(robot, clock=self._simulated_time, description=description)
        self._sampler = Sampler(robot, self._scene, rate, self._simulated_time)
        self._served = self._bus.topics
        images = camera.topics if camera else ()
        if offered is None:
            self.topics = (*self._served.values(), *self._scene.sources, *self._scene.fixed, *images)
        else:
            check_known("topic of the robot", self._served, *offered)
            clock = [topic for topic in self._scene.sources if topic is CLOCK_TOPIC]
            self.topics = (*(self._served[name] for name in offered), *clock, *images)
        self.services = (
            ()
            if offered is not None
            else tuple(
                Service(f"{device}/{service.name}", service.ros)
                for device, kind in robot.devices.items()
                for service in INTERFACES[kind].services
            )
        )
        self._version, self._priority = version, priority
        self._encoders = {topic.name: Encoder(topic.ros, codec(version)) for topic in self.topics}
        self._moved_by: dict[str, str] = {}  # last motion command of an arm
        self._camera_settings = camera
        self._camera: Camera | None = None
        self._outgoing: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._read_at = 0.0
        self._ended = threading.Event()
        self.error = ""
        self.prioritised = False

    def _open(self, node: str, switch_interval: float, **options: Any) -> Ready:
        """Start the process of the node, that of the camera, which sends its images to the node, and the exchange.

        Args: see `link.run_node`.
        """
        camera = self._camera_settings
        images, rendered = multiprocessing.Pipe(duplex=False) if camera else (None, None)
        options |= {"topics": self.topics, "services": self.services, "images": images}
        self._process = link.ConnectedProcess(link.run_node, node, options, switch_interval, self._priority)
        self._pipe = self._process.pipe
        if images is not None and rendered is not None and camera is not None:
            images.close()
            self._camera = Camera(camera, rendered, self._version)
        try:
            ready: Ready = self._process.first_value(Ready, "the ROS node")
        except TrocarError:
            self._close_camera()
            raise
        self.prioritised = ready.prioritised
        self._subscriptions: list[Subscription] = []
        with self._bus.lock:
            for topic, message in self._scene.fixed.items():
                if topic.name in self._encoders:
                    self._enqueue(topic.name, message)
        for name, topic in self._served.items():
            if topic.direction is Direction.event and name in self._encoders:
                self._subscriptions.append(self._bus.subscribe(name, partial(self._enqueue, name)))
        self._arrivals = select.poll()
        self._arrivals.register(self._pipe.fileno(), select.POLLIN)
        self._threads = [threading.Thread(target=part, daemon=True) for part in (self._send, self._answer_calls)]
        for thread in self._threads:
            thread.start()
        self._robot.before_cycle.append(self._read)
        self._robot.after_cycle.append(self._sample)
        gc.freeze()  # as the control loop has done with what existed before; it unfreezes all at its end
        return ready

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
        self._outgoing.put(None)
        self._calls.put(None)
        for thread in self._threads:
            thread.join(timeout=5.0)
        self._process.close()
        self._close_camera()

    def _close_camera(self) -> None:
        if self._camera is not None:
            self._camera.close()

    # -- to the node ---------------------------------------------------------------------------------------------------

    def _encoded(self, messages: Sequence[Stamped]) -> tuple[tuple[str, bytes], ...]:
        """Bytes of messages, as the node publishes them."""
        return tuple((name, self._encoders[name](message, stamp)) for name, message, stamp in messages)

    def _enqueue(self, name: str, event: Message) -> None:
        """Send an event; call it with the bus locked."""
        if not isinstance(event, String) or self._outgoing.qsize() < MAX_TEXTS:
            self._outgoing.put(self._sampler.with_samples(name, event))

    def _sample(self) -> None:
        """Take samples after a control cycle, in its thread: it need not wait for another one that has the bus."""
        samples = self._sampler.after_cycle(busy=self._outgoing.qsize() >= MAX_QUEUED)
        if samples is not None:
            self._outgoing.put(Due(time.perf_counter() + self._sampler.ahead, samples))

    def _send(self) -> None:
        """Encode and send samples, events and answers: the only thread that writes to the pipe."""
        urgency = urgent_thread()
        value: Any = ()
        while value is not None:
            urgency.check()
            value = self._next()
            if isinstance(value, Due):
                time.sleep(max(value.time - time.perf_counter(), 0.0))
                value = value.samples
            if isinstance(value, list):
                if self._camera is not None:
                    self._camera.request_image(self._robot, self._sampler.read, self._sampler.image_stamp)
                if not value:
                    continue
                value = Publish(self._encoded(value))
            try:
                link.send(self._pipe, value)
            except OSError:
                return

    def _next(self) -> Any:
        """The next value to send, when there is one: stamped messages, an answer, or None at the end."""
        return self._outgoing.get()

    # -- from the node -------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Execute the values that the node has sent; call it with the bus locked.

        The control loop calls it before every cycle. A thread of its own would not be faster, because commands take
        effect in a cycle, and it would interrupt the cycles and the node whenever a command comes.
        """
        self._read_at = time.monotonic()
        try:
            for _ in range(MAX_READ):
                if self._ended.is_set() or not self._arrivals.poll(0):
                    return
                self._dispatch(link.receive(self._pipe))
        except (EOFError, OSError):
            self._end("the process of the ROS node ended")

    def _answer_calls(self) -> None:
        """Answer calls, which can take longer than a control cycle; read the pipe while there are no cycles."""
        urgency = urgent_thread()
        while not self._ended.is_set():
            urgency.check()
            try:
                call = self._calls.get(timeout=STOPPED)
            except queue.Empty:
                if time.monotonic() > self._read_at + STOPPED:
                    with self._bus.lock:
                        self._read()
            else:
                if call is not None:
                    self._outgoing.put(self._answer(call))

    def _end(self, reason: str) -> None:
        self.error = "" if self._ended.is_set() else reason
        self._ended.set()

    def _dispatch(self, value: Any) -> None:
        if isinstance(value, link.CommandBatch):
            for topic, message in value.messages:
                self._command(topic, message)
        elif isinstance(value, link.RefusedMessage):
            self._warn(value.topic, value.reason)
        elif isinstance(value, link.Lost):
            self._hold(value.topic)
        elif isinstance(value, Call):
            self._calls.put(value)
        elif isinstance(value, link.NodeFailed):
            self._end(value.reason)
        elif isinstance(value, link.Readers):
            if value.some:
                self._sampler.read.add(value.topic)
                self._outgoing.put(self._sampler.current(value.topic))
            else:
                self._sampler.read.discard(value.topic)

    def _command(self, topic: str, message: Message) -> None:
        if MOTIONS.search(topic):
            self._moved_by[self._device(topic, "hold")] = topic
        try:
            self._bus.publish(topic, message)
        except Exception as error:  # no message may prevent the next one from being handled
            self._warn(topic, str(error) or type(error).__name__)

    def _hold(self, topic: str) -> None:
        """Hold an arm in effort control after its client has disconnected, if `hold_when_lost` is set."""
        device = self._device(topic, "hold")
        if self._hold_when_lost and topic.endswith(EFFORTS) and self._moved_by.get(device) == topic:
            self._command(f"{device}/hold", Empty())

    def _answer(self, call: Call) -> Answer:
        try:
            result = self._bus.call(call.service, *call.arguments)
            if isinstance(result, Message) and result.valid:
                result = replace(result, stamp=result.stamp + self._sampler.offset())
            return Answer(call.number, result)
        except Exception as error:
            return Answer(call.number, None, str(error) or type(error).__name__)

    def _warn(self, topic: str, reason: str) -> None:
        """Publish the reason for a rejected command as the device's `warning`, if it has this topic."""
        device = self._device(topic, "warning")
        if device and self._outgoing.qsize() < MAX_TEXTS:
            command = topic.removeprefix(f"{device}/")
            self._bus.publish(f"{device}/warning", String(value=f"{device}: {command} refused: {reason}"))

    def _device(self, topic: str, serves: str) -> str:
        """The device of a topic that also serves another topic; "" if there is none."""
        device = topic.rpartition("/")[0]
        while device and f"{device}/{serves}" not in self._served:
            device = device.rpartition("/")[0]
        return device
