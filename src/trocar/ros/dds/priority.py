"""Real-time priority for the threads that serve clients next to the control loop, if the system grants it."""

from __future__ import annotations

import os
from contextlib import suppress

PRIORITY = 5  # among real-time threads, 1 to 99; below the control loop


def prioritise() -> None:
    """Run this thread before those of other programs.

    A thread that is preempted while it holds the interpreter lock also delays the control loop. Linux grants the
    priority to root and to users with a limit `rtprio`; for others nothing changes.
    """
    if hasattr(os, "sched_setscheduler"):  # missing on macOS
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
