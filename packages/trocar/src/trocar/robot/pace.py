"""Cycles in real time: play, pause, speed, and the number of late cycles."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

from trocar.errors import TrocarError, check_known
from trocar.robot.controller.constants import PERIOD

MAX_LAG = 0.1  # largest delay that is caught up [s]
UNBROKEN = 15  # cycles without a pause while the loop catches up
YIELD = 1e-3  # pause in which other threads can lock the bus [s]
POLL_INTERVAL = 0.05  # between checks whether a paused robot is closed [s]
FACTOR_INTERVAL = 0.5  # least time over which the achieved speed is measured [s]
SWITCH = 3e-4  # Python's thread switch interval; its default of 5 ms is seven cycles [s]
PRIORITY = 10  # among real-time threads, of 1 to 99


class Pace:
    """Cycles of a period, 1/1500 s by default, at a speed relative to real time, each with an absolute due time.

    The thread sleeps until the next cycle is due. A loop that is behind runs its cycles without sleeping, except for a
    short pause every 15 cycles: otherwise threads that wait for the bus would never get it.

    Attributes:
        cycles: number of cycles so far. late: number of cycles that began more than a period after they were due.
        prioritised: the thread has real-time priority, which the system grants to root and to users with a limit
            `rtprio`. Without it other programs delay the cycles.
        speed: requested ratio of simulated to real time; 0 if no thread runs the cycles.
        playing: cycles run; `play` and `pause` change it.
        period: simulated time of a cycle [s].
    """

    def __init__(self, speed: float = 1.0, playing: bool = True, period: float = PERIOD) -> None:
        self.cycles = self.late = 0
        self.period = period
        self.prioritised = False
        self.playing = playing
        self._wake = threading.Event()
        self._measured = time.perf_counter(), 0, 0.0  # time and cycles at the last measurement, factor
        self.set_speed(speed)
        self.restart()

    def set_speed(self, speed: float) -> None:
        self.speed = speed
        self._real_period = self.period / speed if speed else self.period  # in real time [s]

    def play(self) -> None:
        self.playing = True
        self._wake.set()

    def pause(self) -> None:
        self._wake.clear()
        self.playing = False

    @property
    def factor(self) -> float:
        """Achieved ratio of simulated to real time, measured over 0.5 s or more; 0 while paused."""
        since, cycles, factor = self._measured
        now = time.perf_counter()
        if now - since >= FACTOR_INTERVAL:
            factor = (self.cycles - cycles) * self.period / (now - since)
            self._measured = now, self.cycles, factor
        return factor if self.playing else 0.0

    def keep(self, cycle: Callable[[], None], closing: threading.Event) -> None:
        """Run every cycle when it is due, until `closing` is set."""
        gc.freeze()  # a full collection of all objects of a scene would take 70 ms, which is a hundred cycles
        try:
            with _urgent_thread() as self.prioritised:
                self.restart()
                while self.wait(closing.is_set):
                    cycle()
        finally:
            gc.unfreeze()

    def restart(self) -> None:
        """Let the next cycle be due one period from now, however late it was."""
        self._due, self._unbroken = time.perf_counter() + self._real_period, 0

    def wait(self, stopped: Callable[[], bool]) -> bool:
        """Wait until the next cycle is due, and count it; False if `stopped` is true before."""
        while not stopped():
            if not self.playing:
                self._wake.wait(POLL_INTERVAL)
                self.restart()
                continue
            behind = time.perf_counter() - self._due
            if behind < 0.0:
                time.sleep(min(-behind, POLL_INTERVAL))
                self._unbroken = 0
            elif self._unbroken == UNBROKEN:
                time.sleep(YIELD)
                self._unbroken = 0
            else:
                self._due = max(self._due, self._due + behind - MAX_LAG) + self._real_period  # older ones are dropped
                self.late += behind > self.period
                self.cycles += 1
                self._unbroken += 1
                return True
        return False


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


def factor_of(speed: str | float) -> float:
    """Ratio of simulated to real time; 0 if no thread advances the simulation."""
    if isinstance(speed, str):
        check_known("speed", ("fast", "real", "stepped"), speed)
        return 1.0 if speed == "real" else 0.0
    if not (np.isfinite(speed) and speed > 0):
        raise TrocarError(f'speed must be "fast", "real", "stepped" or a positive number, got {speed!r}')
    return float(speed)
