"""Waiting for a pipe and for events of DDS in one thread."""

from __future__ import annotations

import os
import select
import threading
import time
from multiprocessing.connection import Connection

from trocar.transports.ros2.cyclonedds_internals import Handler
from trocar.transports.ros2.participant import Participant

MAX_INTERVAL = 1.2e-3  # between polls of events while there are some; states at 1000 Hz come earlier [s]
IDLE = 0.05  # time without events after which the other thread waits for them [s]
POLL_INTERVAL = 0.2  # between checks of the other thread for the end [s]


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
