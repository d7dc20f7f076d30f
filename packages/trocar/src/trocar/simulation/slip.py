"""Coulomb friction between solids that slide on each other.

MuJoCo's friction asks for a deceleration of rate * slip velocity, and gets it up to the friction cone. A constant rate
is wrong on both sides. Below friction * g / rate, friction is viscous: with 50 /s, a block slower than 80 mm/s does not
reach its Coulomb friction. And because the cone is convex, a deceleration beyond the cone lifts the block: with 1000 /s
it hops and tumbles. Here the rate follows the slip velocity, so that the deceleration asked for is constant.
"""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco import mj_step1, mj_step2

# Smallest rate [1/s]; it also marks the contact pairs of two solids. MuJoCo alone (`trocar.batch`, the page in a
# browser, accuracy="exact") has this rate at all velocities.
SLIP_RATE = 50.0
# Deceleration asked for, over the friction coefficient [m/s^2]. Four times that of a body on a table: one pressed down
# with three times its weight reaches its cone too, and at 1 ms a block of friction 0.4 is lifted by 6 um.
BRAKING = 4.0 * 9.81
# Largest rate times timestep: slip ends within a step. The discrete integrator is implicit, with 1 it halves slip.
STOPPING, DISCRETE_STOPPING = 1.0, 10.0
SLOWEST = 1e-9  # [m/s]; avoids a division by zero


class Slip:
    """Steps a model whose pairs of solids brake slip at rates that follow its velocity."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._discrete = model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
        self._stopping = (DISCRETE_STOPPING if self._discrete else STOPPING) / model.opt.timestep
        self._islands = not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_ISLAND

    @staticmethod
    def acts_in(model: mujoco.MjModel) -> bool:
        """True if the model has pairs of solids."""
        return bool((model.pair_solreffriction[:, 1] == -SLIP_RATE).any())

    def step(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Advance one step."""
        mj_step1(model, data)
        contact = data.contact
        first, rates = contact.efc_address, contact.solreffriction[:, 1]  # views
        pairs = np.flatnonzero((rates == -SLIP_RATE) & (first >= 0))
        if pairs.size:
            first = first[pairs]
            slip = np.hypot(data.efc_vel[first + 1], data.efc_vel[first + 2])
            braking = BRAKING * contact.friction[pairs, 0]
            wanted = np.clip(braking / np.maximum(slip, SLOWEST), SLIP_RATE, self._stopping)
            if self._discrete:  # the rate is part of the integrator's matrices
                rates[pairs] = -wanted
                mujoco.mj_makeConstraint(model, data)
                if self._islands:
                    mujoco.mj_island(model, data)
                mujoco.mj_referenceConstraint(model, data)
            else:
                for row in (1, 2, 3):  # slip along two directions, and spin about the normal
                    on = contact.dim[pairs] > row
                    data.efc_aref[first[on] + row] *= wanted[on] / SLIP_RATE
        mj_step2(model, data)
