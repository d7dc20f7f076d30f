"""The joint motors in the scene of Ferro et al. 2022: they reach a velocity or apply an effort in one physics step."""

from __future__ import annotations

import numpy as np

from trocar.demo.torque_control import ARM
from trocar.mechanics import Mechanism
from trocar.simulation import Simulator
from trocar.spatial import Array

UNREACHABLE = 100.0  # least velocity that stands for a constant effort [rad/s, m/s]


class VelocityMotors:
    """Motors that give all joints a velocity within one step, whatever the load: ODE's motors with a large force limit.

    The effort follows from trial steps: the state before is restored, and a mass matrix converts the remaining velocity
    error into a correction. So the motors need no model of what moves the counterweight.

    Args:
        inertia: mechanism with the inertia that the motors feel. Default: the simulated one; without the
            counterweight if a motor of its own moves that.
    """

    def __init__(self, sim: Simulator, inertia: Mechanism | None = None) -> None:
        self._sim, self._inertia = sim, sim.mechanism if inertia is None else inertia
        self._tau = np.zeros(7)

    def reset(self) -> None:
        """Start from efforts that hold the arm at its current position."""
        self._tau = self._sim.mechanism.gravity(self._sim.q)

    def step(self, dq: Array, force: Array | None = None) -> Array:
        """Take a step after which the joint velocities are dq (7,); return the efforts (7,) [N m, N].

        Args:
            force: largest efforts (7,). A joint whose motor reaches its limit gets another velocity; its limit alone
                acts if the velocity is out of reach (`UNREACHABLE`), which is how scripts of CoppeliaSim apply efforts.
        """
        sim = self._sim
        before, q = sim.snapshot(), sim.q
        M = self._inertia.mass_matrix(q) / sim.timestep
        limit = np.full(7, 1e9) if force is None else force  # 1e9: no limit
        free = np.abs(dq) < UNREACHABLE
        if not free.all():  # the inertia of these joints while the others accelerate
            inverse, M = np.linalg.inv(M), np.zeros((7, 7))
            M[np.ix_(free, free)] = np.linalg.inv(inverse[np.ix_(free, free)])
        self._tau = np.where(free, np.clip(self._tau, -limit, limit), np.sign(dq) * limit)
        for _ in range(2):
            sim.step(self._tau)
            self._tau = np.clip(self._tau + M @ (dq - sim.dq), -limit, limit)
            sim.restore(before)
        sim.step(self._tau)
        return self._tau


class EffortMotors:
    """Motors that apply efforts to the arm and hold the wrist, which has no dynamics in the scene."""

    def __init__(self, sim: Simulator) -> None:
        self._sim = sim

    def step(self, tau: Array, wrist: Array) -> Array:
        """Take a step with efforts tau (3,), the wrist returning to `wrist` (4,); return efforts (7,)."""
        sim, ddq = self._sim, np.zeros(7)
        ddq[3:] = (40.0 * (wrist - sim.q[3:]) - sim.dq[3:]) / sim.timestep
        efforts = sim.mechanism.inverse_dynamics(sim.q, sim.dq, ddq)
        efforts[ARM] = tau
        sim.step(efforts)
        return efforts
