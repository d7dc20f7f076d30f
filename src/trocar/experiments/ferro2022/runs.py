"""Simulations of Ferro et al. 2022, Section IV: tip paths, and three controllers that follow them.

Paths are taken from the logs of the published simulator if the text is incomplete: there the base of the arm is turned
by 70 deg about the vertical, the tip starts at q = (0, 0, 0.1, -pi/2, 0, 0, 0) and jumps onto the path. The published
program starts the line at a point of the scene called Start and centres the spiral on it. Two positions of that point
occur: one in logs 1 and 2 (line under velocity control), the other in logs 3, 4 (spiral) and 8 (torque control).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.control import CartesianFeedbackLinearisation, CartesianKinematic, State, VelocityServo
from trocar.control.controller import Controller
from trocar.control.trajectories import CartesianPath, line
from trocar.errors import TrocarError
from trocar.experiments.ferro2022.logs import ARM, SETTLED, MeasuredMotion, rms
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.simulation import Simulator, simulate
from trocar.spatial import Array, pose, pose_error

BEYOND = 0.0091  # offset of their tip from the dVRK's along its z axis, from log 8 to 0.01 mm [m]
START = np.array([0.0, 0.0, 0.1, -np.pi / 2, 0.0, 0.0, 0.0])  # [rad, m]
R_WORLD_BASE = Rotation.from_euler("z", 70.0, degrees=True).as_matrix()  # of their scene
R_WORLD_TIP = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])  # the constant desired orientation
STEP = np.array([-0.00951, -0.04634, -0.00299])  # from the tip at rest to the start of the line, their world [m]
CENTRE = np.array([-0.00951, -0.02634, -0.00299])  # to the centre of the spiral and of the torque-control line
ALONG = np.array([-1.0, -1.0, 1.0]) / np.sqrt(3.0)  # direction of the line, their world
LENGTH, LOGGED_LENGTH = 0.09, 0.05 * np.sqrt(3.0)  # [m] in the text; in the logs
TORQUE_LENGTH = 0.03 * np.sqrt(3.0)  # [m] in the log of torque control
DURATION = 10.0  # [s]
KP = 15.0  # kinematic control [1/s]
KI_CODE = 0.0005  # integral gain of position in the program [1/s^2]
WRIST_STOP = -np.pi / 4  # limit of the wrist yaw in their scene: log 2 from 8.7 s on [rad]
KP_TORQUE, KD_TORQUE = 800.0, 60.0  # torque control in the text [1/s^2, 1/s]: roots -20 and -40 /s
KP_CODE, KD_CODE = np.array([250.0, 250.0, 500.0]), np.array([31.0, 31.0, 20.0])  # the same in the program, x y z


@dataclass(frozen=True)
class Spiral:
    """(A cos 2 pi fA t, A sin 2 pi fA t, h cos 2 pi fh t) about its centre [m, Hz]."""

    A: float
    h: float
    fA: float
    fh: float


SPIRAL_OF_CODE = Spiral(0.045, 0.015, 0.75, 0.1)
SPIRAL_OF_TEXT = Spiral(0.05, 0.03, 1.5, 0.5)


def rectilinear(
    mechanism: Mechanism, length: float = LOGGED_LENGTH, duration: float = DURATION, step: Array = STEP
) -> CartesianPath:
    """The line at constant speed, starting at an offset from the tip."""
    T0 = _pose(mechanism, step)
    return line(T0, T0[:3, 3] + length * R_WORLD_BASE.T @ ALONG, duration, scaling="constant")


def spiral(mechanism: Mechanism, shape: Spiral, duration: float = DURATION) -> CartesianPath:
    """The spiral about its centre."""
    a, b = 2 * np.pi * shape.fA * duration, 2 * np.pi * shape.fh * duration  # total angles

    def geometry(s: float) -> tuple[Array, Array, Array]:
        c, d = shape.A * np.cos(a * s), shape.A * np.sin(a * s)
        e, f = shape.h * np.cos(b * s), shape.h * np.sin(b * s)
        first, second = np.zeros(6), np.zeros(6)
        first[:3] = R_WORLD_BASE.T @ [-a * d, a * c, -b * f]
        second[:3] = R_WORLD_BASE.T @ [-a * a * c, -a * a * d, -b * b * e]
        return _pose(mechanism, CENTRE + [c, d, e]), first, second

    return CartesianPath(geometry, duration, "constant")


def regulation(mechanism: Mechanism, duration: float = DURATION) -> CartesianPath:
    """A constant target at an offset from the tip."""
    T = _pose(mechanism, STEP)
    return CartesianPath(lambda s: (T, np.zeros(6), np.zeros(6)), duration, "constant")


def _pose(mechanism: Mechanism, shift: Array) -> Array:
    """The desired orientation at an offset from the tip at rest, both in their world."""
    rest = mechanism.forward_kinematics(START)[:3, 3]
    return pose(R_WORLD_BASE.T @ R_WORLD_TIP, rest + R_WORLD_BASE.T @ shift)


# -- kinematic control, engine off (Fig. 2, 3) --------------------------------------------------------------------


def kinematic_run(
    mechanism: Mechanism, path: CartesianPath, period: float = 0.01, *, program: bool = False
) -> tuple[Array, Array, Array]:
    """Times (N,), joint positions (N, 7) and tip errors (N, 6) [m, rad] of joint velocities integrated at a period.

    Errors are in the axes of their world.

    Args:
        program: reproduce the published program. Its gain acts on the vector part of the error quaternion, so that
            angles decay at half the rate; a command acts one period after it was computed; the wrist yaw has a stop.
    """
    control = CartesianKinematic(
        mechanism, kp=KP, joints=6, ki=KI_CODE if program else 0.0, kp_orientation=KP if program else None
    )
    t = np.arange(round(path.duration / period)) * period
    q, errors = np.empty((len(t), 7)), np.empty((len(t), 6))
    here, before = START.copy(), np.zeros(7)
    for k, time in enumerate(t):
        motion = path(time)
        q[k], errors[k] = here, pose_error(motion.T, mechanism.forward_kinematics(here))
        rate = control.rate(State(time, here, np.zeros(7)), motion)
        here = here + period * (before if program else rate)
        before = rate
        if program:
            here[5] = max(here[5], WRIST_STOP)
    return t, q, in_world(errors)


def in_world(errors: Array) -> Array:
    """Pose errors (N, 6) in base axes, converted to the axes of their world."""
    return np.hstack([errors[:, :3] @ R_WORLD_BASE.T, errors[:, 3:] @ R_WORLD_BASE.T])


def pose_errors(mechanism: Mechanism, recording: Recording, path: CartesianPath) -> Array:
    """Tip errors (N, 6) [m, rad] of a recording along its path, in the axes of their world."""
    wanted = np.array([path(t).T for t in recording.t])
    return in_world(pose_error(wanted, mechanism.forward_kinematics(recording.q)))


def errors_of_joints(mechanism: Mechanism, q: Array, wanted: Array) -> Array:
    """Tip errors (N, 6) [m, rad] of joint positions (N, 7), their world.

    Args:
        wanted: targets (N, 3) relative to the tip at the first row, their world [m].
    """
    T = mechanism.forward_kinematics(np.hstack([q[:, :6], np.zeros((len(q), 1))]))
    tip = (T[:, :3, 3] + BEYOND * T[:, :3, 2]) @ R_WORLD_BASE.T
    target = pose(R_WORLD_BASE.T @ R_WORLD_TIP, np.zeros(3))
    turned = in_world(pose_error(target, T))[:, 3:]
    return np.hstack([wanted - (tip - tip[0]), turned])


# -- velocity control, engine on (Fig. 4, 5) ----------------------------------------------------------------------


class CartesianVelocityServo(Controller):
    """Joint velocity loops that follow the kinematic controller.

    tau = kv (dq_d - dq) + kp (int dq_d - q): the integral compensates gravity, so no model is needed.

    Args:
        hold: time [s] for which dq_d is held constant; the loops run at every step.
    """

    # for steps of 1 ms, lower for longer ones; the wrist is light [N m s/rad, N s/m]
    KV = np.array([60.0, 60.0, 150.0, 0.05, 0.05, 0.05, 0.05])
    RATE = 20.0  # kp / kv [1/s]

    def __init__(self, mechanism: Mechanism, timestep: float, hold: float) -> None:
        self.kv = self.KV * min(1.0, 1e-3 / timestep)
        self.timestep, self.hold = timestep, hold
        self._kinematic = CartesianKinematic(mechanism, kp=KP, joints=6)
        self._every = round(hold / timestep)
        self.reset()

    def reset(self) -> None:
        self._step, self._q = 0, START.copy()
        self._dq = np.zeros(7)

    def __call__(self, state: State, motion: Any) -> Array:
        if self._step % self._every == 0:
            self._dq = self._kinematic.rate(state, motion)
        self._step += 1
        tau = self.kv * (self._dq - state.dq + self.RATE * (self._q - state.q))
        self._q = self._q + self.timestep * self._dq
        return tau


def velocity_run(
    mechanism: Mechanism,
    path: CartesianPath,
    *,
    counterweight: bool = True,
    timestep: float = 1e-3,
    hold: float = 1e-3,
) -> Recording:
    """Simulate velocity control along a path, without friction and motor limits."""
    sim = started(counterweight=counterweight, timestep=timestep)
    return simulate(sim, CartesianVelocityServo(mechanism, timestep, hold), path, path.duration)


def engine_torque(recording: Recording) -> Array:
    """Torque (N, 3) applied in the engine."""
    return np.array(recording.extra["applied_tau"])[:, ARM]


def model_torque(mechanism: Mechanism, recording: Recording) -> Array:
    """Torque (N, 3) of the equations for the simulated motion, without friction."""
    if recording.ddq is None:
        raise TrocarError("the model's torque requires accelerations, and the recording has none")
    return mechanism.inverse_dynamics(recording.q, recording.dq, recording.ddq)[:, ARM]


def torque_errors(mechanism: Mechanism, recording: Recording) -> Array:
    """RMS (3,) of simulated minus model torque after the transient [N m, N m, N]."""
    rows = recording.t >= SETTLED
    return rms((engine_torque(recording) - model_torque(mechanism, recording))[rows])


# -- the real robot's excitation trajectory (Fig. 6) ---------------------------------------------------------------


def replay(motion: MeasuredMotion, *, friction: bool, counterweight: bool = True) -> Recording:
    """Simulate the engine along the measured motion, with rows at the recording's times."""
    timestep = 1e-3
    sim = Simulator("PSM", counterweight=counterweight, friction=friction, timestep=timestep, contacts=False)
    reference = motion.reference(timestep)
    sim.reset(reference(0.0).q, reference(0.0).dq)
    servo = VelocityServo(CartesianVelocityServo.KV, CartesianVelocityServo.RATE * CartesianVelocityServo.KV)
    return simulate(sim, servo, reference, motion.duration + timestep, every=5)


# -- torque control (Fig. 7, 8) ------------------------------------------------------------------------------------


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


def pose_run(mechanism: Mechanism, path: CartesianPath, duration: float, **simulator: Any) -> Recording:
    """Feedback linearisation of the full tip pose with six joints; the paper controls three by torque."""
    control = CartesianFeedbackLinearisation(mechanism, kp=KP_TORQUE, kd=KD_TORQUE, joints=6)
    return simulate(started(**simulator), control, path, duration)


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
