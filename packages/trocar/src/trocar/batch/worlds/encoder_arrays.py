"""Encoders of many worlds in NumPy: quantised positions, and velocities from the time between edges.

The readings are those of `robot.controller.actuators.ActuatorSensors`, with a row per world; `encoder_kernels` has them
for Warp.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trocar.spatial import Array

MIN_INTERVAL = 1e-6  # time between edges [s]
RESTED = 1.0  # time since the last edge of an arm that was placed [s]
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
        count = np.rint(s / self.resolution)
        q = count * self.resolution
        self.count[rows], self.position[rows], self.edge[rows], self.age[rows] = count, s, q, RESTED
        return np.asarray(q)

    def read(self, s: Array, v: Array, dt: float) -> tuple[Array, Array]:
        """Positions and velocities (n, N) one cycle after the last reading; s: positions, v: last velocities."""
        s = s + self.bias
        count = np.rint(s / self.resolution)
        steps = count - self.count
        moved = steps != 0.0
        edge = (count - 0.5 * np.sign(steps)) * self.resolution
        since = dt * (s - edge) / np.where(moved, s - self.position, 1.0)
        age = self.age + dt
        v = np.where(moved, (edge - self.edge) / np.maximum(age - since, MIN_INTERVAL), v)
        self.edge, self.age = np.where(moved, edge, self.edge), np.where(moved, since, age)
        # no edge for a while: it cannot be faster than one count in that time
        bound = np.where(moved, np.inf, self.resolution / np.maximum(self.age, MIN_INTERVAL))
        self.count, self.position = count, s
        return count * self.resolution, np.clip(v, -bound, bound)
