"""The cyclonedds process: writers, readers and services of the whole interface, connected by a pipe."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
from cyclonedds.core import DDSException
from cyclonedds.qos import Policy
from rosbags.typesys import Stores, get_typestore

from trocar.errors import TrocarError, check_known, shown
from trocar.robot.interface import Direction, Service, Topic
from trocar.robot.messages import Message
from trocar.transports.codec import Decoder, bag_name, codec
from trocar.transports.link import MAX_BYTES, Lost, ProcessLink, Publish, Readers, Ready, announced_order, received
from trocar.transports.ros2.cyclonedds_internals import Handler, delete
from trocar.transports.ros2.participant import DEPTH, Participant, discovery_qos, sample_class, taken, topic_name
from trocar.transports.ros_conversion import answer
from trocar.transports.ros_messages import message_class
from trocar.transports.topic_bridge import EFFORTS

NODE = "dvrk"
# Commands that replace each other: only the last queued one counts.
ABSOLUTE = ("servo_jp", "servo_jf", "servo_cp", "servo_cf", "servo_cs", "servo_ci")
THREADS = 4  # for calls of services
WINDOW = 0.1  # over which commands are counted [s]
MAX_COMMANDS = 800  # within a window; further ones wait, and old ones are dropped
MAX_REFUSALS = 2  # reports of invalid content per topic and window
MAX_INTERVAL = 1.2e-3  # between polls of events while there are some; states at 1000 Hz come earlier [s]
IDLE = 0.05  # time without events after which the other thread waits for them [s]
POLL_INTERVAL = 0.2  # between checks of the other thread for the end [s]
MAX_CALLS = 64  # of a service in the queue; further ones are dropped
MATCHING_TIMEOUT = 0.1  # of the discovery of the client's reader of the reply, as in rmw_cyclonedds [s]
MATCHING_INTERVAL = 0.005  # between checks of it [s]
ALONE_TIMEOUT = 1.0  # of the discovery of another node of this kind at the start [s]
DISCOVERY, DISCOVERY_TYPE = "ros_discovery_info", "rmw_dds_common/ParticipantEntitiesInfo"
# An identity has 24 bytes up to Humble, 16 from Iron on (rmw_dds_common 2.0.0): a graph cannot mix the two.
STORES = {"jazzy": Stores.ROS2_JAZZY, "humble": Stores.ROS2_HUMBLE}
LENGTHS = {"jazzy": 16, "humble": 24}


class EventLoop:
    """Waits for values of a pipe and events of a participant, for one thread that handles both.

    Two threads would not be faster, because Python runs one at a time, and each would wait for the other in the middle
    of its work. DDS cannot wait for a pipe. So while events come, the thread polls them after every value and at
    least every 1.2 ms, which also collects commands that come together. If there are none, a second thread waits for
    them and wakes the first one.
    """

    def __init__(self, pipe: Connection, participant: Participant) -> None:
        self._pipe, self._dds = pipe.fileno(), participant.events
        self._woken, self._wake = os.pipe()
        self._polling = False  # the calling thread polls events, the other one rests
        self._rested = threading.Semaphore(0)
        self._last, self._ignored = 0.0, 0.0  # times of the last events, and until which they are ignored [s]
        self._closed = False
        self._thread = threading.Thread(target=self._wait_for_events, daemon=True)
        self._thread.start()

    def wait(self) -> tuple[bool, list[Handler]]:
        """Block until the pipe or DDS has data. Returns (pipe_ready, handlers of events)."""
        sources = (self._pipe,) if self._polling else (self._pipe, self._woken)
        ready, _, _ = select.select(sources, (), (), MAX_INTERVAL if self._polling else None)
        if self._woken in ready:
            os.read(self._woken, 1)
            self._polling, self._last = True, time.monotonic()
        return self._pipe in ready, self._events() if self._polling else []

    def pipe_ready(self) -> bool:
        """True if the pipe has a value now."""
        return bool(select.select((self._pipe,), (), (), 0.0)[0])

    def ignore_events(self, seconds: float) -> None:
        """Do not poll DDS events for `seconds`."""
        self._ignored = time.monotonic() + seconds

    def close(self) -> None:
        """End the other thread."""
        self._closed = True
        self._rested.release()
        self._thread.join()
        os.close(self._wake)
        os.close(self._woken)

    def _events(self) -> list[Handler]:
        now = time.monotonic()
        if now < self._ignored:
            self._last = now
            return []
        handlers = self._dds.wait(0.0)
        if handlers:
            self._last = now
        elif now > self._last + IDLE:
            self._polling = False
            self._rested.release()
        return handlers

    def _wait_for_events(self) -> None:
        while not self._closed:
            if self._dds.wait(POLL_INTERVAL):
                os.write(self._wake, b"\0")
                self._rested.acquire()


# -- services ----------------------------------------------------------------------------------------------------------


def user_data(entity: Any) -> dict[str, str]:
    """Keys and values announced by an endpoint."""
    policy = entity.qos[Policy.Userdata] if entity is not None and Policy.Userdata in entity.qos else None
    text = policy.data.decode(errors="replace") if policy is not None else ""
    return dict(part.split("=", 1) for part in text.split(";") if "=" in part)


class ServiceServer:
    """One service for clients of rmw_cyclonedds: a request and a reply topic, each with the identity of the call first.

    Other ROS 2 implementations store the identity elsewhere: they can use the robot's topics, but not its services.

    Args:
        number: among those of the participant. call: calls the service of the bus.
    """

    def __init__(
        self,
        participant: Participant,
        service: Service,
        number: int,
        call: Callable[..., Any],
        pool: ThreadPoolExecutor,
    ) -> None:
        self._service, self._call, self._pool, self._codec = service, call, pool, codec(2)
        self._request, self._response = f"{service.ros}_Request", f"{service.ros}_Response"
        self.reader, self.writer = participant.service_end(service.name, service.ros, number, "serviceid")
        self._places = threading.Semaphore(MAX_CALLS)

    def handle(self) -> None:
        """Answer the requests that have come, in threads of the pool."""
        for sample in taken(self.reader):
            if self._places.acquire(blocking=False):
                self._pool.submit(self._answer, sample)

    def _answer(self, sample: Any) -> None:
        try:
            request = self._codec.message_in(sample.cdr, self._request)
            response = self._respond(request)
            response.client, response.number = request.client, request.number
            self._wait_for_reader(sample.sample_info.publication_handle)
            self.writer.write(sample_class(self._response)(self._codec.bytes_of(response, self._response)))
        except (TrocarError, DDSException):
            pass  # a ROS 2 service cannot reject a call: the client times out
        finally:
            self._places.release()

    def _respond(self, request: Any) -> Any:
        call, ros = lambda *arguments: self._call(self._service.name, arguments), self._service.ros
        try:
            return answer(call, ros, request, self._codec)
        except Exception as error:
            if "message" not in message_class(self._response).__slots__:
                raise TrocarError(str(error)) from error
            return self._codec.make(self._response, message=str(error))  # `result` or `success` is False by default

    def _wait_for_reader(self, client: int) -> None:
        """Wait until the reply can reach the client: its reader may be discovered shortly after its writer."""
        name = user_data(self.reader.get_matched_publication_data(client)).get("clientid")
        deadline = time.monotonic() + MATCHING_TIMEOUT
        while name and time.monotonic() < deadline:
            matched = map(self.writer.get_matched_subscription_data, self.writer.get_matched_subscriptions())
            if any(user_data(reader).get("clientid") == name for reader in matched):
                return
            time.sleep(MATCHING_INTERVAL)


# -- node --------------------------------------------------------------------------------------------------------------


class Ros2Node:
    """The ROS 2 node `dvrk`.

    Args:
        topics, services: those it serves, services first. images: pipe from the camera, if there is one.
        Others: see `Ros2Bridge`.
    """

    def __init__(
        self,
        pipe: Connection,
        prioritised: bool,
        *,
        topics: Iterable[Topic],
        services: Iterable[Service],
        images: Connection | None,
        domain: int,
        interface: str,
        distro: str,
        hold_when_lost: bool,
    ) -> None:
        self._link, self._images, self._hold_when_lost = ProcessLink(pipe, MAX_BYTES), images, hold_when_lost
        self._pipe, self._participant = pipe, Participant(domain, interface)
        topics = tuple(topics)
        check_alone(self._participant, topics, domain)
        self._writers: dict[str, tuple[Any, Any]] = {}
        self._incoming: list[tuple[str, Message]] = []
        self._lost: list[str] = []  # topics without clients
        self._counts, self._window = Counter[str](), time.monotonic()
        self._forwarded = 0
        self._pool = ThreadPoolExecutor(THREADS)
        readers, writers = [], []
        for number, service in enumerate(services):
            server = ServiceServer(self._participant, service, number, self._link.call, self._pool)
            self._participant.on_samples(server.reader, server.handle)
            readers.append(server.reader)
            writers.append(server.writer)
        for topic in announced_order(topics):
            if topic.direction is Direction.command:
                readers.append(self._read(topic))
            else:
                self._write(topic)
        writers += [writer for writer, _ in self._writers.values()]
        self._announced = announce(self._participant, NODE, writers, readers, distro)
        self._link.send(Ready(prioritised))

    def serve(self) -> None:
        """Forward the messages of the simulation until it closes the pipe, and those of the camera."""
        if self._images is not None:
            threading.Thread(target=self._pass_on, args=(received(self._images),), daemon=True).start()
        loop = EventLoop(self._pipe, self._participant)
        gc.freeze()  # a full collection of all endpoints would delay messages by milliseconds
        while not self._link.closed:
            ready, handlers = loop.wait()
            while ready:  # all of them before commands, which take longer
                publication = self._link.receive()
                self._pass_on(() if publication is None else (publication,))
                ready = not self._link.closed and loop.pipe_ready()
            if handlers:
                self._handle(handlers)
                loop.ignore_events(self._excess())
        loop.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._participant.close()

    def _write(self, topic: Topic) -> None:
        """Create a writer; readers of states are reported, so that only topics with readers are sampled."""
        writer = self._participant.topic_writer(topic)
        self._writers[topic.name] = writer, sample_class(topic.ros)
        if topic.direction is Direction.state:
            self._participant.on_readers(writer, lambda: self._count_readers(topic.name))

    def _count_readers(self, name: str) -> None:
        status = self._writers[name][0].get_publication_matched_status()
        if status.current_count_change > 0 or status.current_count == 0:
            self._link.send(Readers(name, status.current_count > 0))

    def _pass_on(self, publications: Iterable[Publish]) -> None:
        for publication in publications:
            for name, cdr in publication.messages:
                writer, kind = self._writers[name]
                with contextlib.suppress(DDSException):  # a reader does not keep up: it misses this sample
                    writer.write(kind(cdr))

    def _handle(self, handlers: list[Handler]) -> None:
        for handler in handlers:
            with contextlib.suppress(DDSException):  # no sample may prevent the next one from being handled
                handler()
        if self._incoming:
            self._link.command(self._incoming)
            self._forwarded += len(self._incoming)
            self._incoming = []
        for name in self._lost:  # after the last commands of the client
            self._link.send(Lost(name))
        self._lost = []

    def _excess(self) -> float:
        """Time until the end of a window with too many commands, to protect the simulation; 0 otherwise [s]."""
        now, end = time.monotonic(), self._window + WINDOW
        full = self._forwarded >= MAX_COMMANDS
        if now >= end or full:
            self._window, self._forwarded = max(now, end) if full else now, 0
            self._counts.clear()
        return max(end - now, 0.0) if full else 0.0

    def _read(self, topic: Topic) -> Any:
        reader = self._participant.topic_reader(topic)
        decoder = Decoder(topic, codec(2))
        self._participant.on_samples(reader, lambda: self._take(topic, reader, decoder))
        if self._hold_when_lost and topic.name.endswith(EFFORTS):
            self._participant.on_writers(reader, lambda: self._count_writers(topic.name, reader))
        return reader

    def _take(self, topic: Topic, reader: Any, decoder: Decoder) -> None:
        samples = taken(reader)
        if topic.name.endswith(ABSOLUTE):
            samples = samples[-1:]
        for sample in samples:
            try:
                self._incoming.append((topic.name, decoder(sample.cdr)))
            except Exception as error:  # no sample may end the node
                self._counts[topic.name] += 1
                if self._counts[topic.name] <= MAX_REFUSALS:
                    self._link.refuse(topic.name, error)

    def _count_writers(self, name: str, reader: Any) -> None:
        if reader.get_subscription_matched_status().current_count == 0:
            self._lost.append(name)


def check_alone(participant: Participant, topics: Iterable[Topic], domain: int) -> None:
    """Raise an error if another node publishes events of the same devices: clients would see two robots as one."""
    events = {topic_name(topic.name) for topic in topics if topic.direction is Direction.event and "/" in topic.name}
    publications = BuiltinDataReader(participant.entity, BuiltinTopicDcpsPublication)
    end = time.monotonic() + ALONE_TIMEOUT
    while time.monotonic() < end:
        for sample in publications.take(100):
            if sample.sample_info.valid_data and sample.topic_name in events:
                node, topic = _node_of(participant, sample.participant_key.bytes[:12]), sample.topic_name[2:]
                raise TrocarError(
                    f"{node} in ROS domain {domain} publishes {topic} already; stop it, or use another domain"
                )
        time.sleep(MATCHING_INTERVAL)
    delete(publications)  # it would keep every endpoint that ever appears


def _node_of(participant: Participant, prefix: bytes) -> str:
    """Name of the node of another participant, by the prefix of its GUID, as it announces itself."""
    reader = participant.reader(DISCOVERY, DISCOVERY_TYPE, discovery_qos(DEPTH))
    end = time.monotonic() + ALONE_TIMEOUT
    while time.monotonic() < end:
        for sample in taken(reader):
            info: Any = codec(2).store.deserialize_cdr(sample.cdr, bag_name(DISCOVERY_TYPE))
            if bytes(info.gid.data[:12]) == prefix and info.node_entities_info_seq:
                entities = info.node_entities_info_seq[0]
                return f"the node {shown(entities.node_namespace + entities.node_name)}"
        time.sleep(MATCHING_INTERVAL)
    return f"the participant {prefix.hex()}"


def announce(participant: Participant, node: str, writers: Iterable[Any], readers: Iterable[Any], distro: str) -> Any:
    """Announce a node with its endpoints to `ros2 node list`, as long as the returned writer exists."""
    check_known("distribution of ROS 2", STORES, distro)
    store: Any = get_typestore(STORES[distro])
    entities = [[entity.guid.bytes for entity in group] for group in (readers, writers)]
    writer = participant.writer(DISCOVERY, DISCOVERY_TYPE, discovery_qos(), store)
    cdr = node_info(store, LENGTHS[distro], participant.entity.guid.bytes, node, *entities)
    writer.write(sample_class(DISCOVERY_TYPE, store)(cdr))
    return writer


def node_info(
    store: Any, length: int, participant: bytes, node: str, readers: Iterable[bytes], writers: Iterable[bytes]
) -> bytes:
    """Bytes of a participant with one node, from the GUIDs of its endpoints; identities are filled up to a length."""
    names = ("Gid", "NodeEntitiesInfo", "ParticipantEntitiesInfo")
    Gid, Entities, Info = (store.types[bag_name(f"rmw_dds_common/{name}")] for name in names)

    def gid(guid: bytes) -> Any:
        return Gid(data=np.frombuffer(guid.ljust(length, b"\0"), np.uint8))

    sequences = {"reader_gid_seq": [*map(gid, readers)], "writer_gid_seq": [*map(gid, writers)]}
    entities = Entities(node_namespace="/", node_name=node, **sequences)
    info = Info(gid=gid(participant), node_entities_info_seq=[entities])
    return bytes(store.serialize_cdr(info, bag_name(DISCOVERY_TYPE)))
