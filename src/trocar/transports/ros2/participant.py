"""A participant of a DDS domain: its endpoints, and waiting for events at any of them."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Self

from cyclonedds.core import DDSException, DDSStatus, InstanceState, ReadCondition, SampleState, ViewState, WaitSet
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.internal import DDS
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

from trocar.errors import TrocarError
from trocar.transports.ros2.domain import LOOPBACK, check_domain, configuration, is_loopback
from trocar.transports.ros2.samples import sample_class
from trocar.transports.ros2.sockets import bind_to_loopback

ANYTHING = ViewState.Any | InstanceState.Any | SampleState.Any
MOST_TAKEN = 100  # samples per call


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
        self._waiting = WaitSet(self.entity)
        self._conditions: list[Any] = []
        self._topics: dict[str, Topic[Any]] = {}

    def _topic(self, name: str, ros_type: str) -> Topic[Any]:
        if name not in self._topics:
            self._topics[name] = Topic(self.entity, name, sample_class(ros_type))
        return self._topics[name]

    def writer(self, topic: str, ros_type: str, qos: Qos) -> DataWriter[Any]:
        """Writer of a topic by its name in DDS."""
        return DataWriter(self.entity, self._topic(topic, ros_type), qos=qos)

    def reader(self, topic: str, ros_type: str, qos: Qos) -> DataReader[Any]:
        """Reader of a topic by its name in DDS."""
        return DataReader(self.entity, self._topic(topic, ros_type), qos=qos)

    # -- waiting -------------------------------------------------------------------------------------------------------

    def wake_for_samples(self, reader: DataReader[Any]) -> int:
        """Make `wait` return `number` while a reader has samples."""
        return self._attach(ReadCondition(reader, ANYTHING))

    def wake_for_readers(self, writer: DataWriter[Any]) -> int:
        """Make `wait` return `number` when the readers of a writer change."""
        writer.set_status_mask(DDSStatus.PublicationMatched)
        return self._attach(writer)

    def wake_for_writers(self, reader: DataReader[Any]) -> int:
        """Make `wait` return `number` when the writers of a reader change."""
        reader.set_status_mask(DDSStatus.SubscriptionMatched)
        return self._attach(reader)

    def _attach(self, entity: Any) -> int:
        number = len(self._conditions)
        # The binding's `attach` stores no number, and its `wait` does not report the cause.
        if _waitset_attach(self._waiting._ref, entity._ref, number) < 0:
            raise TrocarError("cyclonedds cannot wait for another endpoint")
        self._conditions.append(entity)
        return number

    def wait(self, seconds: float) -> list[int]:
        """Numbers of all events; empty after a time [s]."""
        found = (ctypes.c_ssize_t * len(self._conditions))()
        count = _waitset_wait(self._waiting._ref, found, len(found), round(seconds * 1e9))
        return found[: min(count, len(found))] if count > 0 else []

    def acknowledged(self, writer: DataWriter[Any], seconds: float) -> bool:
        """Wait until all readers have received all samples of a writer, at most for a time [s]; True if they have."""
        # the binding's `wait_for_acks` fails with an unrelated error when the time has passed
        return bool(_wait_for_acks(writer._ref, round(seconds * 1e9)) == 0)

    def close(self) -> None:
        """Delete the participant and all its endpoints."""
        self.delete(self.entity)

    def delete(self, entity: Any) -> None:
        """Delete an endpoint now; the binding would wait for the garbage collector."""
        _delete(entity._ref)

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
    return [sample for sample in reader.take(MOST_TAKEN) if sample.sample_info.valid_data]


_library = DDS._dll_handle
_waitset_attach = _library.dds_waitset_attach
_waitset_attach.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.c_ssize_t]
_waitset_attach.restype = ctypes.c_int32
_waitset_wait = _library.dds_waitset_wait
_waitset_wait.argtypes = [ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64]
_waitset_wait.restype = ctypes.c_int32
_wait_for_acks = _library.dds_wait_for_acks
_wait_for_acks.argtypes = [ctypes.c_int32, ctypes.c_int64]
_wait_for_acks.restype = ctypes.c_int32
_delete = _library.dds_delete
_delete.argtypes = [ctypes.c_int32]
_delete.restype = ctypes.c_int32
