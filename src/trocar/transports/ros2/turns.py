"""Waiting for a pipe and for events of DDS in one thread."""

from __future__ import annotations

import os
import select
import threading
import time
from multiprocessing.connection import Connection

from trocar.transports.ros2.participant import Participant

LOOKED = 1.2e-3  # longest time between looks for events while there are some; states at 1000 Hz come earlier [s]
FEW = 0.05  # time without events after which the other thread waits for them [s]
WATCHED = 0.2  # interval between checks of the other thread for the end [s]


class Turns:
    """Waits for values of a pipe and events of a participant, for one thread that handles both.

    Two threads would not be faster, because Python runs one at a time, and each would wait for the other in the middle
    of its work. DDS cannot wait for a pipe. So while events come, the thread looks for them after every value and at
    least every 1.2 ms, which also collects commands that come together. If there are none, a second thread waits for
    them and wakes the first one.
    """

    def __init__(self, pipe: Connection, participant: Participant) -> None:
        self._pipe, self._participant = pipe.fileno(), participant
        self._woken, self._wake = os.pipe()
        self._looking = False  # the calling thread looks for events, the other one rests
        self._rested = threading.Semaphore(0)
        self._last, self._ignored = 0.0, 0.0  # times of the last events, and until which they are ignored [s]
        self._closed = False
        self._thread = threading.Thread(target=self._wait_for_events, daemon=True)
        self._thread.start()

    def wait(self) -> tuple[bool, list[int]]:
        """Wait for something; returns whether the pipe has a value, and the numbers of the participant's events."""
        sources = (self._pipe,) if self._looking else (self._pipe, self._woken)
        ready, _, _ = select.select(sources, (), (), LOOKED if self._looking else None)
        if self._woken in ready:
            os.read(self._woken, 1)
            self._looking, self._last = True, time.monotonic()
        return self._pipe in ready, self._events() if self._looking else []

    def pipe_ready(self) -> bool:
        """True if the pipe has a value now."""
        return bool(select.select((self._pipe,), (), (), 0.0)[0])

    def ignore_events(self, seconds: float) -> None:
        """Leave events where they are for a time [s]."""
        self._ignored = time.monotonic() + seconds

    def close(self) -> None:
        """End the other thread."""
        self._closed = True
        self._rested.release()
        self._thread.join()
        os.close(self._wake)
        os.close(self._woken)

    def _events(self) -> list[int]:
        now = time.monotonic()
        if now < self._ignored:
            self._last = now
            return []
        found = self._participant.wait(0.0)
        if found:
            self._last = now
        elif now > self._last + FEW:
            self._looking = False
            self._rested.release()
        return found

    def _wait_for_events(self) -> None:
        while not self._closed:
            if self._participant.wait(WATCHED):
                os.write(self._wake, b"\0")
                self._rested.acquire()
