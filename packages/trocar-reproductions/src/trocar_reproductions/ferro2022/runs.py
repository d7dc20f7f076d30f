"""Simulations of Ferro et al. 2022, Section IV: tip paths, and three controllers that follow them.

Paths are taken from the logs of the published simulator if the text is incomplete: there the base of the arm is turned
by 70 deg about the vertical, the tip starts at q = (0, 0, 0.1, -pi/2, 0, 0, 0) and jumps onto the path. The published
program starts the line at a point of the scene called Start and centres the spiral on it. Two positions of that point
occur: one in logs 1 and 2 (line under velocity control), the other in logs 3, 4 (spiral) and 8 (torque control).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trocar.arms.arm import shift
from trocar.control import CartesianFeedbackLinearisation, CartesianKinematic, State, VelocityServo
from trocar.control.controller import Controller
from trocar.control.trajectories import CartesianPath, line
from trocar.demo.torque_control import (
    DURATION,
    KD_TORQUE,
    KP_TORQUE,
    R_WORLD_BASE,
    R_WORLD_TIP,
    SETTLED,
    START,
    Spiral,
    engine_torque,
    model_torque,
    pose_at,
    rms,
    started,
)
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.simulation import Simulator, simulate
from trocar.spatial import Array, pose, pose_error
from trocar_reproductions.ferro2022.logs import MeasuredMotion

BEYOND = 0.0091  # offset of their tip from the dVRK's along its z axis, from log 8 to 0.01 mm [m]
STEP = np.array([-0.00951, -0.04634, -0.00299])  # from the tip at rest to the start of the line, their world [m]
ALONG = np.array([-1.0, -1.0, 1.0]) / np.sqrt(3.0)  # direction of the line, their world
LENGTH, LOGGED_LENGTH = 0.09, 0.05 * np.sqrt(3.0)  # [m] in the text; in the logs
TORQUE_LENGTH = 0.03 * np.sqrt(3.0)  # [m] in the log of torque control
KP = 15.0  # kinematic control [1/s]
KI_CODE = 0.0005  # integral gain of position in the program [1/s^2]
WRIST_STOP = -np.pi / 4  # limit of the wrist yaw in their scene: log 2 from 8.7 s on [rad]
SPIRAL_OF_TEXT = Spiral(0.05, 0.03, 1.5, 0.5)
KP_CODE, KD_CODE = np.array([250.0, 250.0, 500.0]), np.array([31.0, 31.0, 20.0])  # the same in the program, x y z


def at_their_tip(mechanism: Mechanism) -> Mechanism:
    """The mechanism with the tip of their scene, for its poses and Jacobians."""
    arm = mechanism.arm
    beyond = replace(arm, T_last_tip=arm.T_last_tip @ shift(z=BEYOND))
    return Mechanism(beyond, mechanism.parameters, counterweight=mechanism.counterweight)


def rectilinear(
    mechanism: Mechanism, length: float = LOGGED_LENGTH, duration: float = DURATION, step: Array = STEP
) -> CartesianPath:
    """The line at constant speed, starting at an offset from the tip."""
    T0 = pose_at(mechanism, step)
    return line(T0, T0[:3, 3] + length * R_WORLD_BASE.T @ ALONG, duration, scaling="constant")


def regulation(mechanism: Mechanism, duration: float = DURATION) -> CartesianPath:
    """A constant target at an offset from the tip."""
    T = pose_at(mechanism, STEP)
    return CartesianPath(lambda s: (T, np.zeros(6), np.zeros(6)), duration, "constant")


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


def pose_run(mechanism: Mechanism, path: CartesianPath, duration: float, **simulator: Any) -> Recording:
    """Feedback linearisation of the full tip pose with six joints; the paper controls three by torque."""
    control = CartesianFeedbackLinearisation(mechanism, kp=KP_TORQUE, kd=KD_TORQUE, joints=6)
    return simulate(started(**simulator), control, path, duration)
