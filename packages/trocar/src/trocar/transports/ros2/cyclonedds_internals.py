"""All that trocar uses of the private parts of cyclonedds' Python binding, as of version 11.0.

The public `WaitSet` does not report which entity has an event, and the binding deletes endpoints only with the garbage
collector. It reads all qualities of service through the same static variables: two threads at once would crash, so they
take turns here. A test fails if another version is installed.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from cyclonedds.core import WaitSet
from cyclonedds.domain import DomainParticipant
from cyclonedds.internal import DDS
from cyclonedds.qos import _CQos

from trocar.errors import TrocarError

VERSION = "11.0"  # of cyclonedds with these parts
FATAL, ERROR = 1, 2  # categories of its log
Handler = Callable[[], None]


_reading_qos = threading.RLock()
_qos_of: Any = _CQos.cqos_to_qos


def _qos_in_turn(pointer: Any) -> Any:
    with _reading_qos:
        return _qos_of(pointer)


_CQos.cqos_to_qos = _qos_in_turn  # type: ignore[method-assign]


class EventSet:
    """Waits for events of entities, each with its handler."""

    def __init__(self, participant: DomainParticipant) -> None:
        self._set = WaitSet(participant)
        self._attached: list[tuple[Any, Handler]] = []

    def attach(self, entity: Any, handler: Handler) -> None:
        self._attached.append((entity, handler))
        if _waitset_attach(self._set._ref, entity._ref, len(self._attached) - 1) < 0:
            raise TrocarError("cyclonedds cannot wait for another endpoint")

    def wait(self, seconds: float) -> list[Handler]:
        """Handlers of all entities with events; empty after a time [s]."""
        numbers = (ctypes.c_ssize_t * len(self._attached))()
        count = _waitset_wait(self._set._ref, numbers, len(numbers), round(seconds * 1e9))
        return [self._attached[number][1] for number in numbers[: max(count, 0)]]


def delete(entity: Any) -> None:
    """Delete a participant or an endpoint now."""
    _delete(entity._ref)


def silence_warnings() -> None:
    """Let cyclonedds print errors only. It warns about every malformed packet: any sender could fill the terminal."""
    _set_log_mask(FATAL | ERROR)


def _function(name: str, *arguments: Any, result: Any = ctypes.c_int32) -> Any:
    function = getattr(DDS._dll_handle, name)
    function.argtypes, function.restype = arguments, result
    return function


_waitset_attach = _function("dds_waitset_attach", ctypes.c_int32, ctypes.c_int32, ctypes.c_ssize_t)
_waitset_wait = _function("dds_waitset_wait", ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)
_delete = _function("dds_delete", ctypes.c_int32)
_set_log_mask = _function("dds_set_log_mask", ctypes.c_uint32, result=None)
