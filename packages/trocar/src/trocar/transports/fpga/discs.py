"""The four discs that drive an instrument through its sterile adapter, and their engagement by motion.

On the robot a pin of each disc finds its hole only at one angle. Without an adapter the discs turn freely. A disc
engages that of the adapter when it turns through the angle at which this one stands, and takes it along; the disc of
the adapter engages that of the instrument in the same way. The dVRK turns all discs through their range for each.
"""

from __future__ import annotations

import numpy as np

from trocar.spatial import Array

DISCS = slice(3, 7)  # actuators of a PSM
MAX_ANGLE = 3.05  # of a disc [rad]: beyond the 174 degrees of the IO files
INERTIA, VISCOUS, COULOMB = 1e-3, 0.02, 0.01  # of a free disc and its motor [kg m^2, N m s/rad, N m]: ASSUMED


class Discs:
    """Discs of one arm. Angles (4,) are those of the actuators [rad].

    Attributes:
        adapter, tool: adapter and instrument are on the carriage; an instrument needs an adapter.
        engaged: (4,) the disc drives the instrument.
    """

    def __init__(self) -> None:
        self.adapter = self.tool = True
        self.engaged = np.ones(4, dtype=bool)
        self._angles, self._rates = np.zeros(4), np.zeros(4)
        # A loose disc of the adapter stays where it was left: a new adapter has them at 0
        self._adapter_engaged, self._adapter_angles = np.ones(4, dtype=bool), np.zeros(4)

    @property
    def all_engaged(self) -> bool:
        return bool(self.engaged.all())

    def remove_tool(self, instrument: Array) -> None:
        """Take the instrument off, with its discs at these angles."""
        self._angles = np.where(self.engaged, instrument, self._angles)
        self._rates[:] = 0.0
        self.engaged[:] = False
        self.tool = False

    def remove_adapter(self) -> None:
        """Take the adapter off; the next one is new."""
        self._adapter_engaged[:], self._adapter_angles[:] = False, 0.0
        self.adapter = False

    def step(self, efforts: Array, instrument: Array, period: float) -> Array:
        """Turn free discs under efforts (4,) [N m] for a period [s]; angles (4,) of all discs.

        `instrument`: angles (4,) at which the discs of the instrument stand.
        """
        before = self._angles
        friction = COULOMB * np.sign(self._rates)
        rates = self._rates + period / INERTIA * (efforts - friction - VISCOUS * self._rates)
        # Coulomb friction stops a disc, it does not turn it back
        stops = (rates * self._rates < 0.0) & (np.abs(efforts) <= COULOMB)
        rates = np.where(stops | ((self._rates == 0.0) & (np.abs(efforts) <= COULOMB)), 0.0, rates)
        angles = np.clip(before + period * rates, -MAX_ANGLE, MAX_ANGLE)
        self._rates = np.where(np.abs(angles) == MAX_ANGLE, 0.0, rates)
        self._angles = angles
        if self.adapter:
            self._adapter_engaged |= (before - self._adapter_angles) * (angles - self._adapter_angles) <= 0.0
        if self.tool:
            self.engaged |= self._adapter_engaged & ((before - instrument) * (angles - instrument) <= 0.0)
        return np.where(self.engaged, instrument, angles)
