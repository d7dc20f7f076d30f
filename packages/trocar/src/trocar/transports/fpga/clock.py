"""The boards' clock: times of arrival of packets, without the pauses of this process.

A real controller never pauses. If this process is suspended, the boards' clock stops with it, so that neither the
watchdog nor the engine notices. If the client is silent, the clock runs on, and the watchdog acts.
"""

from __future__ import annotations

MIN_PAUSE = 2e-3  # a packet that waited longer was held up by this process [s]
MAX_JUMP = 0.5  # of the system's clock backwards [s]


class BoardClock:
    """Time of the boards from times of the system [s].

    Attributes:
        pauses: number of pauses so far. paused: their duration [s].
    """

    def __init__(self, start: float) -> None:
        self._offset, self._seen, self._last = start, start, start
        self.now = 0.0
        self.pauses, self.paused = 0, 0.0

    def arrive(self, arrival: float, seen: float) -> float:
        """Time of a packet that arrived at a time and was seen at a later one."""
        if arrival < self._last - MAX_JUMP:  # the system's clock was set back
            self._offset += arrival - self._last
            self._seen = arrival
        self.now = max(self.now, arrival - self._offset)
        pause = seen - max(arrival, self._seen)  # packets that wait in one pause count it once
        if pause > MIN_PAUSE:
            self._offset += pause
            self.pauses += 1
            self.paused += pause
        self._last, self._seen = arrival, seen
        return self.now
