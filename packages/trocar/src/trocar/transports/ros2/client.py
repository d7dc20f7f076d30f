"""A robot that runs in ROS 2, simulated or real, as a bus: for the conformance checks and for scripts."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from concurrent.futures import Future
from typing import Any, cast

from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription
from cyclonedds.core import DDSException
from cyclonedds.qos import Policy

from trocar.errors import TrocarError, check_known
from trocar.robot.interface import Direction, Topic
from trocar.robot.messages import Message
from trocar.transports.codec import Decoder, codec
from trocar.transports.link import TIMEOUT, SystemState
from trocar.transports.remote_bus import (
    CLOCK_TOPIC,
    POLL_INTERVAL,
    Callback,
    OpenTopic,
    RemoteBus,
    RemoteSubscription,
    waited,
)
from trocar.transports.ros2.cyclonedds_internals import delete
from trocar.transports.ros2.domain import LOOPBACK
from trocar.transports.ros2.participant import Participant, reply_name, ros_name, sample_class, taken
from trocar.transports.ros_conversion import ask

DISCOVERY = 1.0  # time without a new endpoint after which all are known [s]
DISCOVERY_TIMEOUT = 15.0  # [s]
FIRST_TIMEOUT = 2.0  # of the first message of a topic, and of the first reader of a command [s]
QUIET = 0.1  # pause after which a new reader has received all messages kept for it [s]
CLOSING_INTERVAL = 0.1  # between checks whether the client was closed [s]


class _Line(OpenTopic):
    """An open topic with its reader.

    Attributes:
        sent: when the last message was written [ns]. complete: all messages kept for a new reader have arrived.
    """

    def __init__(self, topic: Topic, reader: Any, *callbacks: Callback) -> None:
        super().__init__(topic, *callbacks)
        self.reader, self.decoder = reader, Decoder(topic, codec(2))
        self.sent, self.complete = 0, False


class Ros2Client(RemoteBus):
    """Topics and services of a domain, as they are when it connects.

    Services answer if the robot's node uses cyclonedds. Time is that of /clock if a node writes this topic when the
    client connects. Topics that are written with transient_local durability are events.

    Args:
        domain: ROS_DOMAIN_ID of the robot. interface: network interface, by name or IP address.
    """

    first_timeout = FIRST_TIMEOUT
    call_timeout = TIMEOUT  # of an answer [s]

    def __init__(self, domain: int = 0, interface: str = LOOPBACK) -> None:
        self._participant = Participant(domain, interface)
        super().__init__(*_endpoints(self._participant))
        self._writers: dict[str, Any] = {}
        self._servers: dict[str, Any] = {}
        self._calls: dict[int, Future[Any]] = {}
        self._numbers = itertools.count(1)
        self._closing = False
        if self._simulated_time:
            self._opened[CLOCK_TOPIC.name] = self._open(CLOCK_TOPIC, self._set_time)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        self._wait_for_clock()

    def close(self) -> None:
        """Leave the domain."""
        self._closing = True
        self._thread.join()
        self._participant.close()

    def check_running(self) -> None:
        """Raise an error if the connection was closed."""
        if self._closing:
            raise TrocarError("the connection with ROS 2 was closed")

    def publish(self, name: str, message: Message) -> None:
        """Send a command. The first command on a topic blocks until a reader acknowledges it (about 0.1 s)."""
        check_known("topic", self.topics, name)
        topic = self.topics[name]
        sample = sample_class(topic.ros)(codec(2).encode(message, topic.ros))
        if name in self._writers:
            self._writers[name].write(sample)
            return
        writer = self._participant.topic_writer(topic)
        if not waited(lambda: bool(writer.get_matched_subscriptions()), FIRST_TIMEOUT):
            delete(writer)
            raise TrocarError(f"no node reads {name}")
        self._writers[name] = writer
        writer.write(sample)
        # The reader may know this writer later than the writer knows it. Commands of other topics must not overtake.
        if not self._participant.acknowledged(writer, FIRST_TIMEOUT):
            raise TrocarError(f"no node has acknowledged {name} within {FIRST_TIMEOUT:g} s")

    def _wait_for_first(self, line: OpenTopic) -> None:
        """Wait for the first message, and for those that were kept for a new reader of an event."""
        assert isinstance(line, _Line)
        if not line.complete:
            super()._wait_for_first(line)
            event = line.topic.direction is Direction.event
            while event and line.last is not None and (left := line.changed + QUIET - time.monotonic()) > 0.0:
                time.sleep(left)
            line.complete = line.last is not None

    def _opened_with(self, name: str) -> list[str]:
        """Topics to open with another one: all events of a device, which are then awaited together."""
        events = [topic.name for topic in self.topics.values() if topic.direction is Direction.event]
        device = name.partition("/")[0]
        return [event for event in events if event.partition("/")[0] == device] if name in events else [name]

    def subscribe(self, name: str, callback: Callback) -> RemoteSubscription:
        """Call back with every message of a topic, starting with the last one, or with all kept ones of an event.

        Messages that were sent before have arrived when it returns.
        """
        check_known("topic", self.topics, name)
        if self.topics[name].direction is not Direction.event:
            return super().subscribe(name, callback)
        first = self._line(name)
        late = self._open(first.topic, callback)  # a reader of its own, as a late subscriber has
        known = cast(_Line, first).sent
        waited(lambda: late.sent >= known, FIRST_TIMEOUT)
        return RemoteSubscription(lambda: self._close(late))

    def _open(self, topic: Topic, *callbacks: Callback) -> _Line:
        line = _Line(topic, self._participant.topic_reader(topic), *callbacks)
        with self._lock:
            self._participant.on_samples(line.reader, lambda: self._take(line))
        return line

    def _close(self, line: OpenTopic) -> None:
        with self._lock:
            line.callbacks.clear()
            delete(cast(_Line, line).reader)

    def _take(self, line: _Line) -> None:
        for sample in taken(line.reader):
            try:
                message = line.decoder(sample.cdr)
            except TrocarError:
                continue  # no message of this type: the same as none
            self._deliver(line, message)
            line.sent = sample.sample_info.source_timestamp

    def call(self, service: str, *arguments: Any) -> Any:
        """Result of a service."""
        check_known("service", self.services, service)
        ros = self.services[service]
        return ask(lambda request: self._ask(service, ros, request), ros, arguments, codec(2))

    def _ask(self, service: str, ros: str, request: Any) -> Any:
        writer = self._server(service, ros)
        number, reply = next(self._numbers), Future[Any]()
        with self._lock:
            self._calls[number] = reply
        request.client, request.number = _handle(writer), number
        writer.write(sample_class(f"{ros}_Request")(codec(2).bytes_of(request, f"{ros}_Request")))
        try:
            return reply.result(self.call_timeout)
        except TimeoutError:
            raise TrocarError(f"the service {service} did not answer within {self.call_timeout:g} s") from None
        finally:
            with self._lock:
                del self._calls[number]

    def _server(self, service: str, ros: str) -> Any:
        if service not in self._servers:
            reader, writer = self._participant.service_end(service, ros, len(self._servers), "clientid")
            with self._lock:
                self._participant.on_samples(reader, lambda: self._take_replies(reader, f"{ros}_Response", writer))
            ends = writer.get_matched_subscriptions, reader.get_matched_publications
            if not waited(lambda: all(matched() for matched in ends), FIRST_TIMEOUT):
                raise TrocarError(f"no node offers the service {service} any more")
            self._servers[service] = writer
        return self._servers[service]

    def _take_replies(self, reader: Any, ros: str, writer: Any) -> None:
        for sample in taken(reader):
            with contextlib.suppress(TrocarError):
                reply = codec(2).message_in(sample.cdr, ros)
                waiting = self._calls.get(reply.number)
                if reply.client == _handle(writer) and waiting is not None:
                    waiting.set_result(reply)

    def _listen(self) -> None:
        while not self._closing:
            if not (self._opened or self._servers):
                time.sleep(POLL_INTERVAL)  # no reader yet
            for handler in self._participant.events.wait(CLOSING_INTERVAL):
                with self._lock, contextlib.suppress(DDSException):  # the reader was just closed
                    handler()
            self._close_unused()


def _handle(writer: Any) -> int:
    """Identity of a client: the handle of its writer, without the sign that the binding gives it."""
    return int(writer.instance_handle) % 2**64


def _endpoints(participant: Participant) -> tuple[SystemState, set[str]]:
    """Topics and services of other participants, once no new ones appear, and the names of events."""
    written: dict[str, str] = {}
    read: dict[str, str] = {}
    kinds = (BuiltinTopicDcpsPublication, written), (BuiltinTopicDcpsSubscription, read)
    sources = [(BuiltinDataReader(participant.entity, kind), types) for kind, types in kinds]
    latched: set[str] = set()
    begin = last = time.monotonic()
    while time.monotonic() < min(last + DISCOVERY, begin + DISCOVERY_TIMEOUT):
        for source, types in sources:
            for sample in source.take(100):
                if not sample.sample_info.valid_data or sample.participant_key == participant.entity.guid:
                    continue
                last = time.monotonic()
                types[sample.topic_name] = ros_name(sample.type_name)
                if types is written and sample.qos[Policy.Durability] is not Policy.Durability.Volatile:
                    latched.add(sample.topic_name.removeprefix("rt/"))
        time.sleep(10 * POLL_INTERVAL)
    for source, _ in sources:
        delete(source)  # it would keep every endpoint that ever appears
    published, subscribed = (
        {name.removeprefix("rt/"): ros for name, ros in types.items() if name.startswith("rt/")}
        for types in (written, read)
    )
    services = {
        service: ros.removesuffix("_Request")
        for name, ros in read.items()
        if name.startswith("rq/") and reply_name(service := name[len("rq/") :].removesuffix("Request")) in written
    }
    simulated_time = published.get(CLOCK_TOPIC.name) == CLOCK_TOPIC.ros
    return SystemState(published, subscribed, services, simulated_time), latched
