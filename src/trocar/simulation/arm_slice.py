"""The rows of a MuJoCo model that belong to one arm: the whole model, or part of a model with several arms."""

from __future__ import annotations

import numpy as np

from trocar.appearance.kinematic_model import BASE
from trocar.arms import Arm
from trocar.simulation.engine import Engine
from trocar.spatial import Array, pose


class ArmSlice:
    """Indices of one arm in a MuJoCo model, and its base frame.

    Args:
        prefix: prefix of its names in the model; "" if the arm is alone and its base is the world.
        extra: number of joints that follow those of the arm's tree.

    Attributes:
        base: id of the arm's base body. q, v, u: slices of its positions, velocities and motors. pairs: ids of its
            contact pairs.
    """

    def __init__(self, engine: Engine, arm: Arm, prefix: str = "", extra: int = 0) -> None:
        self.engine, self.arm, self.prefix = engine, arm, prefix
        model, count = engine.model, len(arm.bodies) + extra
        self.base = model.body(prefix + BASE).id if prefix else 0
        self._R_world_base = engine.data.xmat[self.base].reshape(3, 3)  # a view
        first = model.joint(prefix + arm.bodies[0].name)
        self.q = _following(first.qposadr[0], count)
        self.v = _following(first.dofadr[0], count)
        self.u = _following(model.actuator(prefix + arm.motors.names[0]).id, arm.n)
        for i, body in enumerate(arm.bodies):  # the maps between joints and links rely on this order
            assert self.dof(body.name) == i, (prefix, body.name)
        links = {self.body(body.name) for body in arm.bodies}
        self.pairs = [k for k, g in enumerate(model.pair_geom1) if int(model.geom_bodyid[g]) in links]

    def dof(self, joint: str) -> int:
        """Index of a joint among those of this arm."""
        return int(self.engine.model.joint(self.prefix + joint).dofadr[0]) - self.v.start

    def joint(self, name: str) -> int:
        return int(self.engine.model.joint(self.prefix + name).id)

    def body(self, name: str) -> int:
        return int(self.engine.model.body(self.prefix + name).id)

    def site(self, name: str) -> int:
        return int(self.engine.model.site(self.prefix + name).id)

    def tendon(self, name: str) -> int:
        return int(self.engine.model.tendon(self.prefix + name).id)

    def equality(self, name: str) -> int:
        return int(self.engine.model.equality(self.prefix + name).id)

    @property
    def T_world_base(self) -> Array:
        """Pose (4, 4) of the arm's base in the world of the model."""
        data = self.engine.data
        return pose(data.xmat[self.base].reshape(3, 3), data.xpos[self.base])

    def in_base(self, R: Array, p: Array) -> Array:
        """Pose (4, 4) in the arm's base of an item that MuJoCo has at R (9,), p (3,) in the world."""
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R.reshape(3, 3), p
        if self.base:
            R_base = self.engine.data.xmat[self.base].reshape(3, 3).T
            T[:3, :3], T[:3, 3] = R_base @ T[:3, :3], R_base @ (T[:3, 3] - self.engine.data.xpos[self.base])
        return T

    def to_base(self, vector: Array) -> Array:
        """A vector (3,) of the world in base axes."""
        return self._R_world_base.T.dot(vector) if self.base else vector

    def to_world(self, vector: Array) -> Array:
        """A vector (3,) of the base in world axes."""
        return self._R_world_base.dot(vector) if self.base else vector


def _following(first: int, count: int) -> slice:
    return slice(int(first), int(first) + count)
