"""Cable torques on joints, as generalised forces in the simulation loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trocar.arms.parameters import CableTorque
from trocar.mechanics.drives import cable_effort
from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array


class CableForces:
    """Evaluates each cable at the driven body of its joint, in scalar arithmetic because it runs at every step."""

    def __init__(self, arm_slice: ArmSlice, cables: Sequence[CableTorque]) -> None:
        arm = arm_slice.arm
        bodies = [arm.body(arm.driven[cable.joint]) for cable in cables]
        self._cables = [
            (arm_slice.dof(body.name), body.coupling[cable.joint], cable)
            for body, cable in zip(bodies, cables, strict=True)
        ]
        self._force = np.zeros(arm_slice.v.stop - arm_slice.v.start)

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force on the arm's joints."""
        for dof, ratio, cable in self._cables:
            self._force[dof] = -cable.amplitude * cable_effort(cable, float(qpos[dof]) / ratio) / ratio
        return self._force
