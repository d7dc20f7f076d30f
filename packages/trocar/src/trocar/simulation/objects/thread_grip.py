"""Jaws of an arm that grip a thread between their pads by friction.

Two light fingers on a thread as stiff as a wire would be unstable, because forces act a step late. So the closed
fingers press on each other, in MuJoCo, and squeeze the thread with the moment of that contact: each pad presses on a
gripped mass with N = moment / (sum of the distances of all gripped masses from the hinge). The mass sticks to the jaws,
and slips along the pads at 2 mu N. What is not between the pads when they close stays outside.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from trocar.simulation.objects.blade import FINGERS
from trocar.simulation.objects.filament_steps import FilamentSteps, TouchedSolid
from trocar.simulation.objects.scene_object import OBJECT
from trocar.spatial import Array

OPEN = -1.0  # limit of the friction of jaws that are not closed [N]
BESIDE = 2  # masses next to a gripped one that pass the fingers between which they are about to slip


class ThreadGrip:
    """Two fingers, which close along x of their frame and point along y.

    Args:
        finger, other: bodies of the two fingers. geoms: all shapes that the thread touches. column: of this grip among
            the solids of the thread.

    Attributes:
        finger: the body whose frame is that of the grip. column: as given.
        low, high: corners (3,) of the pads in that frame [m].
    """

    def __init__(self, finger: int, other: int, geoms: Sequence[int], column: int, model: mujoco.MjModel) -> None:
        self.finger, self.column = finger, column
        self._fingers = [k for k, geom in enumerate(geoms) if model.geom_bodyid[geom] in (finger, other)]
        joint = int(model.body_jntadr[other])
        self._q, self._dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        self.low, self.high = np.full(3, np.inf), np.full(3, -np.inf)
        R = np.empty(9)
        for geom in geoms:
            if model.geom_bodyid[geom] == finger:
                mujoco.mju_quat2Mat(R, model.geom_quat[geom])
                half = np.abs(R.reshape(3, 3)) @ model.geom_aabb[geom, 3:]
                self.low = np.minimum(self.low, model.geom_pos[geom] - half)
                self.high = np.maximum(self.high, model.geom_pos[geom] + half)

    @classmethod
    def all(cls, names: Sequence[str], geoms: Sequence[int], model: mujoco.MjModel) -> list[ThreadGrip]:
        """The grips of all arms, whose fingers are among the named bodies; their columns follow those of the geoms."""
        pairs = [
            (names.index(name), names.index(name.removesuffix(FINGERS[0]) + FINGERS[1]))
            for name in names
            if name.rpartition("/")[2] == FINGERS[0]
            and not name.startswith(OBJECT)
            and names.index(name) in model.geom_bodyid[list(geoms)]
        ]
        return [cls(*pair, geoms, len(geoms) + k, model) for k, pair in enumerate(pairs)]

    @property
    def solid(self) -> TouchedSolid:
        """The pads as a solid of the thread's steps; they have no size."""
        return TouchedSolid("pads", (0.0, 0.0, 0.0))

    def gripped(self, steps: FilamentSteps) -> Array:
        """The gripped masses, in increasing order."""
        return np.flatnonzero(~steps.passes[:, self.column])

    def update(self, steps: FilamentSteps, data: mujoco.MjData) -> None:
        """Take the masses between the pads when they close; then, those that slip in behind a gripped one."""
        diameter = steps.material.diameter
        was_open, before = steps.grip_limit[self.column] < 0.0, ~steps.passes[:, self.column]
        steps.passes[:, self.column] = True
        if data.qpos[self._q] * (self.low[1] + self.high[1]) / 2 > diameter:
            steps.grip_limit[self.column] = OPEN
            return
        at = (steps.x - data.xpos[self.finger]) @ data.xmat[self.finger].reshape(3, 3)
        beyond = np.maximum(self.low - at, at - self.high)[:, 1:].max(axis=1)
        beyond[np.abs(at[:, 0]) > diameter] = np.inf
        within = (beyond <= 0.0) & (was_open | _widened(before, 1))
        near = (beyond <= diameter / 2) & _widened(within, BESIDE)
        steps.passes[np.ix_(near, self._fingers)] = True
        steps.passes[within, self.column] = False
        # of the contact of the fingers, with what friction of the drive adds
        moment = max(0.0, float(data.qfrc_constraint[self._dof]))
        levers = at[within, 1].sum()
        steps.grip_limit[self.column] = 2.0 * steps.material.friction * moment / levers if levers else 0.0


def _widened(mask: Array, count: int) -> Array:
    """True also next to True, `count` times."""
    for _ in range(count):
        mask = mask | np.append(mask[1:], False) | np.insert(mask[:-1], 0, False)
    return mask
