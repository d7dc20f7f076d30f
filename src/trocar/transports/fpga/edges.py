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
_AGES = np.arange(_KEPT)[:, None]
_LONG = 10.0  # between edges that never happened [s]: longer than the timers run
# Edges as the FPGA names them (A up, B up, A down, B down: bits 3 to 0), and a bit for the direction: first those
# downwards, by the last two bits of the count before the edge, then those upwards, by those of the count after it.
_EDGES = np.array([2, 1, 8, 4, 16 | 8, 16 | 4, 16 | 2, 16 | 1])
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
        self._times = -_LONG * (1.0 + _AGES + np.zeros(n))  # of the last edges, newest first
        self._edges = np.full((_KEPT, n), 16)  # the edges themselves, newest first
        self._columns = np.arange(n)
        self._latch()
        self.run(0.0)

    def move(self, position: Array, start: float, end: float) -> None:
        """Move to positions (N,) at constant speed from time `start` to `end`."""
        counts = np.floor(position).astype(np.int64)
        crossed = counts - self.count
        if np.count_nonzero(crossed):
            self._cross(position, counts, crossed, start, end)
        self.position = position

    def _cross(self, position: Array, counts: Array, crossed: Array, start: float, end: float) -> None:
        up, number = crossed > 0, np.abs(crossed)
        # positions of the last edges, newest first: the new count upwards, one more downwards
        edges = counts + (crossed < 0) - _AGES * np.sign(crossed)
        travelled = position - self.position
        share = (edges - self.position) / np.where(travelled == 0.0, 1.0, travelled)
        times = start + (end - start) * np.minimum(np.maximum(share, 0.0), 1.0)
        # of the last six edges, those of this motion first, then older ones
        new, older = number > _AGES, np.maximum(_AGES - number, 0)
        self._times = np.where(new, times, self._times[older, self._columns])
        self._edges = np.where(new, _EDGES[4 * up + (edges & 3)], self._edges[older, self._columns])
        self.count = counts
        counter = counts + self.shift
        self.overflow |= (counter < 0) | (counter > 0xFFFFFF)
        self._latch()

    def _latch(self) -> None:
        """Registers of the last edges."""
        elapsed = (self._times[:-1] - self._times[1:]) * CLOCK
        quarters = np.minimum(np.maximum(elapsed, 1.0), TIMER).astype(np.int64)
        edges = self._edges
        total = quarters[:4].sum(axis=0)
        turned = ((edges[:4] ^ edges[0]) & 16).any(axis=0)
        flags = (total > TIMER) * OVERFLOW | turned * TURNED | (edges[3] == 16) * INCOMPLETE
        self.fields[0] = np.minimum(total, TIMER) | (edges[0] & 16) << 26 | flags
        for row, k in ((1, 0), (2, 4)):  # direction and edge are adjacent bits
            self.fields[row] = quarters[k] | edges[k] << 26 | (quarters[k] == TIMER) * OVERFLOW

    def run(self, now: float) -> None:
        """Set the running counters to the time since the last edge."""
        ticks = np.minimum((now - self._times[0]) * CLOCK, TIMER + 1.0).astype(np.int64)
        self.fields[3] = np.where(ticks > TIMER, OVERFLOW | TIMER, ticks) | (self._edges[0] & 16) << 26

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
