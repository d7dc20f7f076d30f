"""Real-time priority for the threads beside the control loop that serve its clients, where the system grants it."""

from __future__ import annotations

import os
from contextlib import suppress

PRIORITY = 5  # among real-time threads, of 1 to 99; the control loop itself comes before


def prioritise() -> None:
    """Let this thread run before those of other programs.

    A thread that is kept waiting while it has the interpreter lock keeps the control loop waiting too. Linux grants the
    priority to root and to users with a limit `rtprio`; for others nothing changes.
    """
    if hasattr(os, "sched_setscheduler"):  # macOS has none
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
