"""Torque control as in the published program of Ferro et al. 2022, on this engine.

Every 10 ms the program reads the joints, computes velocities and the derivative of the Jacobian by differences, and
sends efforts, which act one period later; the physics steps at 5 ms. The logs show that delay: the engine's effort
equals the command of two rows before to 0.07 N. The model torque uses low-passed differences of velocities, which
reproduce the logged accelerations exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from trocar.experiments.ferro2022.logs import ARM, PHYSICS, Log
from trocar.experiments.ferro2022.runs import BEYOND, R_WORLD_BASE, START
from trocar.mechanics import Mechanism
from trocar.simulation import Simulator
from trocar.spatial import Array

PERIOD = 1e-2  # control period of the program, Section IV-B [s]


def low_pass(values: Array) -> Array:
    """Their acceleration filter: first order, gain 1, delay of 0.56 samples, starting from rest."""
    filtered: Array = lfilter([0.5363, 0.2984], [1.0, -0.1653], values, axis=0)
    return filtered


@dataclass(frozen=True)
class ProgramRun:
    """A run under torque control, rows at the times of a log.

    Attributes:
        q: joint positions (N, 7). error: tip error (N, 3), axes of their scene [m]. command: commanded effort (N, 3).
            engine: effort of the period before (N, 3). model: effort from the equations at the program's differences
            of q (N, 3) [N m, N m, N].
    """

    q: Array
    error: Array
    command: Array
    engine: Array
    model: Array


def tip(mechanism: Mechanism, q: Array) -> tuple[Array, Array]:
    """Position (3,) of their tip in base axes [m], and its Jacobian (3, 3) by the first three joints."""
    T, J = mechanism.forward_kinematics(q), mechanism.jacobian(q)[:, ARM]
    arm = BEYOND * T[:3, 2]
    return T[:3, 3] + arm, J[:3] + np.cross(J[3:], arm, axisa=0, axisb=0, axisc=0)


def torque_run(
    mechanism: Mechanism, log: Log, kp: Array, kd: Array, *, transmission: str = "mirrored", duration: float = 1.0
) -> ProgramRun:
    """Run the program on this engine from the first row of a log along its target.

    Args:
        kp, kd: gains (3,) [1/s^2, 1/s], axes of the scene. transmission: transmission of the counterweight.
    """
    rows = min(len(log.t), round(duration / PERIOD))
    start = np.append(log["qmsr"][0, :6], 0.0)
    sim = Simulator("PSM", friction=False, contacts=False, limits=False, timestep=PHYSICS, transmission=transmission)
    sim.reset(start, np.append((log["qmsr"][1, ARM] - log["qmsr"][0, ARM]) / PERIOD, np.zeros(4)))
    target = (log["pdes"] - log["pee"][0]) @ R_WORLD_BASE + tip(mechanism, start)[0]
    velocity = np.gradient(target, PERIOD, axis=0)
    acceleration = np.gradient(velocity, PERIOD, axis=0)
    Kp, Kd = (R_WORLD_BASE.T @ np.diag(gain) @ R_WORLD_BASE for gain in (kp, kd))
    q, error, command, engine = (np.empty((rows, n)) for n in (7, 3, 3, 3))
    acting = mechanism.gravity(start)[ARM]
    last, before = START, np.zeros((3, 3))  # the program starts with joints at rest and a zero Jacobian
    moving = np.zeros_like(q)
    for k in range(rows):
        q[k], engine[k] = sim.q, acting
        p, J = tip(mechanism, q[k])
        dq = moving[k]
        dq[ARM] = (q[k] - last)[ARM] / PERIOD
        dJ = (J - before) / PERIOD
        last, before, error[k] = q[k], J, target[k] - p
        a = acceleration[k] + Kd @ (velocity[k] - J @ dq[ARM]) + Kp @ error[k]
        M, c, g = mechanism.terms(q[k], dq)
        command[k] = M[ARM, ARM] @ np.linalg.solve(J, a - dJ @ dq[ARM]) + (c + g)[ARM]
        acting = command[k - 1] if k else mechanism.gravity(start)[ARM]
        for _ in range(round(PERIOD / PHYSICS)):
            sim.step(_with_wrist_held(mechanism, sim, acting, start))
    ddq = low_pass(np.diff(moving, axis=0, prepend=0.0 * moving[:1]) / PERIOD)
    model = mechanism.inverse_dynamics(q, moving, ddq)[:, ARM]
    return ProgramRun(q, error @ R_WORLD_BASE.T, command, engine, model)


def _with_wrist_held(mechanism: Mechanism, sim: Simulator, tau: Array, start: Array) -> Array:
    """Efforts (7,): tau on the arm; on the wrist, efforts that return it to its start within a few steps."""
    ddq = np.zeros(7)
    ddq[3:] = (40.0 * (start - sim.q) - sim.dq)[3:] / sim.timestep
    held = mechanism.inverse_dynamics(sim.q, sim.dq, ddq)
    held[ARM] = tau
    return held
