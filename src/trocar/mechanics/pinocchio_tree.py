"""One state at a time: Pinocchio's recursions on the tree, projected on the independent joints by E."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from trocar.arms import Body
from trocar.mechanics.recursion import TreeInertia
from trocar.spatial import Array


class PinocchioTree:
    """A Pinocchio model of the bodies (depth-first, as `Arm` guarantees) with `q_tree = E q`."""

    def __init__(self, bodies: Sequence[Body], inertia: TreeInertia, E: Array, g: Array) -> None:
        self.model = pin.Model()
        index: dict[str | None, int] = {None: 0}
        for i, body in enumerate(bodies):
            joint = pin.JointModelRZ() if body.kind == "revolute" else pin.JointModelPZ()
            placement = pin.SE3(body.placement[:3, :3].copy(), body.placement[:3, 3].copy())
            index[body.name] = self.model.addJoint(index[body.parent], joint, placement, body.name)
            link = pin.Inertia(float(inertia.mass[i]), inertia.com[i].copy(), inertia.I[i].copy())
            self.model.appendBodyToJoint(index[body.name], link, pin.SE3.Identity())
        self.model.gravity.linear = g
        self.data = self.model.createData()
        self._E, self._E_t = np.ascontiguousarray(E), np.ascontiguousarray(E.T)

    def mass_matrix(self, q: Array) -> Array:
        """(n, n)."""
        return self._E_t @ pin.crba(self.model, self.data, self._E @ q) @ self._E

    def gravity(self, q: Array) -> Array:
        """(n,)."""
        return self._E_t @ pin.computeGeneralizedGravity(self.model, self.data, self._E @ q)

    def inverse_dynamics(self, q: Array, dq: Array, ddq: Array) -> Array:
        """(n,) by Newton-Euler."""
        E = self._E
        return self._E_t @ pin.rnea(self.model, self.data, E @ q, E @ dq, E @ ddq)

    def terms(self, q: Array, dq: Array) -> tuple[Array, Array, Array]:
        """M (n, n), c (n,) and g (n,) in one go."""
        q_tree, dq_tree = self._E @ q, self._E @ dq
        M = self._E_t @ pin.crba(self.model, self.data, q_tree) @ self._E
        bias = self._E_t @ pin.nonLinearEffects(self.model, self.data, q_tree, dq_tree)
        g = self._E_t @ pin.computeGeneralizedGravity(self.model, self.data, q_tree)
        return M, bias - g, g
