"""Z-width of the master: the stiffest virtual wall that it can display."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trocar.spatial import Array
from trocar.teleoperation.bilateral.arms import CompiledArm
from trocar.teleoperation.bilateral.laboratory import GAP, press
from trocar.teleoperation.bilateral.operator import Operator
from trocar.teleoperation.bilateral.sides import Master


def wall_oscillation(
    stiffness: Sequence[float], damping: Sequence[float], grip: str = "normal", duration: float = 2.5, dt: float = 1e-3
) -> Array:
    """Peak-to-peak motion (K, B) of the grip on a virtual wall F = K depth - B v, over the last half second [m].

    The wall is sampled and held at the control period. A sampled wall is passive if the arm's own damping exceeds
    K dt / 2 + B (Colgate and Schenkel); friction and the hand allow for more.

    Args:
        stiffness: (K,) [N/m]. damping: (B,) [N s/m].
    """
    K, B = (x.ravel() for x in np.meshgrid(stiffness, damping, indexing="ij"))
    master = Master(CompiledArm("MTMR", len(K), dt=dt))
    hand = Operator(press(1.0), grip)
    steps, tail = round(duration / dt), round(0.5 / dt)
    hand.start(steps, dt, len(K))
    z = np.zeros((steps, len(K)))
    F = np.zeros((3, len(K)))
    for k in range(steps):
        x = master.x - master.x0
        z[k] = x[2]
        depth = -GAP - x[2]
        F[2] = np.where(depth > 0.0, np.maximum(K * depth - B * master.v[2], 0.0), 0.0)
        master.step(F, hand.force(k, x, master.v))
    return np.asarray(np.ptp(z[-tail:], axis=0).reshape(len(stiffness), len(damping)))
