"""Torque control of the PSM's tip on a spiral, and its error beside the linear one; the experiment of the demo.

Path, gains and start are those of the published experiment that the demo is compared with (Ferro et al. 2022, Section
IV): there the base of the arm is turned by 70 deg about the vertical, and the tip jumps onto the path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.control import CartesianFeedbackLinearisation
from trocar.control.trajectories import CartesianPath
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.simulation import Simulator, simulate
from trocar.spatial import Array, pose

ARM = slice(0, 3)  # evaluated joints: yaw, pitch, insertion
UNITS = ("N m", "N m", "N")
SETTLED = 0.5  # errors are evaluated from here on, after the initial transient [s]
START = np.array([0.0, 0.0, 0.1, -np.pi / 2, 0.0, 0.0, 0.0])  # [rad, m]
R_WORLD_BASE = Rotation.from_euler("z", 70.0, degrees=True).as_matrix()  # of their scene
R_WORLD_TIP = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])  # the constant desired orientation
CENTRE = np.array([-0.00951, -0.02634, -0.00299])  # from the tip at rest to the centre of the spiral, their world [m]
DURATION = 10.0  # [s]
KP_TORQUE, KD_TORQUE = 800.0, 60.0  # gains of torque control [1/s^2, 1/s]: roots -20 and -40 /s


@dataclass(frozen=True)
class Spiral:
    """(A cos 2 pi fA t, A sin 2 pi fA t, h cos 2 pi fh t) about its centre [m, Hz]."""

    A: float
    h: float
    fA: float
    fh: float


SPIRAL_OF_CODE = Spiral(0.045, 0.015, 0.75, 0.1)


def spiral(mechanism: Mechanism, shape: Spiral, duration: float = DURATION) -> CartesianPath:
    """The spiral about its centre."""
    a, b = 2 * np.pi * shape.fA * duration, 2 * np.pi * shape.fh * duration  # total angles

    def geometry(s: float) -> tuple[Array, Array, Array]:
        c, d = shape.A * np.cos(a * s), shape.A * np.sin(a * s)
        e, f = shape.h * np.cos(b * s), shape.h * np.sin(b * s)
        first, second = np.zeros(6), np.zeros(6)
        first[:3] = R_WORLD_BASE.T @ [-a * d, a * c, -b * f]
        second[:3] = R_WORLD_BASE.T @ [-a * a * c, -a * a * d, -b * b * e]
        return pose_at(mechanism, CENTRE + [c, d, e]), first, second

    return CartesianPath(geometry, duration, "constant")


def pose_at(mechanism: Mechanism, shift: Array) -> Array:
    """The desired orientation at an offset from the tip at rest, both in their world."""
    rest = mechanism.forward_kinematics(START)[:3, 3]
    return pose(R_WORLD_BASE.T @ R_WORLD_TIP, rest + R_WORLD_BASE.T @ shift)


@dataclass(frozen=True)
class Transient:
    """A run under torque control.

    Attributes:
        recording: recording of the engine. error, ideal: tip error (N, 3) and the solution of e'' + kd e' + kp e = 0
        mismatch: commanded minus model torque for the simulated motion (N, 3) [N m, N m, N].
    """

    recording: Recording
    error: Array
    ideal: Array
    mismatch: Array

    @property
    def deviation(self) -> float:
        """Largest distance from the ideal error [m]."""
        return float(np.linalg.norm(self.error - self.ideal, axis=1).max())


def torque_run(
    mechanism: Mechanism,
    path: CartesianPath,
    duration: float,
    kp: float | Array = KP_TORQUE,
    kd: float | Array = KD_TORQUE,
    **simulator: Any,
) -> Transient:
    """Simulate Cartesian feedback linearisation without friction; other settings are passed to the Simulator."""
    recording = simulate(
        started(**simulator), CartesianFeedbackLinearisation(mechanism, kp=kp, kd=kd, joints=3), path, duration
    )
    error = tip_error(recording)
    ideal = ideal_error(recording.t, error[0], path(0.0).twist[:3], kp, kd)
    return Transient(recording, error, ideal, engine_torque(recording) - model_torque(mechanism, recording))


def started(**simulator: Any) -> Simulator:
    """The PSM without friction at the start of every path; other settings are passed to the Simulator."""
    sim = Simulator("PSM", friction=False, contacts=False, **simulator)
    sim.reset(START)
    return sim


def tip_error(recording: Recording) -> Array:
    """Desired minus simulated tip position (N, 3) [m]."""
    return recording.commands["tip_position"] - recording.extra["tip"]


def ideal_error(t: Array, e0: Array, de0: Array, kp: float | Array = KP_TORQUE, kd: float | Array = KD_TORQUE) -> Array:
    """Solution (N, 3) of e'' + kd e' + kp e = 0 from e0, de0 for each axis."""
    gains = np.broadcast_to(kp, 3), np.broadcast_to(kd, 3)
    columns = []
    for e, de, p, d in zip(e0, de0, *gains, strict=True):
        middle, half = -d / 2, np.sqrt(complex(d * d / 4 - p))  # roots: middle +- half
        growing = t if half == 0 else np.sinh(half * t) / half
        columns.append((np.exp(middle * t) * (e * np.cosh(half * t) + (de - middle * e) * growing)).real)
    return np.stack(columns, axis=1)


def engine_torque(recording: Recording) -> Array:
    """Torque (N, 3) applied in the engine."""
    return np.array(recording.extra["applied_tau"])[:, ARM]


def model_torque(mechanism: Mechanism, recording: Recording) -> Array:
    """Torque (N, 3) of the equations for the simulated motion, without friction."""
    if recording.ddq is None:
        raise TrocarError("the model's torque requires accelerations, and the recording has none")
    return mechanism.inverse_dynamics(recording.q, recording.dq, recording.ddq)[:, ARM]


def rms(values: Array) -> Array:
    """Root mean square over rows."""
    return np.sqrt(np.mean(np.square(values), axis=0))
