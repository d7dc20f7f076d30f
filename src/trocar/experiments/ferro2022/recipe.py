"""Engine against model as Ferro et al. 2022 compare them, which adds errors of its own.

Their program evaluates the model at the measured positions, the velocities just commanded and the low-passed
differences of these, every 10 ms; it reads the engine's torque before it sends the command, so that of the period
before. Here the torque is averaged over that period. Their joint motors reach a velocity at once: the loops are
stiffer than elsewhere. So the model is ahead of the torque, by a period for the newest command, less 5.6 ms that the
filter is late, and less what the loops lag. Their logged accelerations and model torques follow from their commands
by this recipe, exactly.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from trocar.control import VelocityServo
from trocar.control.trajectories import CartesianPath
from trocar.experiments.ferro2022.logs import ARM, SETTLED, MeasuredMotion, rms
from trocar.experiments.ferro2022.runs import CartesianVelocityServo, engine_torque, started
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.simulation import Simulator, simulate
from trocar.spatial import Array

PERIOD, PHYSICS = 1e-2, 5e-3  # [s], Section IV-B; the excitation trajectory has 5 ms for both
KV = np.array([140.0, 140.0, 550.0, 0.05, 0.05, 0.05, 0.05])  # [N m s/rad, N s/m] for steps of 1 ms


def low_pass(values: Array) -> Array:
    """Their filter of accelerations: first order, gain 1, 0.56 samples late, from rest."""
    filtered: Array = lfilter([0.5363, 0.2984], [1.0, -0.1653], values, axis=0)
    return filtered


def compared(mechanism: Mechanism, path: CartesianPath) -> Array:
    """RMS (3,) of engine less model along a path [N m, N m, N]."""
    servo = CartesianVelocityServo(mechanism, PHYSICS, PERIOD, KV)
    recording = simulate(started(timestep=PHYSICS), servo, path, path.duration)
    return _compared(mechanism, recording, servo.commanded, PERIOD)


def excitation_errors(mechanism: Mechanism, motion: MeasuredMotion) -> Array:
    """RMS (3,) of engine less model along the real robot's motion [N m, N m, N]."""
    sim = Simulator("PSM", friction=False, timestep=PHYSICS, contacts=False)
    reference = motion.reference(PHYSICS)
    sim.reset(reference(0.0).q, reference(0.0).dq)
    kv = KV * 1e-3 / PHYSICS
    servo = VelocityServo(kv, CartesianVelocityServo.RATE * kv)
    recording = simulate(sim, servo, reference, motion.duration)
    return _compared(mechanism, recording, recording.commands["dq"], PHYSICS)


def _compared(mechanism: Mechanism, recording: Recording, commanded: Array, period: float) -> Array:
    steps = round(period / PHYSICS)
    rows = len(recording.t) // steps
    torque = engine_torque(recording)[: rows * steps].reshape(rows, steps, 3).mean(axis=1)
    ddq = low_pass(np.diff(commanded[:rows], axis=0, prepend=0.0 * commanded[:1]) / period)
    model = mechanism.inverse_dynamics(recording.q[::steps][1:rows], commanded[1:rows], ddq[1:])[:, ARM]
    return rms((torque[:-1] - model)[recording.t[::steps][1:rows] >= SETTLED])
