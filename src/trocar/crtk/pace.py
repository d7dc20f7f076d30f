"""Control cycles in real time, and how many of them come late."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from trocar.crtk.controller.constants import PERIOD

REST = 0.0005  # between two looks at the clock [s]
MOST_LAG = 0.1  # real time that is caught up [s]


class Pace:
    """Cycles of 1/1500 s at a speed relative to real time.

    Attributes:
        cycles: taken so far. late: those that began more than a period after they were due.
    """

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = speed
        self.cycles = self.late = 0

    def keep(self, cycle: Callable[[], None], closing: threading.Event) -> None:
        """Take the cycles that are due, then rest, until `closing` is set."""
        due, last = 0.0, time.perf_counter()
        while not closing.is_set():
            now = time.perf_counter()
            due = min(due + (now - last) * self._speed, MOST_LAG * self._speed)
            last = now
            while due >= PERIOD and not closing.is_set():
                behind = due + (time.perf_counter() - last) * self._speed - PERIOD
                self.late += behind > PERIOD
                self.cycles += 1
                cycle()
                due -= PERIOD
            time.sleep(REST)
