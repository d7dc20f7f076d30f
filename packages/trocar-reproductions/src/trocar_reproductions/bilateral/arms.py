"""The two robots of a pair: a free master with force feedback, and a slave that follows a position and reports a force.

Each is N arms in generated code (`CompiledArm`) or one arm in the MuJoCo engine (`EngineArm`), in tip coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from trocar import batch
from trocar.control.observers import MomentumObserver
from trocar.simulation import Simulator
from trocar.spatial import Array


@dataclass(frozen=True)
class Wall:
    """A horizontal elastic wall below the tip.

    Attributes:
        stiffness: one number or (N,) [N/m]. damping: [N s/m]. gap: depth below the tip's start [m].
    """

    stiffness: ArrayLike = 1000.0
    damping: float = 1.0
    gap: float = 0.01


@lru_cache
def _loaded(name: str) -> batch.BatchArms:
    return batch.load(name)


class CompiledArm:
    """N arms at home stepped by `trocar.batch`, with a wall that may differ between them.

    Attributes:
        q, dq: (n, N). contact: force of the wall on the tip (3, N) in the step just taken [N].
    """

    def __init__(self, name: str, N: int, wall: Wall | None = None, dt: float = 1e-3) -> None:
        self.N, self.dt = N, dt
        self._plain = self._arms = _loaded(name)
        self.mechanism, self.jacobian = self._plain.mechanism, self._plain.jacobian
        home = np.array(self.mechanism.arm.home, dtype=float)
        if wall is not None:
            z = self.mechanism.forward_kinematics(home)[2, 3]
            k = np.broadcast_to(np.asarray(wall.stiffness, dtype=float), (N,)).copy()
            plane = batch.Plane(normal=[0, 0, 1], offset=z - wall.gap, stiffness=k, damping=wall.damping)
            self._arms = batch.load(self.mechanism, surfaces=[plane])
        self._state = self._arms.state(np.tile(home[:, None], N))
        self._read()

    def step(self, tau: Array, force: Array | None, J: Array) -> None:
        """Advance one step under joint efforts tau (n, N), with an external force (3, N) on the tip [N].

        J: (6, m, N), `jacobian(q)` of the current state.
        """
        if force is not None:
            tau = tau.copy()
            tau[: J.shape[1]] += np.einsum("imN,iN->mN", J[:3], force)
        self._state = self._arms.step(self._state, tau, self.dt)
        self._read()

    def _read(self) -> None:
        self.q, self.dq = self._state.q, self._state.dq
        self.contact = np.zeros((3, self.N))
        if len(self._state.contact):
            self.contact[2] = self._state.contact[0]

    def position(self, q: Array) -> Array:
        return self._plain.tip_pose(q)[:3, 3]

    def gravity(self, q: Array) -> Array:
        return self._plain.bias(q, np.zeros_like(q))


class EngineArm:
    """One arm at home in the MuJoCo engine, N = 1; the wall is a spring and a damper at the tip. See `CompiledArm`."""

    N = 1

    def __init__(self, name: str, wall: Wall | None = None, dt: float = 1e-3) -> None:
        self.sim = Simulator(name, timestep=dt)
        self.mechanism, self.wall = self.sim.mechanism, wall
        home = self.mechanism.arm.home
        self._surface = self.mechanism.forward_kinematics(home)[2, 3] - (wall.gap if wall else 0.0)
        self.sim.reset(home)
        self.contact = np.zeros((3, 1))
        self.q, self.dq = self.sim.q[:, None], self.sim.dq[:, None]

    def step(self, tau: Array, force: Array | None, J: Array) -> None:
        self.contact = np.zeros((3, 1))
        if self.wall is not None:
            depth = self._surface - self.position(self.q)[2]
            rate = -(J[2, :, 0] @ self.dq[: J.shape[1]])
            pressed = float(np.asarray(self.wall.stiffness).ravel()[0]) * depth + self.wall.damping * rate
            self.contact[2] = np.where(depth > 0.0, np.maximum(pressed, 0.0), 0.0)
        total = self.contact if force is None else self.contact + force
        self.sim.apply_wrench([*total[:, 0], 0.0, 0.0, 0.0])
        self.sim.step(tau[:, 0])
        self.q, self.dq = self.sim.q[:, None], self.sim.dq[:, None]

    def position(self, q: Array) -> Array:
        return self.mechanism.forward_kinematics(q[:, 0])[:3, 3:]

    def jacobian(self, q: Array) -> Array:
        return self.mechanism.jacobian(q[:, 0])[..., None]

    def gravity(self, q: Array) -> Array:
        return self.mechanism.gravity(q[:, 0])[:, None]


TipArm: TypeAlias = CompiledArm | EngineArm


class Side:
    """One robot of a pair in tip coordinates. Gains and effort limits are those of its dVRK controller.

    Attributes:
        x, v: (3, N) position and velocity of the tip in the base [m, m/s]. x0: position at the start.
        tau: (n, N) effort of the last step; None before the first.
    """

    def __init__(self, arm: TipArm) -> None:
        self.arm, facts = arm, arm.mechanism.arm
        self._coupling = np.asarray(facts.motors.coupling)
        self._motor_from_joint = A = np.linalg.inv(self._coupling)
        self._limit = np.asarray(facts.motors.effort)[:, None]
        self._kp, self._kd = (A.T @ (np.asarray(k)[:, None] * A) for k in (facts.gains.kp, facts.gains.kd))
        self.tau: Array | None = None
        self.q0 = arm.q.copy()
        self.read()
        self.x0 = self.x

    def read(self) -> None:
        arm = self.arm
        self.J = arm.jacobian(arm.q)
        self.x = arm.position(arm.q)
        self.v = np.einsum("imN,mN->iN", self.J[:3], arm.dq[: self.J.shape[1]])

    def _step(self, tau: Array, load: Array | None) -> None:
        """Advance one step under joint efforts (n, N) within the motors' limits, and a force (3, N) on the tip [N]."""
        motor = self._coupling.T @ tau
        self.tau = self._motor_from_joint.T @ np.minimum(np.maximum(motor, -self._limit), self._limit)
        self.arm.step(self.tau, load, self.J)
        self.read()


