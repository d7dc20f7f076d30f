"""A participant of a DDS domain: its endpoints, and waiting for events at any of them."""

from __future__ import annotations

import functools
from typing import Any, Self

from cyclonedds.core import DDSException, DDSStatus, InstanceState, ReadCondition, SampleState, ViewState
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

from trocar.errors import TrocarError
from trocar.transports.ros2.cyclonedds_internals import NumberedWaitSet, delete
from trocar.transports.ros2.domain import LOOPBACK, bind_to_loopback, check_domain, configuration, is_loopback
from trocar.transports.ros2.samples import sample_class

ANYTHING = ViewState.Any | InstanceState.Any | SampleState.Any
MAX_TAKEN = 100  # samples per call


class Participant:
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
        self._events = NumberedWaitSet(self.entity)
        self._topics: dict[str, Topic[Any]] = {}

    def _topic(self, name: str, ros_type: str, store: Any) -> Topic[Any]:
        if name not in self._topics:
            self._topics[name] = Topic(self.entity, name, sample_class(ros_type, store))
        return self._topics[name]

    def writer(self, topic: str, ros_type: str, qos: Qos, store: Any = None) -> DataWriter[Any]:
        """Writer of a topic by its name in DDS; store: see `sample_class`."""
        return DataWriter(self.entity, self._topic(topic, ros_type, store), qos=qos)

    def reader(self, topic: str, ros_type: str, qos: Qos) -> DataReader[Any]:
        """Reader of a topic by its name in DDS."""
        return DataReader(self.entity, self._topic(topic, ros_type, None), qos=qos)

    def wake_for_samples(self, reader: DataReader[Any]) -> int:
        """Wake `wait` when the reader has samples. Returns the event's number."""
        return self._events.attach(ReadCondition(reader, ANYTHING))

    def wake_for_readers(self, writer: DataWriter[Any]) -> int:
        """Wake `wait` when the readers of a writer change. Returns the event's number."""
        writer.set_status_mask(DDSStatus.PublicationMatched)
        return self._events.attach(writer)

    def wake_for_writers(self, reader: DataReader[Any]) -> int:
        """Wake `wait` when the writers of a reader change. Returns the event's number."""
        reader.set_status_mask(DDSStatus.SubscriptionMatched)
        return self._events.attach(reader)

    def wait(self, seconds: float) -> list[int]:
        """Numbers of all events; empty after a time [s]."""
        return self._events.wait(seconds)

    def acknowledged(self, writer: DataWriter[Any], seconds: float) -> bool:
        """Wait until all readers have received all samples of a writer, at most for a time [s]; True if they have."""
        try:
            return bool(writer.wait_for_acks(round(seconds * 1e9)))
        except (AttributeError, DDSException):  # cyclonedds 11.0 raises AttributeError when the time has passed
            return False

    def close(self) -> None:
        """Delete the participant and all its endpoints."""
        delete(self.entity)

    def delete(self, endpoint: Any) -> None:
        """Delete an endpoint now."""
        delete(endpoint)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


@functools.cache
def _joined(domain: int, settings: str) -> Domain:
    """The domain in this process, configured once."""
    return Domain(domain, settings)


def taken(reader: DataReader[Any]) -> list[Any]:
    """Samples of a reader with content, at most 100, oldest first."""
    return [sample for sample in reader.take(MAX_TAKEN) if sample.sample_info.valid_data]
