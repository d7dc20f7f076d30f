"""Encoder counters and edge timers of the FPGA, of all axes at once.

Source: jhu-cisst/mechatronics-firmware, EncQuad and EncPeriodQuad. The FPGA counts every edge of the channels A and B,
and measures the time between edges with a clock of 49.152 MHz. It keeps the last five of these times ("quarters").
"""

from __future__ import annotations

import numpy as np

from trocar.spatial import Array

CLOCK = 49.152e6  # [Hz]
MIDDLE = 0x800000  # counters after power-up
TIMER = (1 << 26) - 1  # largest time of the timers
OVERFLOW, UPWARDS, TURNED, INCOMPLETE = 1 << 31, 1 << 30, 1 << 29, 1 << 27
COUNTER_OVERFLOW, CHANNEL_A, CHANNEL_B = 1 << 24, 1 << 28, 1 << 29

_KEPT = 6  # edges: five times between them
# Edges as the FPGA names them (A up, B up, A down, B down: bits 3 to 0), by the last two bits of the count after an
# edge upwards, and before one downwards.
_RISING, _FALLING = np.array([8, 4, 2, 1]), np.array([2, 1, 8, 4])
_LINES = np.array([CHANNEL_A, CHANNEL_A | CHANNEL_B, CHANNEL_B, 0])  # of A and B, by the last two bits of the count


class EncoderTimers:
    """Counters and timers of N encoders. Times are those of the boards' clock [s], positions are in counts.

    Attributes:
        count: (N,) edges since the start, upwards minus downwards. shift: counter minus count, changed by a preload.
        overflow: (N,) the counter passed an end of its range since the last preload.
        fields: (4, N) period, last quarter, the quarter four edges earlier, and running counter, as registers.
    """

    def __init__(self, position: Array) -> None:
        n = len(position)
        self.position = np.array(position, dtype=float)
        self.count = np.floor(self.position).astype(np.int64)
        self.shift = MIDDLE - self.count
        self.overflow = np.zeros(n, dtype=bool)
        self.fields = np.zeros((4, n), dtype=np.int64)
        self._times = np.full((_KEPT, n), -np.inf)  # of the last edges, newest first
        self._upwards = np.ones((_KEPT, n), dtype=bool)
        self._masks = np.zeros((_KEPT, n), dtype=np.int64)
        self._running = np.full(n, -np.inf)
        self._latch(np.arange(n))
        self.run(0.0)

    def move(self, position: Array, start: float, end: float) -> None:
        """Move to positions (N,) at constant speed from time `start` to `end`."""
        counts = np.floor(position)
        changed = np.flatnonzero(counts != self.count)
        if len(changed):
            self._cross(changed, position[changed], counts[changed].astype(np.int64), start, end)
        self.position = position

    def _cross(self, axes: Array, after: Array, counts: Array, start: float, end: float) -> None:
        before = self.position[axes]
        crossed = counts - self.count[axes]
        up = crossed > 0
        newest = counts + ~up  # position of the last edge: the new count upwards, one more downwards
        age = np.arange(_KEPT)[:, None]
        edges = newest - np.where(up, age, -age)  # positions of the last edges, newest first
        travelled = after - before
        share = (edges - before) / np.where(travelled == 0.0, 1.0, travelled)
        times = start + (end - start) * np.minimum(np.maximum(share, 0.0), 1.0)
        masks = np.where(up, _RISING[edges & 3], _FALLING[edges & 3])
        # of the last six edges, those of this motion first, then older ones
        new = age < np.abs(crossed)
        older = np.maximum(age - np.abs(crossed), 0)
        columns = axes[None, :]
        self._times[:, axes] = np.where(new, times, self._times[older, columns])
        self._upwards[:, axes] = np.where(new, up, self._upwards[older, columns])
        self._masks[:, axes] = np.where(new, masks, self._masks[older, columns])
        self._running[axes] = self._times[0, axes]
        self.count[axes] = counts
        counter = counts + self.shift[axes]
        self.overflow[axes] |= (counter < 0) | (counter > 0xFFFFFF)
        self._latch(axes)

    def _latch(self, axes: Array) -> None:
        """Registers of the last edges."""
        times = self._times[:, axes]
        with np.errstate(invalid="ignore"):  # no edge yet: infinite minus infinite
            elapsed = np.nan_to_num((times[:-1] - times[1:]) * CLOCK, nan=np.inf, posinf=2.0 * TIMER)
        quarters = np.minimum(np.maximum(elapsed, 1.0), TIMER).astype(np.int64)
        up, masks = self._upwards[:, axes], self._masks[:, axes]
        direction = np.where(up, UPWARDS, 0)
        total = quarters[:4].sum(axis=0)
        turned = (up[:4] != up[0]).any(axis=0)
        period = np.minimum(total, TIMER) | direction[0]
        period |= np.where(total > TIMER, OVERFLOW, 0) | np.where(turned, TURNED, 0)
        self.fields[0, axes] = period | np.where(masks[3] == 0, INCOMPLETE, 0)
        for row, k in ((1, 0), (2, 4)):
            long = np.where(quarters[k] == TIMER, OVERFLOW, 0)
            self.fields[row, axes] = quarters[k] | direction[k] | masks[k] << 26 | long

    def run(self, now: float) -> None:
        """Set the running counters to the time since the last edge."""
        ticks = np.minimum((now - self._running) * CLOCK, TIMER + 1.0).astype(np.int64)
        direction = np.where(self._upwards[0], UPWARDS, 0)
        self.fields[3] = np.where(ticks > TIMER, OVERFLOW | TIMER, ticks) | direction

    def preload(self, axis: int, value: int) -> None:
        """Set a counter."""
        self.shift[axis] = value - self.count[axis]
        self.overflow[axis] = False

    @property
    def positions(self) -> Array:
        """Position registers (N,)."""
        counter = self.count + self.shift
        return (counter & 0xFFFFFF) | np.where(self.overflow, COUNTER_OVERFLOW, 0) | _LINES[self.count & 3]

    def slip(self, axis: int, counts: int) -> None:
        """Lose or gain counts, as after missed edges: the counter no longer agrees with the position."""
        self.shift[axis] += counts
