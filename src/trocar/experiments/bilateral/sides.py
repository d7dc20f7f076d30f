"""The two robots of a pair: a free master with force feedback, and a slave that follows a position."""

from __future__ import annotations

import numpy as np

from trocar.experiments.bilateral.arms import TipArm
from trocar.spatial import Array


def inverse3(J: Array) -> Array:
    """Inverses (3, 3, N) of matrices J (3, 3, N)."""
    a, b, c = J[:, 0], J[:, 1], J[:, 2]
    rows = np.empty_like(J)
    for row, x, y in ((0, b, c), (1, c, a), (2, a, b)):
        rows[row, 0] = x[1] * y[2] - x[2] * y[1]
        rows[row, 1] = x[2] * y[0] - x[0] * y[2]
        rows[row, 2] = x[0] * y[1] - x[1] * y[0]
    return np.asarray(rows / (a * rows[0]).sum(axis=0))


class Side:
    """One robot of a pair in tip coordinates. Gains and effort limits are those of its dVRK controller.

    Attributes:
        x, v: (3, N) position and velocity of the tip in the base [m, m/s]. x0: position at the start.
    """

    def __init__(self, arm: TipArm) -> None:
        self.arm = arm
        facts = arm.mechanism.arm
        self._coupling = np.asarray(facts.motors.coupling)
        A = np.linalg.inv(self._coupling)
        self._motor = A
        self._limit = np.asarray(facts.motors.effort)[:, None]
        self._kp, self._kd = (A.T @ (np.asarray(k)[:, None] * A) for k in (facts.gains.kp, facts.gains.kd))
        self.q0 = arm.q.copy()
        self.read()
        self.x0 = self.x

    def read(self) -> None:
        arm = self.arm
        self.J = arm.jacobian(arm.q)
        self.x = arm.position(arm.q)
        self.v = np.einsum("imN,mN->iN", self.J[:3], arm.dq[: self.J.shape[1]])

    def _limited(self, tau: Array) -> Array:
        """Joint efforts (n, N) within the motors' limits."""
        motor = self._coupling.T @ tau
        return self._motor.T @ np.minimum(np.maximum(motor, -self._limit), self._limit)


class Master(Side):
    """Gravity compensation, J' F at the grip, and the wrist held in place as by the dVRK's lock_orientation."""

    def step(self, F: Array, hand: Array) -> None:
        """Advance one step with the motors' force F (3, N) and the hand's force [N]."""
        arm = self.arm
        tau = arm.gravity(arm.q)
        tau[:3] += np.einsum("imN,iN->mN", self.J[:3, :3], F)
        tau[3:] += self._kp[3:, 3:] @ (self.q0 - arm.q)[3:] - self._kd[3:, 3:] @ arm.dq[3:]
        self.tau = self._limited(tau)
        arm.step(self.tau, hand, self.J)
        self.read()


class Slave(Side):
    """The dVRK's PID with velocity feed-forward and gravity compensation, towards a position of the tip.

    The first three joints place the tip, the wrist keeps its joints. A step of Newton's method from the last set-point
    finds them, with the Jacobian of the measured joints. With `move_limits` a set-point moves no faster than the joints
    do in `move_jp`; the dVRK's own `servo_cp` has no such limit.

    Attributes:
        q_d, dq_d: (n, N) set-point of the joints. asked: (N,) fastest joint of the target, 1 at its move limit.
        tau: (n, N) effort of the last step.
    """

    def __init__(self, arm: TipArm, dt: float = 1e-3, move_limits: bool = False) -> None:
        super().__init__(arm)
        self.q_d, self.dq_d = arm.q.copy(), np.zeros_like(arm.q)
        self.asked = np.zeros(arm.N)
        self._dt, self.move_limits = dt, move_limits
        self._fastest = np.array([joint.velocity for joint in arm.mechanism.arm.joints])[:3, None]

    def step(self, x: Array, v: Array, force: Array, load: Array | None = None) -> None:
        """Advance one step towards the position x (3, N) with velocity v.

        force: additional force (3, N) of the motors [N]. load: external force (3, N) in addition to the wall [N].
        """
        arm = self.arm
        missing = (x - arm.position(self.q_d)) / self._dt
        rate, dq = np.einsum("miN,kiN->kmN", inverse3(self.J[:3, :3]), np.stack([missing, v]))
        self.asked = (np.abs(rate) / self._fastest).max(axis=0)
        if self.move_limits:
            rate, dq = (np.minimum(np.maximum(y, -self._fastest), self._fastest) for y in (rate, dq))
        self.q_d = self.q_d.copy()
        self.q_d[:3] += rate * self._dt
        self.dq_d[:3] = dq
        tau = self._kp @ (self.q_d - arm.q) + self._kd @ (self.dq_d - arm.dq) + arm.gravity(arm.q)
        tau[:3] += np.einsum("imN,iN->mN", self.J[:3, :3], force)
        self.tau = self._limited(tau)
        arm.step(self.tau, load, self.J)
        self.read()
