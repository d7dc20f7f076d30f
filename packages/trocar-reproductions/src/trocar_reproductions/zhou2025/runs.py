"""The experiments of Zhou et al. 2025 in simulation: drift tests, non-drift bounds, arms with other parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trocar.arms.parameters import Parameters
from trocar.control import ConstantEffort, Controller, JointPID, Setpoint, hold, quintic
from trocar.mechanics import Mechanism
from trocar.simulation.run import simulate
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array

ARM = "PSM_Si"
TRUTH = "zhou2025_measured"  # the simulated arm
MODEL = "zhou2025"  # the model for compensation
STILL = 5.0  # duration of a drift test [s]
DRIFT = np.array([np.radians(1.0), np.radians(1.0), 1e-3])  # larger motion counts as drift [rad, rad, m]
PRINTED_UNITS = np.array([np.degrees(1.0), np.degrees(1.0), 1e3])  # [deg, deg, mm] per [rad, rad, m]
RATE = 1500.0  # control rate of the robot [Hz]
APPROACH, SETTLING = 1.0, 1.0  # duration of the approach to a pose, and of settling there [s]
STEP = np.array([0.05, 0.05, 0.01])  # length of the approach, and amplitude of the oscillation after it [rad, rad, m]
SHAKE, FADE = 1.0, 0.5  # frequency of that oscillation [Hz], and its time constant of decay [s]
COARSE = 4e-3  # timestep of runs without a controller [s]


def straight(q: Array) -> Array:
    """Joint values (..., 7) of yaw, pitch and insertion (..., 3) with a straight wrist."""
    return np.concatenate([q, np.zeros((*q.shape[:-1], 4))], axis=-1)


@dataclass(frozen=True)
class DriftTest:
    """A drift test at one pose: position control, then 5 s of compensation alone.

    Attributes:
        PD_error: steady error (3,) of position control [rad, rad, m].
        t, moved: times [s] and distances (N, 3) [rad, rad, m] from the start of compensation.
    """

    PD_error: Array
    t: Array
    moved: Array

    @property
    def drift(self) -> Array:
        """Largest distance (3,) [rad, rad, m]."""
        return np.asarray(np.abs(self.moved).max(0))


def drift_test(q: Array, side: Array, compensation: Controller, *, feed_forward: bool, sim: Simulator) -> DriftTest:
    """Move to q (3,) by position control from one side (3,) of +-1, then switch to gravity compensation.

    feed_forward: add the compensation to position control during the approach.
    """
    error = steady_error(q, side, compensation if feed_forward else None, sim=sim)
    left = sim.q[:3]
    second = simulate(sim, compensation, hold(sim.q), STILL, every=30)
    moved = np.vstack([second.q[:, :3], sim.q[:3]]) - left
    t = np.append(second.t - second.t[0], STILL)
    return DriftTest(error, t, moved)


def steady_error(
    q: Array, side: Array, compensation: Controller | None, *, sim: Simulator, shaken: bool = False
) -> Array:
    """Steady error (3,) [rad, rad, m] of position control at q (3,), approached from one side (3,) of +-1.

    The approach ends sliding, so the arm rests at the edge of the friction band.

    Args:
        compensation: added to position control. None: position control alone.
        shaken: end the approach with a decaying oscillation, which leaves the arm inside the friction band.
    """
    goal = straight(q)
    start = np.clip(straight(q - side * STEP), sim.arm.lower, sim.arm.upper)
    position: Controller = JointPID(sim.arm)
    position = position if compensation is None else position + compensation
    approach = quintic(start, goal, APPROACH)

    def reference(t: float) -> Setpoint:
        if t <= APPROACH or not shaken:
            return approach(t)
        phase, size = 2.0 * np.pi * SHAKE * (t - APPROACH), np.exp((APPROACH - t) / FADE) * straight(STEP)
        dq = size * (2.0 * np.pi * SHAKE * np.cos(phase) - np.sin(phase) / FADE)
        return Setpoint(goal + size * np.sin(phase), dq, np.zeros_like(goal))

    sim.reset(start)
    simulate(sim, position, reference, APPROACH + SETTLING + (8.0 * FADE if shaken else 0.0), every=50)
    return np.asarray((goal - sim.q)[:3])


def fall(sim: Simulator, q: Array, duration: float = 0.5) -> tuple[Array, Array]:
    """Times (N,) [s] and distances (N, 3) [rad, rad, m] from q (3,) with the motors off."""
    sim.reset(straight(q))
    recording = simulate(sim, ConstantEffort(np.zeros(sim.n)), hold(sim.q), duration, every=10)
    return recording.t, recording.q[:, :3] - q


def drifts(
    sim: Simulator, q: Array, effort: Callable[[Array], Array], joints: slice = slice(3), duration: float = STILL
) -> bool:
    """True if one of the joints drifts within `duration` [s], from rest at q (7,), under an effort (7,) of q.

    Every ten steps it checks for drift and updates the effort.
    """
    sim.reset(q)
    for k in range(math.ceil(duration / sim.timestep)):
        if k % 10 == 0:
            if (np.abs(sim.q - q)[joints] > DRIFT[joints]).any():
                return True
            tau = effort(sim.q)
        sim.step(tau)
    return bool((np.abs(sim.q - q)[joints] > DRIFT[joints]).any())


def moves(sim: Simulator, q: Array, tau: Array, joint: int, value: float, duration: float = STILL) -> bool:
    """True if a joint drifts within `duration` [s], from rest at q (7,), under tau (7,) with its own entry replaced."""
    constant = tau.copy()
    constant[joint] = value
    return drifts(sim, q, lambda q: constant, slice(joint, joint + 1), duration)


def bound(
    sim: Simulator, q: Array, tau: Array, joint: int, direction: int, resolution: float, duration: float = STILL
) -> float:
    """The largest (direction 1) or smallest (-1) effort of one joint without drift, by bisection.

    tau (7,): efforts of the other joints, and an effort that holds this one.
    """
    inside, step = float(tau[joint]), direction * 1.0
    if moves(sim, q, tau, joint, inside, duration):
        return math.nan
    outside = inside + step
    while not moves(sim, q, tau, joint, outside, duration):
        inside, step = outside, 2.0 * step
        outside = inside + step
    while abs(outside - inside) > resolution:
        middle = 0.5 * (inside + outside)
        inside, outside = (inside, middle) if moves(sim, q, tau, joint, middle, duration) else (middle, outside)
    return 0.5 * (inside + outside)


def static_band(mechanism: Mechanism, q: Array) -> Array:
    """Half-width (..., 3) of the band of efforts in which static friction holds the arm at q (..., 7) [N m, N]."""
    drives = mechanism.drives
    s = q @ drives.A.T
    hysteretic = (drives.F + drives.slope * s[..., drives.owner]) @ drives.S.T
    return np.asarray(((drives.coulomb(q, mechanism.gravity(q)) + hysteretic) @ np.abs(drives.A))[..., :3])


def holding(mechanism: Mechanism, q: Array) -> Array:
    """Effort (..., 3) of the first three joints in the middle of that band: gravity including constant forces."""
    return np.asarray(mechanism.gravity(q)[..., :3])


def still_simulator(parameters: str | Parameters = TRUTH, mounting: float = 0.0) -> Simulator:
    """The arm with a parameter set, at the timestep of runs without a controller."""
    return Simulator(ARM, parameters, timestep=COARSE, mounting=mounting, contacts=False)
