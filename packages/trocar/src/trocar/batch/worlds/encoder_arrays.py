"""Encoders of many worlds in NumPy; `encoder_kernels` has them for Warp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trocar.laws.encoder import RESTED, encoder, rested_encoder
from trocar.laws.law import ScalarLaw
from trocar.laws.sources.function_source import on_arrays
from trocar.spatial import Array

_READING, _RESTED_READING = on_arrays(ScalarLaw(encoder)), on_arrays(ScalarLaw(rested_encoder))
EDGES = ("count", "position", "edge", "age")  # memory of the encoders, arrays (n, N)


@dataclass(eq=False)
class EncoderArrays:
    """Encoders of N motors in n worlds.

    Attributes:
        resolution: (N,) [rad, m per count]. bias: (n, N) of the calibrated positions [rad, m].
        count, position, edge, age: (n, N) last count, position, boundary crossed [rad, m] and time since then [s].
    """

    resolution: Array
    bias: Array
    count: Array
    position: Array
    edge: Array
    age: Array

    @classmethod
    def at_rest(cls, resolution: Array, n: int) -> EncoderArrays:
        """Encoders at zero without bias."""
        bias, *edges = (np.zeros((n, len(resolution))) for _ in range(5))
        return cls(resolution, bias, *edges)

    def place(self, rows: Array, s: Array) -> Array:
        """Readings (k, N) of worlds that were placed at positions s (k, N), at rest."""
        s = s + self.bias[rows]
        q, count = _RESTED_READING(s, self.resolution)
        self.count[rows], self.position[rows], self.edge[rows], self.age[rows] = count, s, q, RESTED
        return np.asarray(q)

    def read(self, s: Array, v: Array, dt: float) -> tuple[Array, Array]:
        """Positions and velocities (n, N) one cycle after the last reading; s: positions, v: last velocities."""
        s = s + self.bias
        last = self.count, self.position, self.edge, self.age
        q, v, self.count, self.edge, self.age = _READING(s, *last, v, self.resolution, dt)
        self.position = s
        return q, v
