"""The simulation's end of the ROS node: samples for readers, commands and calls from clients."""

from __future__ import annotations

import math
import multiprocessing
import queue
import threading
import time
from dataclasses import replace
from typing import Any, Self

from trocar.crtk.bus import Subscription
from trocar.crtk.interface import INTERFACES, RATE, Direction, Service
from trocar.crtk.messages import Empty, Message, OperatingState, String
from trocar.crtk.robot import Robot
from trocar.errors import TrocarError
from trocar.ros import node
from trocar.ros.camera import Camera, CameraSettings
from trocar.ros.packages import cache
from trocar.ros.protocol import (
    LOOPBACK,
    OWN_MASTER,
    START,
    Answer,
    Call,
    Command,
    Failed,
    Lost,
    Publish,
    Readers,
    Ready,
    Refused,
    Settings,
)
from trocar.ros.scene_topics import INTERVALS, SceneTopics

MOTIONS = ("servo_", "move_", "hold", "free")  # beginnings of the last part of a topic that moves an arm
EFFORTS = ("servo_jf", "servo_cf", "servo_cs", "servo_ci")
SHORTEST = 1.0 / 1500  # least time between samples [s]
PENDING = 1000  # events queued for the node; further ones are dropped


class Bridge:
    """The topics and services of a robot in ROS 1, until `close`.

    Args:
        robot: robot in real time, or advanced by the caller. rate: rate of state topics [Hz].
        address: IP address announced to other nodes. A loopback address keeps other machines out.
        master: URI of the ROS master; "" starts one on a free port, which ends with the bridge.
        description: URDF for the parameter robot_description; "" for none.
        speed: speed of the robot relative to real time. Other than 1: stamps and rates follow the robot's clock, which
            is published as /clock, and the parameter use_sim_time is set. 1: stamps follow the wall clock.
        camera: publish images of an endoscope.
        hold_when_lost: an arm whose last command was an effort or a wrench holds its position when the client
            disconnects; otherwise it keeps the effort. An arm in position control always holds.

    Attributes:
        master: URI of the master in use. topics, services: offered topics and services.
        error: reason for the end of the node, if it ended.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        rate: float = RATE,
        address: str = LOOPBACK,
        master: str = OWN_MASTER,
        description: str = "",
        speed: float = 1.0,
        camera: CameraSettings | None = None,
        hold_when_lost: bool = False,
    ) -> None:
        if not (math.isfinite(rate) and 0.0 < rate <= 1500.0):
            raise TrocarError(f"the rate must be above 0 and at most 1500 Hz, got {rate}")
        if not (math.isfinite(speed) and speed > 0.0):
            raise TrocarError(f"the speed must be positive, got {speed}")
        self._robot, self._bus, self._period = robot, robot.bus, max(1.0 / (rate * speed), SHORTEST)
        self._simulated_time = speed != 1.0
        self._hold_when_lost, self._camera_settings = hold_when_lost, camera
        self._topics = self._bus.topics
        scene = SceneTopics(robot, clock=self._simulated_time)
        self._scene = {topic.name: source for topic, source in scene.sources.items()}
        self.topics = (*self._topics.values(), *scene.sources, *scene.fixed, *(camera.topics if camera else ()))
        self.services = tuple(
            Service(f"{device}/{service.name}", service.ros)
            for device, kind in robot.devices.items()
            for service in INTERFACES[kind].services
        )
        self._read: set[str] = set()
        self._sent: dict[str, int] = {}  # stamp of the last sample of a state topic, by the robot's clock
        self._stamps: dict[str, int] = {}  # of the last message of a topic, by the wall clock
        self._moved_by: dict[str, str] = {}  # last motion command of an arm
        self._camera: Camera | None = None
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._ended = threading.Event()
        self.error = ""
        parameters: dict[str, Any] = {"/robot_description": description} if description else {}
        parameters |= {"/use_sim_time": True} if self._simulated_time else {}
        self.master = self._start(Settings(address, master, cache(), self.topics, self.services, parameters))
        self._subscriptions: list[Subscription] = []
        for name, topic in self._topics.items():
            if topic.direction is Direction.event:
                self._subscriptions.append(self._bus.subscribe(name, self._passing(name)))
        with self._bus.lock:
            for topic, message in scene.fixed.items():
                self._passing(topic.name)(message)
        self._threads = [threading.Thread(target=part, daemon=True) for part in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()

    def _start(self, settings: Settings) -> str:
        """Start the rospy process; returns the URI of its master."""
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        shown, drawn = context.Pipe(duplex=False) if self._camera_settings else (None, None)
        self._process = context.Process(target=node.run, args=(other, settings, shown), name="trocar-ros", daemon=True)
        self._process.start()
        other.close()
        if shown is not None and drawn is not None and self._camera_settings is not None:
            shown.close()
            self._camera = Camera(self._camera_settings, drawn)
        try:
            said = self._pipe.recv() if self._pipe.poll(START) else Failed(f"no answer within {START:.0f} s")
        except EOFError:
            said = Failed("its process ended")
        if not isinstance(said, Ready):
            self._stop_process()
            raise TrocarError(f"the ROS node did not start: {said.reason}")
        return said.master

    @property
    def running(self) -> bool:
        return not self._ended.is_set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the node ends, or for a time [s]."""
        self._ended.wait(timeout)

    def close(self) -> None:
        """End the node, its process and its master."""
        self._ended.set()
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

    # -- to rospy ------------------------------------------------------------------------------------------------------

    def _passing(self, name: str) -> Any:
        def put(message: Message) -> None:
            if not isinstance(message, String) or self._said.qsize() < PENDING:
                self._said.put((name, self._by_wall_clock(name, message)))

        return put

    def _by_wall_clock(self, name: str, message: Message) -> Message:
        """The message with its stamp by the clock of ROS, later than the one before; call it with the bus locked.

        Clients compare stamps with the time of their commands, and a robot on a busy machine lags behind.
        """
        if not message.valid or self._simulated_time:
            return message
        stamp = max(message.stamp - self._robot.now + time.time_ns(), self._stamps.get(name, 0) + 1)
        self._stamps[name] = stamp
        return replace(message, stamp=stamp)

    def _send(self) -> None:
        """Send samples at the rate, events and answers immediately; the only thread that writes to the pipe."""
        due = time.perf_counter() + self._period
        while True:
            try:
                said = self._said.get(timeout=max(due - time.perf_counter(), 0.0)) if self._read else self._said.get()
            except queue.Empty:
                due = max(due + self._period, time.perf_counter())
                said = Publish(self._samples(tuple(self._read)))
                self._look()
            if isinstance(said, tuple):
                said = Publish((*self._last_samples(*said), said))
            elif isinstance(said, Readers):
                self._sent.pop(said.topic, None)
                said = Publish(self._samples((said.topic,)))
            try:
                self._pipe.send(said)
            except OSError:
                return
            if said is None:
                return

    def _samples(self, names: tuple[str, ...]) -> tuple[tuple[str, Message], ...]:
        """Current samples, without those already sent."""
        with self._bus.lock:
            found = [(name, self._sample(name)) for name in names]
            new = [(name, message) for name, message in found if message and not self._was_sent(name, message)]
            self._sent |= {name: message.stamp for name, message in new}
            return tuple((name, self._by_wall_clock(name, message)) for name, message in new)

    def _sample(self, name: str) -> Message | None:
        """The current sample of a topic; None for images, which the camera provides."""
        if name in self._scene:
            return self._scene[name]()
        return self._bus.read(name) if name in self._topics else None

    def _was_sent(self, name: str, message: Message) -> bool:
        return message.valid and message.stamp < self._sent.get(name, 0) + INTERVALS.get(name, 1)

    def _look(self) -> None:
        """Ask the camera for pictures, if somebody reads them and it has time."""
        if self._camera is not None:
            self._camera.look(self._robot, self._read, self._stamp_of_images)

    def _stamp_of_images(self) -> int:
        return self._by_wall_clock("images", Empty(stamp=self._robot.now)).stamp

    def _last_samples(self, name: str, event: Message) -> tuple[tuple[str, Message], ...]:
        """Samples to send before an event: a client that sees the end of a motion must see the arm at its goal."""
        if not isinstance(event, OperatingState):
            return ()
        device = name.rpartition("/")[0]
        return self._samples(tuple(read for read in tuple(self._read) if read.startswith(f"{device}/")))

    # -- from rospy ----------------------------------------------------------------------------------------------------

    def _receive(self) -> None:
        try:
            while True:
                said = self._pipe.recv()
                if isinstance(said, Failed):
                    self.error = "" if self._ended.is_set() else said.reason
                    break
                self._carry_out(said)
        except (EOFError, OSError):
            if not self._ended.is_set():
                self.error = "the process of the ROS node ended"
        self._ended.set()

    def _carry_out(self, said: Any) -> None:
        if isinstance(said, Command):
            self._note_motion(said.topic)
            try:
                self._bus.publish(said.topic, said.message)
            except Exception as error:  # no message may prevent the next one from being handled
                self._warn(said.topic, str(error) or type(error).__name__)
        elif isinstance(said, Refused):
            self._warn(said.topic, said.reason)
        elif isinstance(said, Lost):
            device = self._device(said.topic, "hold")
            if self._hold_when_lost and said.topic.endswith(EFFORTS) and self._moved_by.get(device) == said.topic:
                self._bus.publish(f"{device}/hold", Empty())
        elif isinstance(said, Call):
            self._said.put(self._answer(said))
        elif isinstance(said, Readers):
            if not said.some:
                self._read.discard(said.topic)
                return
            self._read.add(said.topic)
            self._said.put(said)

    def _answer(self, call: Call) -> Answer:
        try:
            result = self._bus.call(call.service, *call.arguments)
            if isinstance(result, Message):
                with self._bus.lock:
                    result = self._by_wall_clock(call.service, result)
            return Answer(call.number, result)
        except Exception as error:
            return Answer(call.number, None, str(error) or type(error).__name__)

    def _warn(self, topic: str, reason: str) -> None:
        """Publish the reason for a rejected command as the device's `warning`, if it has this topic."""
        device = self._device(topic, "warning")
        if device and self._said.qsize() < PENDING:
            command = topic.removeprefix(f"{device}/")
            self._bus.publish(f"{device}/warning", String(value=f"{device}: {command} refused: {reason}"))

    def _note_motion(self, topic: str) -> None:
        if topic.rpartition("/")[2].startswith(MOTIONS):
            self._moved_by[self._device(topic, "hold")] = topic

    def _device(self, topic: str, serves: str) -> str:
        """The device of a topic that also serves another topic; "" if there is none."""
        device = topic.rpartition("/")[0]
        while device and f"{device}/{serves}" not in self._topics:
            device = device.rpartition("/")[0]
        return device
