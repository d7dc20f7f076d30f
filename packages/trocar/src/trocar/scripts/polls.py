"""Scripts that poll: readings of the robot or of the clock in a loop that never waits.

In fast time nothing else lets time pass, so such a loop would never end. After many readings at the same time each
further one takes a little robot time, as it would on a robot.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trocar.robot.controller.constants import PERIOD

if TYPE_CHECKING:
    from trocar.scripts.session import Session

MAX_POLLS = 2000  # readings at one time of a script that does not poll
POLLS_PER_CYCLE = 50  # readings that then take one control cycle: 13 us each


class Polls:
    """Readings of a script in fast time between two waits, by thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._local = threading.local()
        self._warned = False

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The thread waits: readings in the conditions of the wait do not count."""
        outer, self._local.waits = getattr(self._local, "waits", False), True
        try:
            yield
        finally:
            self._local.waits, self._local.count = outer, 0

    @contextmanager
    def computing(self) -> Iterator[None]:
        """A callback of the script runs while its thread waits: its own readings count."""
        outer, self._local.waits, self._local.count = getattr(self._local, "waits", False), False, 0
        try:
            yield
        finally:
            self._local.waits = outer

    def count(self) -> None:
        """Count a reading; lets time pass if there were too many."""
        local = self._local
        if not self._session.fast or getattr(local, "waits", False):
            return
        local.count = getattr(local, "count", 0) + 1
        if local.count < MAX_POLLS:
            return
        if not self._warned:
            self._warned = True
            text = (
                f"the script has read the robot or the clock {MAX_POLLS} times without sleeping; from now on "
                f"{POLLS_PER_CYCLE} such readings take {1e3 * PERIOD:.2f} ms of robot time. Sleep in the loop, for "
                "instance with ral.create_rate(200).sleep()"
            )
            print(f"trocar run: {text}", file=sys.stderr, flush=True)
        self._session.sleep(PERIOD, stoppable=False)
        local.count = MAX_POLLS - POLLS_PER_CYCLE
