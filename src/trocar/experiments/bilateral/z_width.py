"""Z-width of the master: the stiffest virtual wall that it can display."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trocar.experiments.bilateral.arms import CompiledArm
from trocar.experiments.bilateral.laboratory import GAP, press
from trocar.experiments.bilateral.operator import Operator
from trocar.experiments.bilateral.sides import Master
from trocar.spatial import Array

SUBSTEPS = 4  # arm steps per control period: a wall held over only one step of the engine would leak no energy


def wall_oscillation(
    stiffness: Sequence[float], damping: Sequence[float], grip: str = "normal", duration: float = 2.0
) -> Array:
    """Peak-to-peak motion (K, B) of the grip on a virtual wall F = K depth - B v, over the last half second [m].

    The wall is sampled and held at 1 kHz and acts one period after the measurement. A sampled wall is passive if the
    arm's damping exceeds K dt / 2 + B (Colgate and Schenkel); friction and the hand allow more.

    Args:
        stiffness: (K,) [N/m]. damping: (B,) [N s/m].
    """
    K, B = (x.ravel() for x in np.meshgrid(stiffness, damping, indexing="ij"))
    dt = 1e-3 / SUBSTEPS
    master = Master(CompiledArm("MTMR", len(K), dt=dt))
    hand = Operator(press(), grip)
    steps, tail = round(duration / dt), round(0.5 / dt)
    hand.start(steps, dt, len(K))
    z = np.zeros((steps, len(K)))
    F, wanted = (np.zeros((3, len(K))) for _ in range(2))
    for k in range(steps):
        x = master.x - master.x0
        z[k] = x[2]
        if k % SUBSTEPS == 0:
            depth = -GAP - x[2]
            F = wanted
            wanted = np.zeros_like(F)
            wanted[2] = np.where(depth > 0.0, np.maximum(K * depth - B * master.v[2], 0.0), 0.0)
        master.step(F, hand.force(k, x, master.v))
    return np.asarray(np.ptp(z[-tail:], axis=0).reshape(len(stiffness), len(damping)))
