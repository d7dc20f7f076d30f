"""The cyclonedds process: writers, readers and services of the whole interface, connected by a pipe."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from cyclonedds.core import DDSException

from trocar.crtk.interface import Direction, Topic
from trocar.crtk.messages import Empty, Message
from trocar.errors import TrocarError
from trocar.ros.dds.cdr import encode
from trocar.ros.dds.commands import ABSOLUTE, EFFORTS, MOTIONS, decoded, device_of
from trocar.ros.dds.graph import announce
from trocar.ros.dds.participant import Participant, taken
from trocar.ros.dds.protocol import (
    Answer,
    Call,
    Commands,
    Readers,
    Ready,
    Refused,
    Samples,
    Settings,
    receive,
    send,
)
from trocar.ros.dds.qos import topic_qos
from trocar.ros.dds.samples import sample_class
from trocar.ros.dds.services import ServiceServer
from trocar.ros.dds.types import topic_name
from trocar.ros.protocol import Publish
from trocar.ros.scene_messages import message_to_ros

NODE = "dvrk"
PATIENCE = 10.0  # for the answer of the simulation to a call [s]
WATCHED = 0.2  # between two looks whether the process shall end [s]
COLLECTED = 3e-4  # between two looks at what has come: commands that come together are passed on together [s]
THREADS = 4  # for calls of services
WINDOW = 0.1  # over which commands are counted [s]
MOST_COMMANDS = 800  # within a window; who sends more waits, and old samples are dropped
MOST_REFUSALS = 2  # of a topic within a window


class Node:
    """The ROS 2 node `dvrk`."""

    def __init__(self, pipe: Connection, settings: Settings, pictures: Connection | None = None) -> None:
        self._pipe, self._sending, self._ending = pipe, threading.Lock(), False
        self._pictures = pictures
        self._topics, self._hold_when_lost = settings.topics, settings.hold_when_lost
        self._numbers = {topic.name: number for number, topic in enumerate(settings.topics)}
        self._participant = Participant(settings.domain, settings.interface)
        self._handlers: list[Callable[[], None]] = []
        self._writers: dict[int, tuple[Any, Any]] = {}
        self._incoming: list[tuple[int, Message]] = []
        self._counts, self._window = dict[int, int](), time.monotonic()
        self._forwarded = 0
        self._commanded: dict[str, int] = {}  # the last command of a motion, by device
        self._call_numbers, self._calls = itertools.count(), dict[int, Future[Any]]()
        self._pool = ThreadPoolExecutor(THREADS)
        readers = []
        for number, topic in enumerate(settings.topics):
            if topic.direction is Direction.command:
                readers.append(self._read(number, topic))
            else:
                self._write(number, topic)
        writers = [writer for writer, _ in self._writers.values()]
        for number, service in enumerate(settings.services):
            server = ServiceServer(self._participant, service, number, self._call, self._pool)
            self._on(self._participant.wake_for_samples(server.reader), server.handle)
            readers.append(server.reader)
            writers.append(server.writer)
        self._announced = announce(self._participant, NODE, writers, readers, settings.distro)
        send(pipe, Ready())

    def serve(self) -> None:
        """Forward the simulation's messages until it closes the pipe."""
        listening = threading.Thread(target=self._listen, daemon=True)
        listening.start()
        if self._pictures is not None:
            threading.Thread(target=self._pass_on, args=(self._pictures,), daemon=True).start()
        try:
            while (said := receive(self._pipe)) is not None:
                if isinstance(said, Samples):
                    self._publish(said)
                elif isinstance(said, Answer):
                    call = self._calls.get(said.number)
                    if call is not None:
                        call.set_result(said)
        except (EOFError, OSError):  # the simulation was killed
            pass
        self._ending = True
        listening.join()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._participant.close()

    # -- to DDS --------------------------------------------------------------------------------------------------------

    def _write(self, number: int, topic: Topic) -> None:
        """A writer; readers of states are reported, so that only topics with readers are sampled."""
        writer = self._participant.writer(topic_name(topic.name), topic.ros, topic_qos(topic.ros, topic.direction))
        self._writers[number] = writer, sample_class(topic.ros)
        if topic.direction is Direction.state:
            self._on(self._participant.wake_for_readers(writer), lambda: self._count_readers(number))

    def _count_readers(self, number: int) -> None:
        status = self._writers[number][0].get_publication_matched_status()
        if status.current_count_change > 0 or status.current_count == 0:
            self._send(Readers(number, status.current_count > 0))

    def _publish(self, said: Samples) -> None:
        for number, cdr in said.samples:
            writer, kind = self._writers[number]
            with contextlib.suppress(DDSException):  # a reader does not keep up: it misses this sample
                writer.write(kind(cdr))

    def _pass_on(self, pictures: Connection) -> None:
        """Publish the messages of the camera, until its process ends."""
        with contextlib.suppress(EOFError, OSError):
            while not self._ending:
                said: Publish = pictures.recv()
                numbers = [self._numbers[name] for name, _ in said.messages]
                types = [self._topics[number].ros for number in numbers]
                packed = [
                    encode(message_to_ros(message, ros), ros)
                    for (_, message), ros in zip(said.messages, types, strict=True)
                ]
                self._publish(Samples(tuple(zip(numbers, packed, strict=True))))

    # -- from DDS ------------------------------------------------------------------------------------------------------

    def _on(self, number: int, handler: Callable[[], None]) -> None:
        assert number == len(self._handlers)
        self._handlers.append(handler)

    def _listen(self) -> None:
        while not self._ending:
            time.sleep(COLLECTED)
            for number in self._participant.wait(WATCHED):
                with contextlib.suppress(DDSException):  # no sample may prevent the next one from being handled
                    self._handlers[number]()
            if self._incoming:
                self._send(Commands(tuple(self._incoming)))
                self._forwarded += len(self._incoming)
                self._incoming = []
            self._slow_down()

    def _slow_down(self) -> None:
        """Wait for the end of the window if it has too many commands, to protect the simulation."""
        now = time.monotonic()
        if self._forwarded >= MOST_COMMANDS and now < self._window + WINDOW:
            time.sleep(self._window + WINDOW - now)
            now = time.monotonic()
        if now >= self._window + WINDOW:
            self._window, self._forwarded = now, 0
            self._counts.clear()

    def _read(self, number: int, topic: Topic) -> Any:
        reader = self._participant.reader(topic_name(topic.name), topic.ros, topic_qos(topic.ros, topic.direction))
        self._on(self._participant.wake_for_samples(reader), lambda: self._take(number, topic, reader))
        if self._hold_when_lost and topic.name.endswith(EFFORTS):
            self._on(self._participant.wake_for_writers(reader), lambda: self._count_writers(number, reader))
        return reader

    def _take(self, number: int, topic: Topic, reader: Any) -> None:
        samples = taken(reader)
        if topic.name.endswith(ABSOLUTE):
            samples = samples[-1:]
        for sample in samples:
            try:
                self._incoming.append((number, decoded(sample.cdr, topic)))
            except TrocarError as error:
                self._refuse(number, str(error))
            else:
                if MOTIONS.search(topic.name):
                    self._commanded[device_of(topic.name)] = number

    def _refuse(self, number: int, reason: str) -> None:
        count = self._counts[number] = self._counts.get(number, 0) + 1
        if count <= MOST_REFUSALS:
            self._send(Refused(number, reason))

    def _count_writers(self, number: int, reader: Any) -> None:
        """Hold an arm whose client disconnected while commanding a force."""
        device = device_of(self._topics[number].name)
        if reader.get_subscription_matched_status().current_count == 0 and self._commanded.get(device) == number:
            del self._commanded[device]
            self._incoming.append((self._numbers[f"{device}/hold"], Empty()))

    def _call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        number, call = next(self._call_numbers), Future[Any]()
        self._calls[number] = call
        self._send(Call(number, service, arguments))
        try:
            said = call.result(PATIENCE)
        finally:
            self._calls.pop(number, None)
        if said.error:
            raise TrocarError(said.error)
        return said.result

    def _send(self, said: Any) -> None:
        try:
            with self._sending:
                send(self._pipe, said)
        except OSError:  # the simulation has ended, and this process ends too
            self._ending = True
