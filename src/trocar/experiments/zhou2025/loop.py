"""Identify, then compensate: a noisy simulated recording of a dVRK-Si PSM, identified as Zhou et al. 2025 do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import butter, filtfilt

from trocar.arms import Arm, load_arm
from trocar.control import GravityCompensation, JointPID
from trocar.control.trajectories.periodic import Fourier, fourier
from trocar.experiments.zhou2025.runs import ARM, RATE, TRUTH, static_band
from trocar.identification.si.identification import IdentifiedSi, identify_si
from trocar.mechanics import Mechanism, load_mechanism
from trocar.recording import Recording
from trocar.simulation.run import simulate
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array

MOUNTINGS = tuple(np.radians([0.0, -15.0, -45.0, -70.0]))
HARMONICS, FREQUENCY = 5, 0.1  # one period is 10 s
SHARE = 0.9  # of the joint ranges, and 0.6 of the speeds, is used
EVERY = 6  # recorded at 250 Hz
CUT_OFF = 12.0  # of the filter on what was recorded [Hz]
# Noise: positions (encoder and cable), velocities, efforts (current), one standard deviation.
NOISE_Q = np.array([2e-5, 2e-5, 5e-6, 2e-4, 2e-4, 2e-4, 2e-4])  # [rad, m]
NOISE_TAU = np.array([0.1, 0.1, 0.3, 2e-3, 2e-3, 2e-3, 2e-3])  # [N m, N]


def excitation(arm: Arm, seed: int = 0) -> Fourier:
    """A Fourier motion within the limits of the arm, begun at rest in none of its joints: random, then scaled."""
    rng = np.random.default_rng(seed)
    # higher harmonics are slower than the flat spectrum would be, so that the range is used before the speed
    a, b = rng.normal(size=(2, HARMONICS, arm.n)) / np.arange(1, HARMONICS + 1)[:, None] ** 0.5
    centre = 0.5 * (arm.lower + arm.upper)
    raw = fourier(np.zeros(arm.n), a, b, FREQUENCY)
    t = np.linspace(0.0, raw.duration, 2000)
    q, dq = (np.array([getattr(raw(s), name) for s in t]) for name in ("q", "dq"))
    reach = SHARE * 0.5 * (arm.upper - arm.lower) / np.abs(q).max(0)
    speed = 0.6 * np.array([joint.velocity for joint in arm.joints]) / np.abs(dq).max(0)
    scale = np.minimum(reach, speed)
    return fourier(centre, scale * a, scale * b, FREQUENCY)


def record(duration: float, seed: int = 0, mounting: float = 0.0) -> Recording:
    """The excitation on the simulated arm, under its PID with the dVRK's gravity compensation, from where it begins."""
    sim = Simulator(ARM, TRUTH, timestep=1.0 / RATE, contacts=False, mounting=mounting)
    reference = excitation(sim.arm, seed)
    first = reference(0.0)
    sim.reset(first.q, first.dq)
    controller = JointPID(sim.arm) + GravityCompensation(load_mechanism(ARM, "saw", mounting=mounting))
    return simulate(sim, controller, reference, duration, every=EVERY)


def noisy(recording: Recording, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """q, dq, ddq and tau (N, 7) as one has them: measured with noise, filtered, and differentiated twice."""
    assert recording.tau is not None  # a simulation records it
    rng = np.random.default_rng(seed)
    q = recording.q + NOISE_Q * rng.normal(size=recording.q.shape)
    tau = recording.tau + NOISE_TAU * rng.normal(size=recording.q.shape)
    dt = float(recording.t[1] - recording.t[0])
    b, a = butter(4, CUT_OFF, fs=1.0 / dt)
    q, tau = filtfilt(b, a, q, axis=0), filtfilt(b, a, tau, axis=0)
    dq = np.gradient(q, dt, axis=0)
    ddq = np.gradient(dq, dt, axis=0)
    keep = slice(50, -50)  # the ends of the filter
    return q[keep], dq[keep], ddq[keep], tau[keep]


@dataclass(frozen=True)
class ClosedLoop:
    """Error of the identified gravity over the static half-band, by mounting and joint (4, 3): the largest at any pose.

    columns: "Table I", or "Table I and more" (see identification/si/identification.py).
    """

    columns: str
    found: IdentifiedSi
    worst: Array


def close_loop(duration: float = 20.0, poses: int = 50) -> tuple[ClosedLoop, ClosedLoop]:
    """Simulate, record, identify, and compare gravity with the true one."""
    data = noisy(record(duration))
    arm = load_arm(ARM)
    q = np.random.default_rng(1).uniform(arm.lower, arm.upper, (poses, arm.n))
    gravity = load_mechanism(ARM).gravity_vector
    loops = []
    for name, extended in (("Table I", False), ("Table I and more", True)):
        found = identify_si(*data, gravity=gravity, extended=extended)
        worst = []
        for mounting in MOUNTINGS:
            true = load_mechanism(ARM, TRUTH, mounting=mounting)
            ours = Mechanism(arm, found.parameters, mounting=mounting)
            error = (ours.gravity(q) - true.gravity(q))[:, :3]
            worst.append(np.abs(error / static_band(true, q)).max(0))
        loops.append(ClosedLoop(name, found, np.array(worst)))
    return loops[0], loops[1]
