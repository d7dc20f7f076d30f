"""Potentiometers of the dVRK-Si, whose positions are in a table by their bits.

Source: sawRobotIO1394 (potentiometers of type DIGITAL). Entries that the maker did not measure are 31.4159; the client
reports a fault if a potentiometer reads one of them.
"""

from __future__ import annotations

import numpy as np

from trocar.errors import TrocarError
from trocar.spatial import Array

MAX_POSITION = 31.0  # larger entries are unknown
CELLS = 1 << 15  # of the inverted table: finer than its entries


class PotTable:
    """Inverse of the tables (n, 4096) of an arm: bits by actuator positions."""

    def __init__(self, name: str, tables: Array) -> None:
        self._rows = np.arange(len(tables))
        self._bits = np.zeros((len(tables), CELLS), dtype=np.int64)
        self._low, self._scale = np.zeros(len(tables)), np.zeros(len(tables))
        for k, table in enumerate(tables):
            bits = np.flatnonzero(np.abs(table) < MAX_POSITION)
            bits = bits[np.argsort(table[bits], kind="stable")]
            positions = table[bits]
            if len(bits) < 2 or positions[0] == positions[-1]:
                raise TrocarError(f"the potentiometer of actuator {k} of {name} has no range in its lookup table")
            cells = np.linspace(positions[0], positions[-1], CELLS)
            nearest = np.searchsorted(0.5 * (positions[1:] + positions[:-1]), cells)
            self._bits[k], self._low[k] = bits[nearest], positions[0]
            self._scale[k] = (CELLS - 1) / (positions[-1] - positions[0])

    def bits(self, positions: Array) -> Array:
        """Bits (n,) of the nearest entries; beyond the range, of its end."""
        cells = np.rint((positions - self._low) * self._scale)
        cells = np.minimum(np.maximum(cells, 0.0), CELLS - 1).astype(np.int64)
        return np.asarray(self._bits[self._rows, cells])
