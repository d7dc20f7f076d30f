"""The procedure of Zhou et al. 2025: excite a simulated dVRK-Si PSM, identify it, compensate its gravity.

`trocar excite --arm PSM_Si --seconds 1200` found the motion (excitation.json). The simulated arm differs from
the identified model in friction and links (see `unlike`).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np
from scipy.signal import butter, filtfilt

from trocar.arms import load_arm
from trocar.arms.parameters import Parameters
from trocar.control import GravityCompensation, JointPID
from trocar.control.trajectories import Fourier
from trocar.experiments.zhou2025 import runs
from trocar.experiments.zhou2025.others import unlike
from trocar.identification.excitation.file import load_coefficients
from trocar.identification.si.identification import IdentifiedSi, TermsByDrive, identify_si
from trocar.mechanics import Mechanism, load_mechanism
from trocar.recording import Recording
from trocar.simulation.run import simulate
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array

ARMS = 2  # number of random arms
MOUNTINGS = tuple(np.radians([0.0, -15.0, -45.0, -70.0]))
COLUMNS: dict[str, TermsByDrive | None] = {"columns of Table I": {}, "columns of Table I and more": None}
LOADED: TermsByDrive = {"yaw": ("mu",), "pitch": ("mu",)}  # added to the columns of Table I: load-dependent friction
PERIODS = 4
EVERY = 6  # recorded at 250 Hz
CUT_OFF = 12.0  # cut-off of the filter of the recording [Hz]
# Noise of positions (encoder and cable), velocities and efforts (current): one standard deviation.
NOISE_Q = np.array([2e-5, 2e-5, 5e-6, 2e-4, 2e-4, 2e-4, 2e-4])  # [rad, m]
NOISE_TAU = np.array([0.1, 0.1, 0.3, 2e-3, 2e-3, 2e-3, 2e-3])  # [N m, N]


@dataclass(frozen=True)
class Compensated:
    """Errors of an identified model on the arm it was identified from.

    Attributes:
        worst: (4, 3) by mounting and joint, largest ratio of holding effort error to static half-band at any pose.
        drift: (3,) largest distance in 5 s under compensation alone, after position control [rad, rad, m].
    """

    identified: IdentifiedSi
    worst: Array
    drift: Array


@dataclass(frozen=True)
class ClosedLoop:
    """An arm identified with each of `COLUMNS`; with_load: `worst` with the columns of Table I and `LOADED`."""

    models: tuple[Compensated, ...]
    with_load: Array


def excitation() -> Fourier:
    """The motion that `trocar excite` finds for the arm."""
    with as_file(files("trocar.experiments").joinpath("zhou2025", "excitation.json")) as path:
        return load_coefficients(path, load_arm(runs.ARM))


def record(sim: Simulator) -> Recording:
    """Simulate the excitation under PID with the dVRK's gravity compensation, starting on the trajectory."""
    reference = excitation()
    first = reference(0.0)
    sim.reset(first.q, first.dq)
    controller = JointPID(sim.arm) + GravityCompensation(load_mechanism(runs.ARM, "saw"))
    return simulate(sim, controller, reference, PERIODS * reference.duration, every=EVERY)


def noisy(recording: Recording, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """q, dq, ddq and tau (N, 7) as on a robot: measured with noise, filtered and differentiated twice."""
    assert recording.tau is not None  # a simulation records it
    rng = np.random.default_rng(seed)
    q = recording.q + NOISE_Q * rng.normal(size=recording.q.shape)
    tau = recording.tau + NOISE_TAU * rng.normal(size=recording.q.shape)
    dt = float(recording.t[1] - recording.t[0])
    b, a = butter(4, CUT_OFF, fs=1.0 / dt)
    q, tau = filtfilt(b, a, q, axis=0), filtfilt(b, a, tau, axis=0)
    dq = np.gradient(q, dt, axis=0)
    ddq = np.gradient(dq, dt, axis=0)
    keep = slice(50, -50)  # without the ends of the filter
    return q[keep], dq[keep], ddq[keep], tau[keep]


def close_loop(seed: int, poses: Array) -> ClosedLoop:
    """Excite and identify an arm, compare its holding efforts with the compensation, and test drift at poses (N, 3).

    Position control approaches the poses from alternating sides.
    """
    parameters = unlike(seed)
    sim = Simulator(runs.ARM, parameters, timestep=1.0 / runs.RATE, contacts=False)
    data, gravity = noisy(record(sim), seed), sim.mechanism.gravity_vector
    models = []
    for added in COLUMNS.values():
        identified = identify_si(*data, gravity=gravity, added=added)
        compensation = GravityCompensation(Mechanism(sim.arm, identified.parameters))
        drifts = [
            runs.drift_test(pose, np.full(3, (-1.0) ** k), compensation, feed_forward=False, sim=sim).drift
            for k, pose in enumerate(poses)
        ]
        models.append(Compensated(identified, holding_error(parameters, identified.parameters), np.max(drifts, axis=0)))
    loaded = identify_si(*data, gravity=gravity, added=LOADED)
    return ClosedLoop(tuple(models), holding_error(parameters, loaded.parameters))


def holding_error(true: Parameters, identified: Parameters, poses: int = 50) -> Array:
    """(4, 3) by mounting and joint: largest ratio of holding effort error to static half-band."""
    arm = load_arm(runs.ARM)
    q, worst = np.random.default_rng(1).uniform(arm.lower, arm.upper, (poses, arm.n)), []
    for mounting in MOUNTINGS:
        simulated, ours = (Mechanism(arm, parameters, mounting=mounting) for parameters in (true, identified))
        error = runs.holding(ours, q) - runs.holding(simulated, q)
        worst.append(np.abs(error / runs.static_band(simulated, q)).max(0))
    return np.array(worst)
