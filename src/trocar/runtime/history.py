"""The last seconds of one arm, for plots."""

from __future__ import annotations

import threading
from collections import deque

import numpy as np

from trocar.spatial import Array


class History:
    """The last `seconds` of simulated time, one row every `interval` [s]; one thread writes, any may read."""

    NAMES = ("q", "dq", "ddq", "tau", "q_ref")

    def __init__(self, seconds: float = 8.0, interval: float = 0.02) -> None:
        self._rows: deque[tuple[float, tuple[Array, ...]]] = deque(maxlen=round(seconds / interval))
        self._interval, self._lock = interval, threading.Lock()

    def add(self, t: float, *values: Array) -> None:
        """Add values in the order of NAMES, unless it is too soon after the last row."""
        if self._rows and t - self._rows[-1][0] < 0.999 * self._interval:
            return
        with self._lock:
            self._rows.append((t, values))

    def clear(self) -> None:
        with self._lock:
            self._rows.clear()

    def arrays(self) -> dict[str, Array]:
        """Times (N,) under "t" and every channel (N, n) under its name; empty arrays before the first row."""
        with self._lock:
            rows = list(self._rows)
        if not rows:
            return {name: np.zeros((0,)) for name in ("t", *self.NAMES)}
        columns = zip(*(values for _, values in rows), strict=True)
        return {"t": np.array([t for t, _ in rows]), **dict(zip(self.NAMES, map(np.array, columns), strict=True))}
