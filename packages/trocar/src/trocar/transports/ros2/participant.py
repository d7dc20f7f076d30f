"""A participant of a DDS domain as ROS 2 uses it: names, samples, quality of service, endpoints, waiting for events."""

from __future__ import annotations

import functools
import re
import threading
from typing import Any, cast

from cyclonedds.core import DDSException, DDSStatus, InstanceState, ReadCondition, SampleState, ViewState
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import make_idl_struct
from cyclonedds.idl import types as idl
from cyclonedds.idl.annotations import final
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic as DdsTopic
from cyclonedds.util import duration
from rosbags.interfaces import Nodetype

from trocar.closing import Closable
from trocar.errors import TrocarError
from trocar.robot.interface import Direction, Topic
from trocar.transports.codec import bag_name, codec
from trocar.transports.ros2.cyclonedds_internals import EventSet, Handler, delete, silence_warnings
from trocar.transports.ros2.domain import LOOPBACK, bind_to_loopback, check_domain, configuration, is_loopback

ANYTHING = ViewState.Any | InstanceState.Any | SampleState.Any
MAX_TAKEN = 100  # samples per call
DEPTH = 100  # messages that are kept for slow and for late readers, as in the dVRK's bridge
IMAGES = 2  # the same of images, which are large
SERVICE_DEPTH = 10  # of ROS 2 services
MAX_BLOCKING = 10.0  # of a writer for a slow reader [ms]
_creating = threading.Lock()


class Participant(Closable):
    """One participant; all participants of a process in one domain use the same interface."""

    def __init__(self, domain: int, interface: str = LOOPBACK) -> None:
        check_domain(domain)
        try:
            _joined(domain, configuration(interface))
            self.entity = DomainParticipant(domain, qos=Qos(Policy.Userdata(b"enclave=/;")))
        except DDSException as error:
            raise TrocarError(f"cyclonedds cannot join domain {domain} on {interface}: {error}") from error
        if is_loopback(interface):
            bind_to_loopback(domain)
        self.events = EventSet(self.entity)
        self._topics: dict[str, DdsTopic[Any]] = {}

    def _topic(self, name: str, ros_type: str, store: Any) -> DdsTopic[Any]:
        if name not in self._topics:
            self._topics[name] = DdsTopic(self.entity, name, sample_class(ros_type, store))
        return self._topics[name]

    def writer(self, topic: str, ros_type: str, qos: Qos, store: Any = None) -> DataWriter[Any]:
        """Writer of a topic by its name in DDS; store: see `sample_class`."""
        return DataWriter(self.entity, self._topic(topic, ros_type, store), qos=qos)

    def reader(self, topic: str, ros_type: str, qos: Qos) -> DataReader[Any]:
        """Reader of a topic by its name in DDS."""
        return DataReader(self.entity, self._topic(topic, ros_type, None), qos=qos)

    def topic_writer(self, topic: Topic) -> DataWriter[Any]:
        """Writer of a topic of the interface."""
        return self.writer(topic_name(topic.name), topic.ros, topic_qos(topic.ros, topic.direction))

    def topic_reader(self, topic: Topic) -> DataReader[Any]:
        """Reader of a topic of the interface."""
        return self.reader(topic_name(topic.name), topic.ros, topic_qos(topic.ros, topic.direction))

    def service_end(self, name: str, ros_type: str, number: int, role: str) -> tuple[DataReader[Any], DataWriter[Any]]:
        """Reader and writer of one end of a service: the `number`-th of the role "serviceid" or "clientid"."""
        own = self.entity.guid.bytes[:12] + number.to_bytes(4, "big")
        # the user data link the four endpoints of a service that belong together
        qos = _qos(SERVICE_DEPTH, False, f"{role}={'.'.join(f'{byte:x}' for byte in own)};".encode())
        ends = (request_name(name), f"{ros_type}_Request"), (reply_name(name), f"{ros_type}_Response")
        read, written = ends if role == "serviceid" else ends[::-1]
        return self.reader(*read, qos), self.writer(*written, qos)

    def on_samples(self, reader: DataReader[Any], handler: Handler) -> None:
        """Let `events.wait` return a handler when a reader has samples."""
        self.events.attach(ReadCondition(reader, ANYTHING), handler)

    def on_readers(self, writer: DataWriter[Any], handler: Handler) -> None:
        """Let `events.wait` return a handler when the readers of a writer change."""
        writer.set_status_mask(DDSStatus.PublicationMatched)
        self.events.attach(writer, handler)

    def on_writers(self, reader: DataReader[Any], handler: Handler) -> None:
        """Let `events.wait` return a handler when the writers of a reader change."""
        reader.set_status_mask(DDSStatus.SubscriptionMatched)
        self.events.attach(reader, handler)

    def acknowledged(self, writer: DataWriter[Any], seconds: float) -> bool:
        """Wait until all readers have received all samples of a writer, at most for a time [s]; True if they have."""
        try:
            return bool(writer.wait_for_acks(round(seconds * 1e9)))
        except (AttributeError, DDSException):  # cyclonedds 11.0 raises AttributeError when the time has passed
            return False

    def close(self) -> None:
        """Delete the participant and all its endpoints."""
        delete(self.entity)


