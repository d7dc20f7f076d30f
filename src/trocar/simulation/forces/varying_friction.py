"""Coulomb friction that depends on position and load, updated in the engine's model before every step."""

from __future__ import annotations

import numpy as np

from trocar.mechanics import Mechanism
from trocar.simulation.arm_slice import ArmSlice
from trocar.simulation.modelling.arm_model import drive_element
from trocar.spatial import Array


class VaryingFriction:
    """Fc + Fx s + mu |g_s| of every drive, as dry friction of the joint or tendon that represents it.

    It uses the engine's dry friction, which sticks and slides like constant Coulomb friction. The load comes from
    the equations at the start of the step; external forces do not contribute.
    """

    def __init__(self, equations: Mechanism, arm_slice: ArmSlice, D: Array) -> None:
        self._equations, self._D, drives = equations, D, equations.drives
        model = arm_slice.engine.model
        elements = [drive_element(equations.arm, drive) for drive in drives.drives]
        on = [(element.on_tendon, element.name) for element in elements]
        varying = sorted({on[i] for i in np.flatnonzero((drives.Fx != 0.0) | (drives.mu != 0.0))})
        self._places = [
            (model.tendon_frictionloss, arm_slice.tendon(name))
            if on_tendon
            else (model.dof_frictionloss, arm_slice.v.start + arm_slice.dof(name))
            for on_tendon, name in varying
        ]
        # drives on the same joint share its friction
        share = np.array(
            [[abs(e.weight) if at == place else 0.0 for e, at in zip(elements, on, strict=True)] for place in varying]
        )
        loaded = np.flatnonzero(drives.mu)
        self._constant = share @ drives.Fc
        self._by_position = (share * drives.Fx) @ drives.A @ D
        self._by_load, self._load = (share * drives.mu)[:, loaded], drives.L[loaded]

    def update(self, qpos: Array) -> None:
        """Set the friction of the next step."""
        friction = self._constant + self._by_position.dot(qpos)
        if self._load.size:
            friction += self._by_load.dot(np.abs(self._load.dot(self._equations.gravity(self._D.dot(qpos)))))
        for (values, index), F in zip(self._places, friction.tolist(), strict=True):
            values[index] = max(0.0, F)  # beyond its limits a joint can leave the range in which F is positive
