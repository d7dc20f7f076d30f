"""A simulated PSM that a known force pushes at its tip, recorded as a data set with a force sensor would be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from tests.support.joint_state_bags import BEFORE_CRTK, START, write_bag
from tests.support.sensor_noise import noisy
from trocar.arms.parameters import Parameters
from trocar.control import JointPID, Setpoint, State, sinusoid
from trocar.recording import Recording
from trocar.simulation import Simulator, simulate
from trocar.spatial import Array

# Slow motion about a deep pose, each joint with a different frequency [Hz]; 30 mm/s at the tip. The jaw stays open.
MOTION = sinusoid(
    (0.1, 0.0, 0.15, 0.0, 0.1, 0.0, 0.5),
    (0.3, 0.25, 0.03, 0.5, 0.3, 0.3, 0.1),
    (0.13, 0.17, 0.19, 0.11, 0.15, 0.2, 0.1),
)
FREE = 12.0  # [s] at the start without contact
STOP, SLOWED = 36.0, 0.3  # time of the stop, and its time constant [s]
DURATION = 44.0  # [s]
PULSE = 2.0  # [s] of a push, and of the pause after it
FORCE = 3.0  # [N] of a push
# x, y, z of the base each way, then diagonals
DIRECTIONS = [*np.eye(3), *-np.eye(3), *(np.array([(1, 1, 1), (-1, 1, -1), (1, -1, -1)]) / np.sqrt(3.0))]
SENSOR_AXES = Rotation.from_euler("xyz", (160.0, -25.0, 70.0), degrees=True).as_matrix()  # R_base_sensor
NOISE = 0.02  # [N] of the sensor


def push(t: float, seed: int = 0) -> Array:
    """Force (3,) [N] on the tip at a time: none at the start, then pushes of two seconds with pauses between them."""
    number, within = divmod(t - FREE, 2.0 * PULSE)
    if t < FREE or within > PULSE:
        return np.zeros(3)
    return directions(seed)[int(number) % len(DIRECTIONS)] * FORCE * np.sin(np.pi * within / PULSE) ** 2


@cache
def directions(seed: int) -> Array:
    """Directions (D, 3) of the pushes, turned by a random angle."""
    return np.array(DIRECTIONS) @ Rotation.from_rotvec(0.3 * np.random.default_rng(seed).normal(size=3)).as_matrix().T


def reference(t: float) -> Setpoint:
    """The motion, which slows down to a stop after `STOP`."""
    if t <= STOP:
        return MOTION(t)
    left = np.exp(-(t - STOP) / SLOWED)
    at = MOTION(STOP + SLOWED * (1.0 - left))
    return replace(at, dq=left * at.dq, ddq=left**2 * at.ddq - left / SLOWED * at.dq)


@dataclass(frozen=True)
class Pushed:
    """A recording as the robot reports it, and the force (N, 3) [N] on its tip, base axes."""

    recording: Recording
    force: Array


def pushed_arm(duration: float = DURATION, noise: bool = True, seed: int = 0, **options: Any) -> Pushed:
    """Simulate the dVRK's PID at 500 Hz under pushes; options: those of a `Simulator`."""
    sim = Simulator("PSM", timestep=1 / 1500, **options)
    start, PID = reference(0.0), JointPID(sim.arm)
    sim.reset(start.q, start.dq)

    def controller(state: State, setpoint: Setpoint) -> Array:
        if state.t >= FREE:
            sim.apply_wrench([*push(state.t, seed), 0.0, 0.0, 0.0])
        return np.asarray(PID(state, setpoint))

    run = simulate(sim, controller, reference, duration, every=3)
    force = np.array([push(t, seed) for t in run.t])
    return Pushed(noisy(run, np.random.default_rng(seed)) if noise else run, force)


def wrong_friction(parameters: Parameters, factor: float = 1.1) -> Parameters:
    """A set whose Coulomb and viscous friction are too large by a factor."""
    drives = tuple(replace(d, Fc=factor * d.Fc, Fv=factor * d.Fv) for d in parameters.drives)
    return replace(parameters, name="wrong_friction", drives=drives)


def sensor_readings(force: Array, seed: int = 0) -> Array:
    """Readings (N, 3) [N] of a sensor under the tissue: the force of the tip on it, in its own axes, with noise."""
    return -force @ SENSOR_AXES + NOISE * np.random.default_rng(seed).normal(size=force.shape)


def write_force_bag(path: Path, pushed: Pushed) -> Path:
    """A bag with the names of the data set of Chua, Jarc and Okamura (2021), which are those before CRTK."""
    run = pushed.recording
    assert run.tau is not None
    stamps, sensors = START + (1e9 * run.t).astype(np.int64), {"force_sensor": sensor_readings(pushed.force)}
    write_bag(path, stamps, run.q, run.dq, run.tau, names=("dvrk/PSM2",), topics=BEFORE_CRTK, sensors=sensors)
    return path
