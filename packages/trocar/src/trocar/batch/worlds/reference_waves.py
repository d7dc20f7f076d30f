"""References of sinusoids that fade in from rest, which every world evaluates in every cycle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trocar.control.trajectories.paths import SCALINGS
from trocar.spatial import Array, ArrayModule, Values

WAVES = ("centre", "size", "rate", "phase")  # arrays of `Waves`
scaled: Callable[[Values], tuple[Values, Values, Values]] = SCALINGS["quintic"]  # for arrays as well


@dataclass(frozen=True, eq=False)
class Waves:
    """q(t) = centre + r(t) size sin(rate t + phase); r is a quintic from 0 to 1, at rest at both ends.

    Attributes:
        centre, size: (n, joints) [rad, m]. rate: (n, joints) [rad/s]. phase: (n, joints) [rad]. Arrays of the backend.
        ramp: time of the quintic [s].
    """

    centre: Values
    size: Values
    rate: Values
    phase: Values
    ramp: float

    def positions(self, xp: ArrayModule, t: Values) -> Values:
        """Positions (..., joints) at times (...) [s]; xp: numpy or torch, of which all are arrays."""
        u = xp.clip(t / self.ramp, 0.0, 1.0)[..., None]
        return self.centre + scaled(u)[0] * self.size * xp.sin(self.rate * t[..., None] + self.phase)

    def motion(self, t: Array) -> tuple[Array, Array, Array]:
        """Positions, rates and accelerations (n, joints) at times (n,) [s], in NumPy."""
        ramp, w = self.ramp, self.rate
        r, dr, ddr = scaled(np.minimum(t / ramp, 1.0)[:, None])
        dr, ddr = dr / ramp, ddr / ramp**2
        angle = w * t[:, None] + self.phase
        s, c = self.size * np.sin(angle), self.size * np.cos(angle)
        return self.centre + r * s, dr * s + r * w * c, ddr * s + 2.0 * dr * w * c - r * w * w * s
