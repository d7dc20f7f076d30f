"""Coulomb friction that depends on position and load, set anew in the engine's model before every step."""

from __future__ import annotations

import mujoco
import numpy as np

from trocar.mechanics import Mechanism
from trocar.simulation.model import drive_part
from trocar.spatial import Array


class VaryingFriction:
    """Fc + Fx s + mu |g_s| of every drive, as dry friction of the joint or tendon that stands for it.

    The engine's own dry friction is kept: it sticks and slides as constant Coulomb friction does. The load is that of
    the equations at the start of the step; forces from outside do not add to it.
    """

    def __init__(self, equations: Mechanism, model: mujoco.MjModel, D: Array) -> None:
        self._equations, self._D, drives = equations, D, equations.drives
        parts = [drive_part(equations.arm, drive) for drive in drives.drives]
        varying = {(p.on_tendon, p.name) for p, Fx, mu in zip(parts, drives.Fx, drives.mu, strict=True) if Fx or mu}
        self._parts: list[tuple[Array, int, Array]] = []
        for on_tendon, name in sorted(varying):
            # drives on the same joint share its friction
            share = np.array([abs(p.weight) if (p.on_tendon, p.name) == (on_tendon, name) else 0.0 for p in parts])
            values = model.tendon_frictionloss if on_tendon else model.dof_frictionloss
            index = model.tendon(name).id if on_tendon else model.joint(name).dofadr[0]
            self._parts.append((values, int(index), share))

    def update(self, qpos: Array) -> None:
        """Set the friction of the next step."""
        q = self._D.dot(qpos)
        drives = self._equations.drives
        friction = drives.coulomb(q, self._equations.gravity(q) if drives.loaded else None)
        for values, index, share in self._parts:
            values[index] = max(
                0.0, float(share.dot(friction))
            )  # beyond its limits a joint may leave the model's range