class Master(Side):
    """Gravity compensation, J' F at the grip, and the wrist held in place as by the dVRK's lock_orientation."""

    def step(self, F: Array, hand: Array) -> None:
        """Advance one step with the motors' force F (3, N) and the hand's force [N]."""
        arm = self.arm
        tau = arm.gravity(arm.q)
        tau[:3] += np.einsum("imN,iN->mN", self.J[:3, :3], F)
        tau[3:] += self._kp[3:, 3:] @ (self.q0 - arm.q)[3:] - self._kd[3:, 3:] @ arm.dq[3:]
        self._step(tau, hand)


class Slave(Side):
    """The dVRK's PID with velocity feed-forward and gravity compensation, towards a position of the tip.

    The first three joints place the tip, the wrist keeps its joints. A step of Newton's method from the last set-point
    finds them, with the Jacobian of the measured joints. With `move_limits` a set-point moves no faster than the joints
    do in `move_jp`; the dVRK's own `servo_cp` has no such limit.

    Attributes:
        q_d, dq_d: (n, N) set-point of the joints. asked: (N,) fastest joint of the target, 1 at its move limit.
    """

    def __init__(self, arm: TipArm, dt: float = 1e-3, move_limits: bool = False) -> None:
        super().__init__(arm)
        self.q_d, self.dq_d = arm.q.copy(), np.zeros_like(arm.q)
        self.asked = np.zeros(arm.N)
        self._dt, self.move_limits = dt, move_limits
        self._max_speed = np.array([joint.velocity for joint in arm.mechanism.arm.joints])[:3, None]

    def step(self, x: Array, v: Array, force: Array, load: Array | None = None) -> None:
        """Advance one step towards the position x (3, N) with velocity v.

        force: additional force (3, N) of the motors [N]. load: external force (3, N) in addition to the wall [N].
        """
        arm = self.arm
        missing = (x - arm.position(self.q_d)) / self._dt
        rate, dq = np.einsum("miN,kiN->kmN", _inverse3(self.J[:3, :3]), np.stack([missing, v]))
        self.asked = (np.abs(rate) / self._max_speed).max(axis=0)
        if self.move_limits:
            rate, dq = (np.minimum(np.maximum(y, -self._max_speed), self._max_speed) for y in (rate, dq))
        self.q_d = self.q_d.copy()
        self.q_d[:3] += rate * self._dt
        self.dq_d[:3] = dq
        tau = self._kp @ (self.q_d - arm.q) + self._kd @ (self.dq_d - arm.dq) + arm.gravity(arm.q)
        tau[:3] += np.einsum("imN,iN->mN", self.J[:3, :3], force)
        self._step(tau, load)


