"""Control cycles in real time, and the number of late ones."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from trocar.robot.controller.constants import PERIOD

MOST_LAG = 0.1  # largest delay that is caught up [s]
UNBROKEN = 15  # cycles without a pause while the loop catches up
REST = 1e-3  # pause in which other threads can lock the bus [s]
SWITCH = 3e-4  # Python's thread switch interval; its default of 5 ms is seven cycles [s]
PRIORITY = 10  # among real-time threads, of 1 to 99


class Pace:
    """Cycles of 1/1500 s at a speed relative to real time, each with an absolute due time.

    The thread sleeps until the next cycle is due. A loop that is behind runs its cycles without sleeping, except for a
    short pause every 15 cycles: otherwise threads that wait for the bus would never get it.

    Attributes:
        cycles: number of cycles so far. late: number of cycles that began more than a period after they were due.
        prioritised: the thread has real-time priority, which the system grants to root and to users with a limit
            `rtprio`. Without it other programs delay the cycles.
    """

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = speed
        self.cycles = self.late = 0
        self.prioritised = False

    def keep(self, cycle: Callable[[], None], closing: threading.Event) -> None:
        """Run every cycle when it is due, until `closing` is set."""
        gc.freeze()  # a full collection of all objects of a scene would take 70 ms, which is a hundred cycles
        try:
            with _urgent_thread() as self.prioritised:
                self._keep(cycle, closing)
        finally:
            gc.unfreeze()

    def _keep(self, cycle: Callable[[], None], closing: threading.Event) -> None:
        period = PERIOD / self._speed if self._speed else PERIOD  # in real time [s]
        due, unbroken = time.perf_counter() + period, 0
        while not closing.is_set():
            behind = time.perf_counter() - due
            if behind < 0.0:
                time.sleep(-behind)
                unbroken = 0
            elif unbroken == UNBROKEN:
                time.sleep(REST)
                unbroken = 0
            else:
                due = max(due, due + behind - MOST_LAG)  # older cycles are dropped
                self.late += behind > PERIOD
                self.cycles += 1
                unbroken += 1
                cycle()
                due += period


@contextmanager
def _urgent_thread() -> Iterator[bool]:
    """Request real-time priority for this thread, not for child processes; True if the system grants it."""
    switch = sys.getswitchinterval()
    sys.setswitchinterval(min(SWITCH, switch))
    granted = False
    if hasattr(os, "sched_setscheduler"):  # missing on macOS
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
            granted = True
    try:
        yield granted
    finally:
        if granted:
            os.sched_setscheduler(0, *before)
        sys.setswitchinterval(switch)
