"""Published commands executed slowly by the simulated arm with wrist cables, beside the quasi-static law."""

from __future__ import annotations

import numpy as np

from trocar.arms.wrist_cables import WristCables
from trocar.identification.wrist import JointPairs
from trocar.identification.wrist.fit import WRIST
from trocar.mechanics import CableWrist
from trocar.simulation import Simulator

# PID of the motors: stiff and slow, the motion takes seconds. [N m/rad, N/m], [N m s/rad, N s/m], [1/s]
KP = np.array([200.0, 200.0, 1000.0, 0.3, 0.4, 0.4, 0.2])
KD = np.array([10.0, 10.0, 50.0, 5e-3, 8e-3, 8e-3, 4e-3])
KI = 8.0
SECONDS, MOVING = 2.0, 0.75  # duration of a command, and the part of it in which the motors move
EVERY = 10  # steps between two rows of the law


def difference(motion: JointPairs, cables: WristCables, count: int) -> float:
    """Largest difference [rad] of the wrist at rest between engine and law, over the first commands of a motion."""
    sim, law = Simulator("PSM", wrist=cables), CableWrist(cables)
    steps = round(SECONDS / sim.timestep)
    targets = np.zeros((count, sim.n))
    targets[:, :6] = motion.command[:count]
    start = targets[0].copy()
    start[WRIST] = law.relaxed(targets[0, WRIST]).q
    sim.reset(start)
    integral, before = np.zeros(sim.n), targets[0]
    way, at, true = [before[WRIST]], [], []
    for target in targets:
        for k in range(steps):
            error = before + (target - before) * min(1.0, (k + 1) / (MOVING * steps)) - sim.measured_q
            integral += KI * sim.timestep * KP * error
            sim.step(sim.mechanism.gravity(sim.q) + KP * error + integral - KD * sim.measured_dq)
            if k % EVERY == EVERY - 1:
                way.append(sim.measured_q[WRIST])
        before = target
        at.append(len(way) - 1)
        true.append(sim.q[WRIST])
    rest = law.rest(np.array(way), law.relaxed(way[0])).q[at]
    return float(np.abs(np.array(true) - rest).max())
