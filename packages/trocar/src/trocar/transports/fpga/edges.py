"""Encoder counters and edge timers of the FPGA, of all axes at once.

Source: jhu-cisst/mechatronics-firmware, EncQuad and EncPeriodQuad. The FPGA counts every edge of the channels A and B,
and measures the time between edges with a clock of 49.152 MHz, that of the dVRK-Si of 80 MHz. It keeps the last five of
these times ("quarters").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar.spatial import Array

CLOCK = 49.152e6  # [Hz]
MIDDLE = 0x800000  # counters after power-up
COUNTER = 0xFFFFFF  # largest value of the counters
TIMER = (1 << 26) - 1  # largest time of the timers
OVERFLOW, UPWARDS, TURNED, INCOMPLETE = 1 << 31, 1 << 30, 1 << 29, 1 << 27
COUNTER_OVERFLOW, CHANNEL_A, CHANNEL_B = 1 << 24, 1 << 28, 1 << 29

_KEPT = 6  # edges: five times between them
_LONG = int(10.0 * CLOCK)  # between edges that never happened [ticks]: longer than the timers run
# An edge is one number: its time [ticks], then six bits: no edge yet, upwards, and the line that changed as the FPGA
# names it (A up, B up, A down, B down). The arrays are so short that the number of operations determines the time, and
# operations of arrays of one shape are the fastest.
_TIME = 6
_NONE, _UP, _NAME = 32, 16, 31
# Edges downwards by the last two bits of the count before the edge, then those upwards by those of the count after it.
_EDGES = np.array([2, 1, 8, 4, _UP | 8, _UP | 4, _UP | 2, _UP | 1])
_AGES = np.arange(_KEPT)
# Of the last six edges, newest first: codes by direction and count, times by that of the newest and the time between
# edges, and rows in a stack of six new and six old edges, by the number of new ones.
_CODES = np.stack([_EDGES[4 * up + (count - (2 * up - 1) * _AGES) % 4] for up in (0, 1) for count in range(4)], axis=1)
_TIMES = np.stack([np.ones(_KEPT), -_AGES], axis=1)
_ROWS = np.stack([np.where(new > _AGES, _AGES, _KEPT + _AGES - new) for new in range(_KEPT + 1)], axis=1)
_LINES = np.array([CHANNEL_A, CHANNEL_A | CHANNEL_B, CHANNEL_B, 0])  # of A and B, by the last two bits of the count


class EncoderTimers:
    """Counters and timers of N encoders. Times are those of the boards' clock [s], positions are in counts.

    Args:
        position: (N,) at the start. clock: (N,) of the timers [Hz].

    Attributes:
        position: (N,) of the encoders. count: (N,) edges since the start, upwards minus downwards.
        shift: (N,) counter minus count, changed by a preload.
        overflow: (N,) the counter passed an end of its range since the last preload.
        fields: (4, N) period, last quarter, the quarter four edges earlier, and running counter, as registers.
    """

    def __init__(self, position: Array, clock: ArrayLike = CLOCK) -> None:
        n = len(position)
        self._clock = np.full(n, clock, dtype=float)
        self.position = np.array(position, dtype=float)
        self._floor = np.floor(self.position)
        self.count = self._floor.astype(np.int64)
        self.shift = MIDDLE - self.count
        self.overflow = np.zeros(n, dtype=bool)
        self.fields = np.zeros((4, n), dtype=np.int64)
        self._stack = np.zeros((2 * _KEPT, n), dtype=np.int64)  # new edges, then the last ones, newest first
        self._last = self._stack[_KEPT:]
        self._last[:] = -_LONG * (1 + np.arange(_KEPT))[:, None] << _TIME | _NONE | _UP
        self._rows, self._columns = n * _ROWS, np.arange(n)
        self._shortest = np.repeat([[4], [1], [1]], n, axis=1)  # period and quarters [ticks]
        self._longest, self._zero, self._kept = np.full((3, n), TIMER), np.zeros(n), np.full(n, float(_KEPT))
        self._masks = {mask: np.full(n, mask) for mask in (3, 4, _UP, _NONE, COUNTER)}
        self._shifts = np.full((_KEPT, n), _TIME)
        self._newest = np.zeros((2, n))  # time of the newest edge and between edges [ticks]
        self._latch()
        self.run(0.0)

    def move(self, position: Array, start: float, end: float) -> None:
        """Move to positions (N,) at constant speed from time `start` to `end`."""
        floor = np.floor(position)
        crossed = floor - self._floor
        if np.count_nonzero(crossed):
            self._cross(position, floor, crossed, start, end)
        self.position = position

    def _cross(self, position: Array, floor: Array, crossed: Array, start: float, end: float) -> None:
        down, period = crossed < self._zero, (end - start) * self._clock
        slope = np.zeros(len(crossed))  # [ticks per count]
        np.divide(period, position - self.position, out=slope, where=crossed != self._zero)
        newest, between = self._newest
        np.add((floor + down - position) * slope, end * self._clock, out=newest)
        np.minimum(np.abs(slope), period, out=between)  # a motion that crosses a single edge may be slower
        edges, count, masks = self._stack[:_KEPT], floor.astype(np.int64), self._masks
        edges[:] = _TIMES.dot(self._newest)
        edges <<= self._shifts
        edges |= _CODES.take((count + down & masks[3]) + (crossed > self._zero) * masks[4], axis=1)
        rows = self._rows.take(np.minimum(np.abs(crossed), self._kept).astype(np.intp), axis=1)
        rows += self._columns
        self._last[:] = self._stack.take(rows)
        self._floor, self.count = floor, count
        counter = count + self.shift
        if np.count_nonzero(counter & masks[COUNTER] != counter):
            self.overflow |= counter & COUNTER != counter
        self._latch()

    def _latch(self) -> None:
        """Registers of the last edges."""
        last, times, masks = self._last, self.fields[:3], self._masks
        ticks = last >> self._shifts
        np.subtract(ticks[0], ticks[4], out=times[0])
        np.subtract(ticks[:5:4], ticks[1::4], out=times[1:])
        np.maximum(times, self._shortest, out=times)
        late = times > self._longest
        if np.count_nonzero(late):
            np.minimum(times, self._longest, out=times)
            times |= late * OVERFLOW
        names = (last[:5:4] & _NAME) << 26  # direction and line are adjacent bits
        times[1:] |= names
        # bits of the last four edges that are not equal, among them the direction
        different = np.bitwise_or.reduce(last[:4]) ^ np.bitwise_and.reduce(last[:4])
        times[0] |= names[0] & UPWARDS | (different & masks[_UP]) << 25 | (last[3] & masks[_NONE]) << 22

    def run(self, now: float) -> None:
        """Set the running counters to the time since the last edge."""
        last, running = self._last[0], self.fields[3]
        np.subtract((now * self._clock).astype(np.int64), last >> self._shifts[0], out=running)
        late = running > self._longest[0]
        if np.count_nonzero(late):
            np.minimum(running, self._longest[0], out=running)
            running |= late * OVERFLOW
        running |= (last & self._masks[_UP]) << 26

    def preload(self, axis: int, value: int) -> None:
        """Set a counter."""
        self.shift[axis] = value - self.count[axis]
        self.overflow[axis] = False

    @property
    def positions(self) -> Array:
        """Position registers (N,)."""
        counter = self.count + self.shift & COUNTER
        return counter | self.overflow * COUNTER_OVERFLOW | _LINES.take(self.count & 3)

    def slip(self, axis: int, counts: int) -> None:
        """Lose or gain counts, as after missed edges: the counter no longer agrees with the position."""
        self.shift[axis] += counts