def _inverse3(J: Array) -> Array:
    """Inverses (3, 3, N) of matrices J (3, 3, N)."""
    a, b, c = J[:, 0], J[:, 1], J[:, 2]
    rows = np.empty_like(J)
    for row, x, y in ((0, b, c), (1, c, a), (2, a, b)):
        rows[row, 0] = x[1] * y[2] - x[2] * y[1]
        rows[row, 1] = x[2] * y[0] - x[0] * y[2]
        rows[row, 2] = x[0] * y[1] - x[1] * y[0]
    return np.asarray(rows / (a * rows[0]).sum(axis=0))


# -- force reported by the slave -----------------------------------------------------------------------------------
class ContactTruth:
    """True force of the environment on the tip, from the simulation."""

    name = "contact"

    def start(self, slave: Slave, dt: float) -> None:
        """Start a run with this slave."""
        self._slave, self._dt = slave, dt

    def __call__(self) -> Array:
        """Force (3, N) of the environment on the tip, base axes [N]."""
        return self._slave.arm.contact


class TipSensor(ContactTruth):
    """A sensor at the tip: first-order low-pass and white noise.

    Args:
        cutoff: [Hz]. noise: deviation of a sample [N]. seed: of the noise.
    """

    name = "sensor"

    def __init__(self, cutoff: float = 50.0, noise: float = 0.0, seed: int = 0) -> None:
        self.cutoff, self.noise, self.seed = cutoff, noise, seed

    def start(self, slave: Slave, dt: float) -> None:
        super().start(slave, dt)
        self._rng, self._f = np.random.default_rng(self.seed), np.zeros_like(slave.x)
        self._share = 1.0 - np.exp(-2.0 * np.pi * self.cutoff * dt)

    def __call__(self) -> Array:
        self._f = self._f + self._share * (self._slave.arm.contact - self._f)
        return self._f + self.noise * self._rng.normal(size=self._f.shape) if self.noise else self._f


class MeasuredEffort(ContactTruth):
    """The dVRK's measured_cf with opposite sign: f = -pinv(J') tau, including gravity, friction and inertia."""

    name = "measured_cf"

    def __call__(self) -> Array:
        slave = self._slave
        if slave.tau is None:  # before the first step
            return np.zeros_like(slave.x)
        return self._force(slave.tau + slave.arm.mechanism.effort_bias[:, None])

    def _force(self, tau: Array) -> Array:
        """Force (3, N) from the measured efforts (n, N)."""
        J = self._slave.J
        return -np.einsum("Nij,jN->iN", np.linalg.pinv(J.transpose(2, 1, 0)), tau[: J.shape[1]])[:3]


class Observed(MeasuredEffort):
    """Residual r of a momentum observer on the first three joints: f = J3^-T r.

    The observer has the friction model of the arm. At rest, Coulomb friction hides part of the force.

    Args:
        bandwidth: [rad/s].
    """

    name = "observer"

    def __init__(self, bandwidth: float = 60.0) -> None:
        self.bandwidth = bandwidth

    def start(self, slave: Slave, dt: float) -> None:
        super().start(slave, dt)
        arm = slave.arm
        self._observers = [MomentumObserver(arm.mechanism, self.bandwidth) for _ in range(arm.N)]
        for i, observer in enumerate(self._observers):
            observer.reset(arm.q[:, i], arm.dq[:, i])

    def _force(self, tau: Array) -> Array:
        slave, arm = self._slave, self._slave.arm
        r = np.stack([o.update(arm.q[:, i], arm.dq[:, i], tau[:, i], self._dt) for i, o in enumerate(self._observers)])
        return np.linalg.solve(slave.J[:3, :3].transpose(2, 1, 0), r[:, :3, None])[..., 0].T


FORCE_SOURCES = {source.name: source for source in (ContactTruth, TipSensor, Observed, MeasuredEffort)}
