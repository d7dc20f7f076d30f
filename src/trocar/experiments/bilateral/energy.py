"""Observed energy of a teleoperation channel at both ports."""

from __future__ import annotations

import numpy as np

from trocar.spatial import Array


class EnergyObserver:
    """Energy that crossed one port of the channel, split by direction (Ryu et al. 2010).

        E_in = sum max(dE, 0),   E_out = sum max(-dE, 0),   dE = energy given to the channel in one step

    The sum E_in - E_out ignores the delay: energy that enters at one side can leave at the other side only a delay
    later. So each side sends its E_in, and compares the energy that left here with the energy that had entered at the
    other side at sending time:

        W(t) = E_in,other(t - T) - E_out(t) + E_dissipated(t)  >= 0  on both sides: the channel is passive.

    Attributes:
        E_in, E_out, dissipated: (N,) [J]. least: smallest W so far (N,) [J].
    """

    def __init__(self, N: int) -> None:
        self.E_in, self.E_out, self.dissipated, self.least = (np.zeros(N) for _ in range(4))

    def add(self, given: Array, dissipated: Array | float = 0.0) -> None:
        """Add the energy `given` to the channel in one step, and the energy dissipated at this port (N,) [J]."""
        into = np.maximum(given, 0.0)
        self.E_in = self.E_in + into
        self.E_out = self.E_out + (into - given)
        self.dissipated = self.dissipated + dissipated

    def margin(self, E_other: Array) -> Array:
        """W (N,) [J], from the E_in sent by the other side."""
        W: Array = E_other - self.E_out + self.dissipated
        self.least = np.minimum(self.least, W)
        return W
