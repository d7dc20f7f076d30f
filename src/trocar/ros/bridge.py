"""The simulation's side of the ROS node: samples for its readers, commands and calls from its clients."""

from __future__ import annotations

import math
import multiprocessing
import os
import queue
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pooch

from trocar.crtk.bus import Subscription
from trocar.crtk.interface import INTERFACES, RATE, Direction, Service
from trocar.crtk.messages import Message, OperatingState, String
from trocar.crtk.robot import Robot
from trocar.errors import TrocarError
from trocar.ros import node
from trocar.ros.protocol import Answer, Call, Command, Failed, Publish, Readers, Ready, Refused, Settings

LOOPBACK = "127.0.0.1"
OWN_MASTER = ""
START = 60.0  # for the process of rospy to begin [s]


class Bridge:
    """The topics and services of a robot in ROS 1, until `close`.

    Args:
        robot: in real time, or advanced by the caller. rate: of state topics [Hz].
        address: IP address under which other nodes find this one. A loopback address keeps others out.
        master: URI of the ROS master; "" starts one on a free port, which ends with the bridge.

    Attributes:
        master: URI of the master in use. services: as they are offered. error: why the node ended, if it did.
    """

    def __init__(self, robot: Robot, *, rate: float = RATE, address: str = LOOPBACK, master: str = OWN_MASTER) -> None:
        if not (math.isfinite(rate) and 0.0 < rate <= 1500.0):
            raise TrocarError(f"the rate must be above 0 and at most 1500 Hz, got {rate}")
        self._robot, self._bus, self._period = robot, robot.bus, 1.0 / rate
        self._topics = self._bus.topics
        self.services = tuple(
            Service(f"{device}/{service.name}", service.ros)
            for device, kind in robot.devices.items()
            for service in INTERFACES[kind].services
        )
        self._read: set[str] = set()
        self._sent: dict[str, int] = {}  # stamp of the last sample of a state topic, by the robot's clock
        self._stamps: dict[str, int] = {}  # of the last message of a topic, by the wall clock
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._ended = threading.Event()
        self.error = ""
        self.master = self._start(Settings(tuple(self._topics.values()), self.services, address, master, _cache()))
        self._subscriptions: list[Subscription] = []
        for name, topic in self._topics.items():
            if topic.direction is Direction.event:
                self._subscriptions.append(self._bus.subscribe(name, self._passing(name)))
        self._threads = [threading.Thread(target=part, daemon=True) for part in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()

    def _start(self, settings: Settings) -> str:
        """Start the process of rospy; the URI of its master."""
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=node.run, args=(other, settings), name="trocar-ros", daemon=True)
        self._process.start()
        other.close()
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- to rospy ------------------------------------------------------------------------------------------------------

    def _passing(self, name: str) -> Any:
        return lambda message: self._said.put((name, self._by_wall_clock(name, message)))

    def _by_wall_clock(self, name: str, message: Message) -> Message:
        """The message with its stamp by the clock of ROS, later than the one before; call it with the bus locked.

        Clients compare stamps with the time of their commands, and a robot on a busy machine falls behind.
        """
        if not message.valid:
            return message
        stamp = max(message.stamp - self._robot.now + time.time_ns(), self._stamps.get(name, 0) + 1)
        self._stamps[name] = stamp
        return replace(message, stamp=stamp)

    def _send(self) -> None:
        """Samples at the rate, events and answers at once: the only thread that writes to the pipe."""
        due = time.perf_counter() + self._period
        while True:
            try:
                said = self._said.get(timeout=max(due - time.perf_counter(), 0.0)) if self._read else self._said.get()
            except queue.Empty:
                due = max(due + self._period, time.perf_counter())
                said = Publish(self._samples(tuple(self._read)))
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
        """Samples of one moment, without those that were sent already."""
        with self._bus.lock:
            found = [(name, self._bus.read(name)) for name in names]
            new = [(name, message) for name, message in found if message and not self._was_sent(name, message)]
            self._sent |= {name: message.stamp for name, message in new}
            return tuple((name, self._by_wall_clock(name, message)) for name, message in new)

    def _was_sent(self, name: str, message: Message) -> bool:
        return message.valid and message.stamp == self._sent.get(name)

    def _last_samples(self, name: str, event: Message) -> tuple[tuple[str, Message], ...]:
        """Samples to send before an event: a client that sees the end of a motion must find the arm at its end."""
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
            try:
                self._bus.publish(said.topic, said.message)
            except Exception as error:  # whatever a message does, the next one must be heard
                self._warn(said.topic, str(error) or type(error).__name__)
        elif isinstance(said, Refused):
            self._warn(said.topic, said.reason)
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
        """Say on the device's `warning` why a command was refused; a device without one ignores it."""
        device, _, command = topic.rpartition("/")
        while device and f"{device}/warning" not in self._topics:
            device, _, part = device.rpartition("/")
            command = f"{part}/{command}"
        if device:
            self._bus.publish(f"{device}/warning", String(value=f"{device}: {command} refused: {reason}"))


def _cache() -> str:
    """Folder for generated message packages."""
    return os.fspath(Path(pooch.os_cache("trocar")) / "ros1")