@functools.cache
def _joined(domain: int, settings: str) -> Domain:
    """The domain in this process, configured once."""
    silence_warnings()
    return Domain(domain, settings)


def taken(reader: DataReader[Any]) -> list[Any]:
    """Samples of a reader with content, at most 100, oldest first."""
    return [sample for sample in reader.take(MAX_TAKEN) if sample.sample_info.valid_data]


# -- names in DDS ------------------------------------------------------------------------------------------------------


def dds_name(ros_type: str) -> str:
    """Name of a type in DDS: sensor_msgs::msg::dds_::JointState_."""
    package, _, own = ros_type.partition("/")
    return f"{package}::{'srv' if own.endswith(('_Request', '_Response')) else 'msg'}::dds_::{own}_"


def ros_name(dds: str) -> str:
    """The type for a name in DDS; "" if it is not a ROS type."""
    match = re.fullmatch(r"(\w+)::(?:msg|srv)::dds_::(\w+)_", dds)
    return f"{match[1]}/{match[2]}" if match else ""


def topic_name(topic: str) -> str:
    """Name of a topic in DDS: rt/PSM1/measured_js."""
    return f"rt/{topic}"


def request_name(service: str) -> str:
    return f"rq/{service}Request"


def reply_name(service: str) -> str:
    return f"rr/{service}Reply"


# -- quality of service, as in the dVRK's ROS 2 bridge -----------------------------------------------------------------


def topic_qos(ros_type: str, direction: Direction) -> Qos:
    """QoS of both ends of a topic: events are kept for late readers, states and commands are not."""
    depth = IMAGES if "Image" in ros_type else DEPTH
    return _qos(depth, direction is Direction.event, f"typehash={codec(2).type_hash(ros_type)};".encode())


def discovery_qos(depth: int = 1) -> Qos:
    """QoS of ros_discovery_info."""
    return _qos(depth, True)


def _qos(depth: int, for_late: bool, user_data: bytes = b"") -> Qos:
    policies = [
        Policy.Reliability.Reliable(duration(milliseconds=MAX_BLOCKING)),
        Policy.History.KeepLast(depth),
        Policy.DataRepresentation(use_cdrv0_representation=True),
        Policy.Durability.TransientLocal if for_late else Policy.Durability.Volatile,
    ]
    if for_late:
        policies.append(
            Policy.DurabilityService(0, Policy.History.KeepLast(depth), -1, -1, -1)  # no limits but the depth
        )
    if user_data:
        policies.append(Policy.Userdata(user_data))
    return Qos(*policies)


# -- samples -----------------------------------------------------------------------------------------------------------


def sample_class(ros_type: str, store: Any = None) -> Any:
    """Class of the samples of a type: `sample_class(ros_type)(cdr)` is a sample, and `sample.cdr` its bytes.

    `codec` encodes and decodes messages, not cyclonedds. The classes still describe their fields, so that other
    participants can check the type.

    Args:
        store: types of rosbags. Default: those of the codec.
    """
    store = codec(2).store if store is None else store
    with _creating:  # cyclonedds refuses samples of a second class of the same type, which another thread would create
        return _sample_class(ros_type, store)


@functools.cache
def _sample_class(ros_type: str, store: Any) -> Any:
    members = _members(bag_name(ros_type), store)
    sample: Any = make_idl_struct(ros_type.rpartition("/")[2], dds_name(ros_type), members, dataclassify=False)
    final(sample)
    sample.__init__ = lambda self, cdr: setattr(self, "cdr", cdr)
    sample.serialize = lambda self, **_options: self.cdr
    sample.deserialize = sample.deserialize_key = classmethod(lambda cls, data, **_options: cls(data))
    return sample


def _members(bag_type: str, store: Any) -> dict[str, Any]:
    return {name: _member(description, store) for name, description in store.fielddefs[bag_type][1]}


def _member(description: Any, store: Any) -> Any:
    """Type of a field in IDL, by its description in rosbags."""
    node, content = description
    if node in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        element, length = _member(content[0], store), content[1]
        return cast(Any, idl.array)[element, length] if node == Nodetype.ARRAY else cast(Any, idl.sequence)[element]
    if node == Nodetype.NAME:
        return _nested(content, store)
    plain = {"string": str, "bool": bool, "char": idl.uint8, "byte": idl.uint8}
    return plain.get(content[0]) or getattr(idl, content[0])


@functools.cache
def _nested(bag_type: str, store: Any) -> Any:
    ros_type = bag_type.replace("/msg/", "/")
    return final(make_idl_struct(ros_type.rpartition("/")[2], dds_name(ros_type), _members(bag_type, store)))
