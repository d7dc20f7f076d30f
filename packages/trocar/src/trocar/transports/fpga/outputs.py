"""Digital outputs of the boards: levels, and timers by which a pulse ends by itself.

Source: mechatronics-firmware (CtrlDout). The timer of an output has a high and a low time; after the time of its level
the output changes, and 0 keeps the level. One time makes pulses, two a duty cycle. Levels are those of the registers:
AmpIO inverts them and exchanges both times.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from trocar.spatial import Array
from trocar.transports.fpga.edges import CLOCK

OUTPUTS = 8  # of a register, and of the DQLA; a QLA has 4


class DigitalOutputs:
    """Outputs of all boards.

    Args:
        first: (B,) first channel of each board. channels: number of channels M.

    Attributes:
        levels: (B,) a bit per output. times: (M,) low time (low half) and high time [1/49.152 MHz] of the output with
            the number of the channel. next_end: when the first of the running pulses ends [s].
        on_change: called with the board and its levels before and after a write or the end of a pulse.
    """

    def __init__(self, first: Array, channels: int) -> None:
        self._ranges = [range(a, b) for a, b in zip(first.tolist(), [*first.tolist()[1:], channels], strict=True)]
        self.levels, self.times = np.zeros(len(first), dtype=np.int64), np.zeros(channels, dtype=np.int64)
        self._ends: dict[tuple[int, int], float] = {}
        self.next_end = math.inf
        self.on_change: Callable[[int, int, int], None] | None = None

    def write(self, board: int, mask: int, levels: int, now: float) -> None:
        """Set the outputs in a mask, and start their timers."""
        self._set(board, (int(self.levels[board]) & ~mask) | (levels & mask))
        for bit in range(OUTPUTS):
            if mask >> bit & 1:
                self._start(board, bit, now)

    def set_times(self, board: int, bit: int, value: int, now: float) -> None:
        """Write the times of an output."""
        self.times[self._ranges[board][bit]] = value
        self._start(board, bit, now)

    def settle(self, now: float) -> None:
        """End the pulses that are over."""
        for (board, bit), end in list(self._ends.items()):
            if end <= now:
                del self._ends[board, bit]
                self._set(board, int(self.levels[board]) ^ 1 << bit)
        self.next_end = min(self._ends.values(), default=math.inf)

    def reset(self, board: int) -> None:
        """State after power-up."""
        self.levels[board], self.times[self._ranges[board]] = 0, 0
        self._ends = {key: end for key, end in self._ends.items() if key[0] != board}

    def _set(self, board: int, levels: int) -> None:
        before = int(self.levels[board])
        self.levels[board] = levels
        if self.on_change is not None and before != levels:
            self.on_change(board, before, levels)

    def _start(self, board: int, bit: int, now: float) -> None:
        self._ends.pop((board, bit), None)
        if bit < len(self._ranges[board]):
            times = int(self.times[self._ranges[board][bit]])
            high, low = times >> 16, times & 0xFFFF
            duration = high if self.levels[board] >> bit & 1 else low
            if duration and not (high and low):  # the level of a duty cycle has no meaning for a slower reader
                self._ends[board, bit] = now + duration / CLOCK
        self.next_end = min(self._ends.values(), default=math.inf)
