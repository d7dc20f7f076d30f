"""Carrying the arm's own weight, so that it floats."""

from __future__ import annotations

import numpy as np

from trocar.control.controller import Controller, Setpoint, State, checked_period
from trocar.mechanics import Mechanism
from trocar.spatial import Array


class GravityCompensation(Controller):
    """tau = g(q), weight and springs; with offset=True also the constant offsets Fo of the drives.

    Args:
        mechanism: the model to compensate with, which need not be the one simulated.
        period: [s]; None for every step.
    """

    def __init__(self, mechanism: Mechanism, offset: bool = False, period: float | None = None) -> None:
        self._mechanism = mechanism
        self.offset = offset
        self.period = checked_period(period)
        drives = mechanism.drives
        self._Fo = drives.Fo @ drives.A if offset else np.zeros(mechanism.n)

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        return self._mechanism.gravity(state.q) + self._Fo
