"""Real-time priority for the threads that serve clients next to the control loop, if the system grants it.

Without it a message waits for a processor once more in every thread on its way, on a busy machine for milliseconds.
Linux grants the priority to root and to users with a limit `rtprio`; for others nothing changes.

Threads that are overloaded would starve the clients. So the priority is given up while they use most of a processor.
The process of a node asks for it only on request: measured on two busy cores, its clients took more than twice as long.

On an idle machine a processor sleeps between messages, and waking it takes time: on a virtual machine the reply of six
controller boards took 405 us on average, and 188 us with `awake_processors`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

# Among real-time threads, 1 to 99. The control loop has 10. A thread of its process comes next: it can hold the
# interpreter lock or the bus, and a delay of it is then one of the loop.
THREAD, PROCESS = 9, 5
WAKE_UP = "/dev/cpu_dma_latency"  # of Linux: longest time to wake up a processor, as long as the file is open [us]
WINDOW = 0.1  # interval between checks of the processor time [s]
# Shares of a processor above which the priority is given up, and below which it is taken again.
MAX_SHARE, LOW_SHARE = 0.9, 0.7


class Urgency:
    """Real-time priority of some threads while they use less than most of a processor.

    Args:
        used: processor time of the threads so far [s]. threads: their numbers; 0 is the calling thread.
        priority: among real-time threads; that of a process is inherited by the threads that it starts.

    Attributes:
        granted: the system grants the priority.
    """

    def __init__(self, used: Callable[[], float], threads: Callable[[], Iterable[int]], priority: int) -> None:
        self._used, self._threads, self._priority = used, threads, priority
        self._before, self._since = used(), time.monotonic()
        self._ordinary = (os.sched_getscheduler(0), os.sched_getparam(0)) if hasattr(os, "sched_getparam") else None
        self.granted = self._urgent = self._request(True)

    def check(self) -> None:
        """Give up the priority or take it again, depending on the processor time since the last check."""
        elapsed = time.monotonic() - self._since
        if not self.granted or elapsed < WINDOW:
            return
        used = self._used()
        share = (used - self._before) / elapsed
        self._before, self._since = used, self._since + elapsed
        if share > MAX_SHARE if self._urgent else share < LOW_SHARE:
            self._urgent = not self._urgent
            self._request(self._urgent)

    def release(self) -> None:
        """Give up the priority for good."""
        if self.granted:
            self._request(False)
            self.granted = self._urgent = False

    def _request(self, urgent: bool) -> bool:
        if self._ordinary is None:  # on macOS
            return False
        policy, parameter = (os.SCHED_RR, os.sched_param(self._priority)) if urgent else self._ordinary
        if self._priority != PROCESS:
            policy |= os.SCHED_RESET_ON_FORK
        done = False
        for thread in self._threads():
            with suppress(OSError):  # not permitted, or the thread has ended
                os.sched_setscheduler(thread, policy, parameter)
                done = True
        return done


def urgent_thread(priority: int = THREAD) -> Urgency:
    """Priority for this thread; call `check` in its loop."""
    return Urgency(time.thread_time, lambda: (0,), priority)


def urgent_process() -> Urgency:
    """Priority for all threads of this process, also for those that start later; checked in a separate thread."""
    urgency = Urgency(time.process_time, lambda: map(int, os.listdir("/proc/self/task")), PROCESS)

    def watch() -> None:
        while True:
            time.sleep(WINDOW)
            urgency.check()

    if urgency.granted:
        threading.Thread(target=watch, daemon=True).start()
    return urgency


@contextmanager
def awake_processors() -> Iterator[bool]:
    """Keep processors from sleeping while they are idle; True if the system lets this process ask for it (root)."""
    try:
        request = open(WAKE_UP, "wb", buffering=0)  # noqa: SIM115
    except OSError:
        yield False
        return
    with request:
        request.write((0).to_bytes(4, sys.byteorder))
        yield True
