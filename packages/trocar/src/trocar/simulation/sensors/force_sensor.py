"""A force sensor at the instrument, with a realistic bandwidth."""

from __future__ import annotations

import math

import numpy as np

from trocar.errors import TrocarError
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array


class ForceSensor:
    """`sim.contact_wrench()` through a first-order filter; to be called once per step, for example by a controller.

    Feedback of an unfiltered contact force makes a stiff contact chatter: the force of one step would be the effort of
    the next.

    Args:
        cutoff: cut-off frequency of the filter [Hz]; math.inf for no filter.
    """

    def __init__(self, sim: Simulator, cutoff: float = 50.0) -> None:
        if not cutoff > 0:
            raise TrocarError(f"cutoff of a force sensor must be positive [Hz], got {cutoff!r}")
        self._sim, self.cutoff = sim, cutoff
        self._time, self._wrench = math.inf, np.zeros(6)

    def __call__(self) -> Array:
        """Force and moment (6,) of the environment on the instrument about the tip, base axes [N, N m]."""
        time = self._sim.time
        if time < self._time:  # the first call after a reset
            self._time, self._wrench = time, np.zeros(6)
        share = 1.0 - math.exp(-2.0 * math.pi * self.cutoff * (time - self._time)) if time > self._time else 0.0
        self._wrench = self._wrench + share * (self._sim.contact_wrench() - self._wrench)
        self._time = time
        return self._wrench
