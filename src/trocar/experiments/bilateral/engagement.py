"""Following, holding during an outage, and resuming without a jump."""

from __future__ import annotations

import numpy as np

from trocar.spatial import Array


class Engagement:
    """Monitor of one end of a line (N of them): `following` is False from an outage until the end of re-alignment.

    Without a new packet for longer than `timeout` the end disengages: the slave holds its set-point, the master's force
    is set to zero. After packets have arrived for `steady` without such a gap, new origins are set, as after clutching:
    displacements count from there, and nothing jumps.

    Args:
        timeout, steady: [s].

    Attributes:
        following: (N,) bool. outages: (N,) number of outages.
    """

    def __init__(self, N: int, dt: float, timeout: float = 0.03, steady: float = 0.1) -> None:
        self.dt, self.timeout, self.steady = dt, timeout, steady
        self.following, self.outages = np.ones(N, dtype=bool), np.zeros(N, dtype=int)
        self._silent, self._good, self._begun = np.zeros(N), np.zeros(N), np.zeros(N, dtype=bool)
        self._held, self._origin = np.zeros((3, N)), np.zeros((3, N))

    def update(self, fresh: Array, x: Array) -> Array:
        """Displacement (3, N) to follow, from the received x and the flag (N,) for a new packet."""
        self._begun |= fresh
        self._silent = np.where(fresh | ~self._begun, 0.0, self._silent + self.dt)
        gap = self._silent > self.timeout
        self.outages += gap & self.following
        self._good = np.where(gap | ~self._begun, 0.0, self._good + self.dt)
        back = ~self.following & (self._good >= self.steady)
        if back.any():
            self._origin = np.where(back, self._held - x, self._origin)
        self.following = (self.following | back) & ~gap
        self._held = np.where(self.following, x + self._origin, self._held)
        return self._held
