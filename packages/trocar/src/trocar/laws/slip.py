"""Coulomb friction between solids that slide on each other.

MuJoCo's friction asks for a deceleration of rate * slip velocity, and gets it up to the friction cone. A constant rate
is wrong on both sides. Below friction * g / rate, friction is viscous: with 50 /s, a block slower than 80 mm/s does not
reach its Coulomb friction. And because the cone is convex, a deceleration beyond the cone lifts the block: with 1000 /s
it hops and tumbles. Here the rate of a pair of solids follows their velocity before every step, so that friction asks
for about the same deceleration at all velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from trocar.laws.graph import Node, maximum, minimum, sqrt
from trocar.laws.law import ScalarLaw
from trocar.laws.sources.function_source import on_arrays
from trocar.spatial import Array

# Smallest rate [1/s]. MuJoCo alone (the page in a browser, an exported model) has this rate at all velocities.
SLIP_RATE = 50.0
# In front of the rate: MuJoCo ignores this stiffness of friction, and here it marks the pairs of two solids.
MARK = -1.0
# Deceleration asked for, over the friction coefficient [m/s^2]. Four times that of a body on a table: one pressed down
# with three times its weight reaches its cone too, and at 1 ms a block of friction 0.4 is lifted by 6 um.
BRAKING = 4.0 * 9.81
# Largest rate times timestep: slip ends within a step. The discrete integrator is implicit, with 1 it halves slip.
STOPPING, DISCRETE_STOPPING = 1.0, 10.0
SLOWEST = 1e-9  # [m/s]; avoids a division by zero

TWISTS = {"one": 6, "other": 6}


def slip_rate(
    one: Sequence[Node], other: Sequence[Node], radius: Node, other_radius: Node, friction: Node, fastest: Node
) -> Node:
    """Rate at which the friction of two bodies brakes slip [1/s].

    Slip is estimated from above: velocity between the frames of the bodies, and what their rotation can add.

    Args:
        one, other: velocity of the frame in world axes [m/s], angular velocity [rad/s].
        radius, other_radius: of spheres about the frames that contain the bodies [m].
        friction: coefficient [1]. fastest: largest rate [1/s].
    """
    apart = [x - y for x, y in zip(one[:3], other[:3], strict=True)]
    slip = _length(apart) + radius * _length(one[3:]) + other_radius * _length(other[3:])
    return minimum(maximum(friction * BRAKING / maximum(slip, SLOWEST), SLIP_RATE), fastest)


def _length(v: Sequence[Node]) -> Node:
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


_RATE = on_arrays(ScalarLaw(slip_rate, vectors=TWISTS))


class SolidPairs(NamedTuple):
    """Pairs (B,) of solids in a model, each free or fixed, and the contact pairs (P,) of their shapes.

    Attributes:
        pair: (P,) rows of the model's pairs. between: (P,) the pairs of solids that they belong to.
        first: (B,) a contact pair of each; all of them have the same friction.
        dof: (2, 6, B) degrees of freedom; `nv` and higher for a fixed solid.
        radius: (2, B) of the spheres about the frames of the solids that contain their shapes [m].
        fastest: largest rate [1/s].
    """

    pair: Array
    between: Array
    first: Array
    dof: Array
    radius: Array
    fastest: float

    @classmethod
    def of(cls, model: mujoco.MjModel) -> SolidPairs:
        """All pairs of solids in a model."""
        pair = np.flatnonzero(model.pair_solreffriction[:, 0] == MARK)
        bodies = model.geom_bodyid[np.stack([model.pair_geom1[pair], model.pair_geom2[pair]], axis=1)].reshape(-1, 2)
        bodies, first, between = np.unique(bodies, axis=0, return_index=True, return_inverse=True)
        dof = np.where(model.body_dofnum[bodies] > 0, model.body_dofadr[bodies], model.nv).T
        reach = np.zeros(model.nbody)
        np.maximum.at(reach, model.geom_bodyid, np.linalg.norm(model.geom_pos, axis=1) + model.geom_rbound)
        discrete = model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
        return cls(
            pair,
            between.reshape(-1),
            pair[first],
            np.ascontiguousarray(dof[:, None] + np.arange(6)[:, None]),
            np.ascontiguousarray(reach[bodies.T]),
            (DISCRETE_STOPPING if discrete else STOPPING) / model.opt.timestep,
        )

    def rates(self, qvel: Array, friction: Array) -> Array:
        """Rates (..., P) [1/s] at velocities (..., nv) and friction coefficients (..., B)."""
        v = np.concatenate([qvel, np.zeros((*qvel.shape[:-1], 6))], axis=-1)[..., self.dof]
        twists = [v[..., k, i, :] for k in (0, 1) for i in range(6)]
        return np.asarray(_RATE(*twists, *self.radius, friction, self.fastest)[..., self.between])
