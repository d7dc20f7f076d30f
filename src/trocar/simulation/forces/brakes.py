"""The brakes of an arm: constraints that hold joints in place."""

from __future__ import annotations

import numpy as np

from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array


class Brakes:
    """All brakes of an arm, engaged and released together; falsy if it has none."""

    def __init__(self, arm_slice: ArmSlice) -> None:
        self._model, self._data, arm = arm_slice.engine.model, arm_slice.engine.data, arm_slice.arm
        self._constraints = np.array([arm_slice.equality(f"brake_{joint}") for joint in arm.brakes], dtype=int)
        self._joints = np.array([arm_slice.dof(arm.driven[joint]) for joint in arm.brakes], dtype=int)

    def __bool__(self) -> bool:
        return self._constraints.size > 0

    @property
    def engaged(self) -> bool:
        """True if the brakes are engaged."""
        return bool(self) and bool(self._data.eq_active[self._constraints].all())

    @property
    def held(self) -> Array:
        """Holding position of each brake, engaged or not [rad, m]."""
        return np.array(self._model.eq_data[self._constraints, 0])

    @held.setter
    def held(self, positions: Array) -> None:
        self._model.eq_data[self._constraints, 0] = positions

    def place(self, qpos: Array) -> None:
        """Set the holding positions to qpos, engaged or not."""
        self.held = qpos[self._joints]

    def engage(self, qpos: Array) -> None:
        """Engage at qpos; brakes that are already engaged keep their position."""
        if not self.engaged:
            self.place(qpos)
        self._data.eq_active[self._constraints] = True

    def release(self) -> None:
        """Hold nothing."""
        self._data.eq_active[self._constraints] = False
