"""All that trocar uses of the private parts of cyclonedds' Python binding, as of version 11.0.

The public `WaitSet` does not report which entity has an event, and the binding deletes endpoints only with the garbage
collector. A test fails if another version is installed.
"""

from __future__ import annotations

import ctypes
from typing import Any

from cyclonedds.core import WaitSet
from cyclonedds.domain import DomainParticipant
from cyclonedds.internal import DDS

from trocar.errors import TrocarError

VERSION = "11.0"  # of cyclonedds with these parts


class NumberedWaitSet:
    """Waits for events of entities, which have numbers in the order in which they were attached."""

    def __init__(self, participant: DomainParticipant) -> None:
        self._set = WaitSet(participant)
        self._entities: list[Any] = []

    def attach(self, entity: Any) -> int:
        """Number of the events of an entity."""
        number = len(self._entities)
        if _waitset_attach(self._set._ref, entity._ref, number) < 0:
            raise TrocarError("cyclonedds cannot wait for another endpoint")
        self._entities.append(entity)
        return number

    def wait(self, seconds: float) -> list[int]:
        """Numbers of all entities with events; empty after a time [s]."""
        numbers = (ctypes.c_ssize_t * len(self._entities))()
        count = _waitset_wait(self._set._ref, numbers, len(numbers), round(seconds * 1e9))
        return numbers[: min(count, len(numbers))] if count > 0 else []


def delete(entity: Any) -> None:
    """Delete a participant or an endpoint now."""
    _delete(entity._ref)


_library = DDS._dll_handle
_waitset_attach = _library.dds_waitset_attach
_waitset_attach.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.c_ssize_t]
_waitset_attach.restype = ctypes.c_int32
_waitset_wait = _library.dds_waitset_wait
_waitset_wait.argtypes = [ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64]
_waitset_wait.restype = ctypes.c_int32
_delete = _library.dds_delete
_delete.argtypes = [ctypes.c_int32]
_delete.restype = ctypes.c_int32
