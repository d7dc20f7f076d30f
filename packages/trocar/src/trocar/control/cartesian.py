"""Control of the tip: its error, its Jacobian, the joint motion that produces a tip motion, and position controllers.

Six-vectors are linear first, in base axes, at the tip origin.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Controller, Setpoint, State, checked_mechanism, checked_period
from trocar.control.joint_space import VelocityServo
from trocar.control.trajectories.paths import TipMotion
from trocar.control.trajectories.reference import NEAR_SINGULAR
from trocar.errors import NearSingular, TrocarError
from trocar.mechanics import Mechanism
from trocar.mechanics.singularities import LENGTH
from trocar.spatial import Array, checked_pose, pose, quaternion

HOLD = 100.0  # natural frequency of the held joints, critically damped [rad/s]


@dataclass(frozen=True, slots=True)
class TipState:
    """Tip error (k,) relative to the reference motion, its rate (k,), and the Jacobian (k, m)."""

    e: Array
    de: Array
    J: Array


class TipTask:
    """The controlled part of the tip's motion and the joints that control it.

    Args:
        joints: 3 for the position, by the first three joints; 6 for the pose, by every joint that moves the tip
            (6 for a PSM; 7 for an MTM, which minimises the joint rates). An ECM, with four joints, cannot control the
            pose.
        hold: natural frequency [rad/s] at which the other joints are held at their positions of the first call.
    """

    def __init__(self, mechanism: Mechanism, joints: int, hold: float = HOLD) -> None:
        arm = checked_mechanism(mechanism).arm
        if joints not in (3, 6):
            raise TrocarError(f"joints must be 3 (position, by the first three joints) or 6 (pose), got {joints!r}")
        if arm.tip_joints < joints:
            raise TrocarError(
                f"{arm.name} moves its tip with {arm.tip_joints} joints and cannot take any pose: joints=6 needs an "
                "arm with a wrist (PSM, PSM_Si, MTML, MTMR). Use joints=3, which controls the position"
            )
        if not (np.isfinite(hold) and hold >= 0):
            raise TrocarError(f"hold must be finite and not negative [rad/s], got {hold!r}")
        self.mechanism, self.rows, self.hold = mechanism, joints, float(hold)
        self.columns = 3 if joints == 3 else arm.tip_joints
        self._row_scale = np.array([1.0 / LENGTH] * 3 + [1.0] * 3)[:joints]
        kinds = [joint.kind for joint in arm.joints[: self.columns]]
        self._column_scale = np.array([LENGTH if kind == "prismatic" else 1.0 for kind in kinds])
        self._serial = len(arm.serial) == arm.tip_joints  # each joint moves one link of the table
        self.reset()

    def reset(self) -> None:
        self._warned = False
        self.posture: Array | None = None

    def tip(self, state: State, motion: object) -> TipState:
        """Tip error and its rate relative to a reference motion, with the full Jacobian (rows, m)."""
        if not isinstance(motion, TipMotion):
            raise TrocarError(
                "a tip controller needs a CartesianPath, or a function t -> TipMotion; "
                f"got a setpoint of type {type(motion).__name__}"
            )
        J = self.mechanism.jacobian(state.q)[: self.rows]
        e = tip_error(motion.T, self.mechanism.forward_kinematics(state.q))[: self.rows]
        return TipState(e, motion.twist[: self.rows] - J @ state.dq[: J.shape[1]], J)

    def joint_rates(self, J: Array, v: Array, preferred: Array | None = None) -> Array:
        """Rates (columns,) of the task's joints with J x = v, v (rows,); damped near a singularity, with one warning.

        Damped: s / (s^2 + d^2) instead of 1 / s for singular values s of the scaled Jacobian below 0.05, d^2 growing
        from 0 to 0.05^2 as s goes to 0. `preferred`: rates of a redundant arm in the null space of the task.
        """
        S = self._row_scale[:, None] * J[:, : self.columns] * self._column_scale
        U, s, V = np.linalg.svd(S, full_matrices=False)
        inverse = 1.0 / np.maximum(s, NEAR_SINGULAR)
        if s[-1] < NEAR_SINGULAR:
            small = s < NEAR_SINGULAR
            inverse[small] = s[small] / NEAR_SINGULAR**2  # s^2 + d^2 with d^2 = 0.05^2 - s^2
            if not self._warned:
                self._warned = True
                near = f"{self.mechanism.arm.name} is near a singularity (smallest singular value {s[-1]:.2g})"
                text = f"the tip of {near}: its motion is damped there and lags behind"
                warnings.warn(text, NearSingular, stacklevel=3)
        x = V.T @ (inverse * (U.T @ (self._row_scale * v)))
        if preferred is not None and self.columns > self.rows:
            free = preferred / self._column_scale
            x = x + free - V.T @ (V @ free)
        return self._column_scale * x

    def all_rates(self, J: Array, v: Array) -> Array:
        """Rates (n,) of all joints with J x = v; zero for joints outside the task."""
        return np.pad(self.joint_rates(J, v), (0, self.mechanism.n - self.columns))

    def acceleration(self, state: State, J: Array, a: Array) -> Array:
        """Joint accelerations (n,) that accelerate the tip by a (rows,) while the other joints are held."""
        ddq = self.held(state)
        rest = J[:, self.columns :] @ ddq[self.columns : J.shape[1]]
        damped = -2.0 * self.hold * state.dq[: self.columns] if self.columns > self.rows else None
        ddq[: self.columns] = self.joint_rates(J, a - self.bias(state, J) - rest, damped)
        return ddq

    def inertia(self, state: State, J: Array) -> Array:
        """Inertia (rows, rows) of the tip with other joints held; the task needs as many joints as rows."""
        inverse = np.linalg.inv(J[:, : self.columns])
        M = self.mechanism.mass_matrix(state.q)[: self.columns, : self.columns]
        return np.asarray(inverse.T @ M @ inverse)

    def held(self, state: State) -> Array:
        """Accelerations (n,) that hold the joints outside the task at their first positions; 0 for the others."""
        if self.posture is None:
            self.posture = state.q.copy()
        ddq = self.hold**2 * (self.posture - state.q) - 2.0 * self.hold * state.dq
        ddq[: self.columns] = 0.0
        return ddq

    def bias(self, state: State, J: Array) -> Array:
        """J_dot dq (rows,): acceleration of the tip at constant joint rates."""
        m = J.shape[1]
        if not self._serial:
            return self.mechanism.jacobian_dot(state.q, state.dq)[: self.rows] @ state.dq[:m]
        # in a serial chain joint i rotates every later column: with v_i, w_i the columns times their rates and
        # W_i the sum of all earlier w, J_dot dq is the sum of (2 W_i + w_i) x v_i, below W_i x w_i
        v, w = (self.mechanism.jacobian(state.q) * state.dq[:m]).reshape(2, 3, m)
        W = np.cumsum(w, axis=1) - w
        linear = _cross(2.0 * W + w, v)
        return linear if self.rows == 3 else np.concatenate([linear, _cross(W, w)])


class TipController(Controller):
    """Base of tip controllers that use a `TipTask`."""

    def __init__(self, mechanism: Mechanism, joints: int, hold: float = HOLD, period: float | None = None) -> None:
        self._task, self.hold, self.period = TipTask(mechanism, joints, hold), hold, checked_period(period)

    def reset(self) -> None:
        self._task.reset()

    def hold_at(self, q: Array) -> None:
        """Hold the joints outside the task at q (n,) [rad, m] from now on."""
        self._task.posture = np.array(q)

    def _effort(
        self, state: State, J: Array, a: Array, load: Array | None = None, friction_at: Array | None = None
    ) -> Array:
        """Effort (n,) that accelerates the tip by a (rows,) while the joints outside the task are held.

        Args:
            load: measured wrench (6,) on the tip to cancel [N, N m].
            friction_at: twist (rows,) of the tip at which the model's friction is added.
        """
        mechanism = self._task.mechanism
        tau = mechanism.inverse_dynamics(state.q, state.dq, self._task.acceleration(state, J, a))
        if load is not None:
            whole = mechanism.jacobian(state.q)
            tau[: whole.shape[1]] -= whole.T @ load
        if friction_at is not None:
            tau = tau + mechanism.friction(state.q, self._task.all_rates(J, friction_at))
        return tau


def tip_error(T_ref: Array, T: Array) -> Array:
    """(6,): position error [m], then twice the vector part of the error quaternion (2 sin(angle / 2) about the axis).

    For small angles that is the rotation vector [rad]. It points from T to T_ref the shorter way, in base axes.
    """
    h = quaternion(T_ref[:3, :3] @ T[:3, :3].T)
    return np.concatenate([T_ref[:3, 3] - T[:3, 3], (-2.0 if h[0] < 0 else 2.0) * h[1:]])


def _cross(a: Array, b: Array) -> Array:
    """Sum over columns of a_i x b_i, both (3, m)."""
    P = a @ b.T
    return np.array([P[1, 2] - P[2, 1], P[2, 0] - P[0, 2], P[0, 1] - P[1, 0]])


class CartesianFeedbackLinearisation(TipController):
    """tau = M ddq + c + g [+ f] with J ddq = a_ref + kd (v_ref - v) + kp (p_ref - p) - J_dot dq.

    Eqs. 6 and 7 of Ferro et al. 2022. With a perfect model the error of the tip obeys e'' + kd e' + kp e = 0.
    With joints=6 the orientation follows the same law in small angles; its error is twice the vector part of the error
    quaternion, in base axes. Joints outside the task (the wrist with joints=3, always the jaw) are held at their
    positions of the first call, as critically damped oscillators of frequency `hold`; their effect on the tip is
    cancelled.

    Args:
        mechanism: the controller's model, which may differ from the simulated one.
        kp: [1/s^2]. kd: [1/s]. One number, or (joints,) in base axes.
        joints: 3 for the position by the first three joints, 6 for the pose.
        friction: add the model's friction and offset, at the commanded joint rates.
        hold: [rad/s]; must be well below 1 / period.
        period: [s]. Default: every step.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        kp: ArrayLike = 800.0,
        kd: ArrayLike = 60.0,
        joints: int = 3,
        friction: bool = False,
        *,
        hold: float = HOLD,
        period: float | None = None,
    ) -> None:
        super().__init__(mechanism, joints, hold, period)
        self.kp, self.kd = checks.gains("kp", kp, joints), checks.gains("kd", kd, joints)
        self.joints, self.friction = joints, friction

    def __call__(self, state: State, setpoint: TipMotion) -> Array:
        tip, rows = self._task.tip(state, setpoint), self._task.rows
        a = setpoint.acceleration[:rows] + self.kd * tip.de + self.kp * tip.e
        return self._effort(state, tip.J, a, friction_at=setpoint.twist[:rows] if self.friction else None)


class CartesianRegulation(CartesianFeedbackLinearisation):
    """`CartesianFeedbackLinearisation` towards a fixed pose; the reference of the run is ignored.

    Args:
        T: pose (4, 4) of the tip in the base; with joints=3 a position (3,) [m] is enough.
        law, options: kp, kd, joints, friction, hold and period, as in `CartesianFeedbackLinearisation`.
    """

    def __init__(self, mechanism: Mechanism, T: ArrayLike, *law: Any, **options: Any) -> None:
        super().__init__(mechanism, *law, **options)
        T = np.asarray(T, dtype=float)
        if T.shape != (4, 4) and (self.joints, T.shape) != (3, (3,)):
            raise TrocarError(
                f"the goal must be one pose (4, 4) or, with joints=3, a position (3,), got shape {T.shape}"
            )
        self.T = checked_pose(pose(p=T) if T.shape == (3,) else T)
        self._goal = TipMotion(self.T, np.zeros(6), np.zeros(6))

    def __call__(self, state: State, setpoint: object) -> Array:
        return super().__call__(state, self._goal)


class CartesianKinematic(TipController):
    """dq = J^-1 [v_ref + kp e + ki int(e); w_ref + kp_orientation e_o], eq. 5 of Ferro et al. 2022.

    e is the position error and e_o the vector part of the error quaternion, sin(angle / 2) about its axis, both in
    base axes. The position error decays as exp(-kp t), a small angle as exp(-kp_orientation t / 2).

    `rate` returns dq, for a velocity-controlled robot or a kinematic simulation. To control efforts it
    needs an inner loop in the joints: `CartesianKinematic(mech).servo(kv)`.

    Args:
        joints: 3 for the position by the first three joints, the others at rest; 6 for the pose.
        kp: [1/s], ki: [1/s^2], one number or (3,) in base axes. kp_orientation: [1/s]. Default: 2 kp, so that
            angles decay as fast as positions.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        kp: ArrayLike = 15.0,
        ki: ArrayLike = 0.0,
        joints: int = 3,
        kp_orientation: ArrayLike | None = None,
    ) -> None:
        super().__init__(mechanism, joints)
        self.joints = joints
        self.kp, self.ki = checks.gains("kp", kp, 3), checks.gains("ki", ki, 3)
        self.kp_orientation = checks.gains(
            "kp_orientation", 2.0 * self.kp if kp_orientation is None else kp_orientation, 3
        )
        self.inner: Controller | None = None
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._integral, self._time = np.zeros(3), np.nan  # integral of e [m s]; time of the last call [s]
        self._q: Array | None = None  # integrated rates, for the inner loop
        if self.inner is not None:
            self.inner.reset()

    def rate(self, state: State, motion: TipMotion) -> Array:
        """Joint rates (n,) [rad/s, m/s]. With ki the integral grows by e times the time since the last call."""
        tip = self._task.tip(state, motion)
        if not np.isnan(self._time):
            self._integral += tip.e[:3] * (state.t - self._time)
        self._time = state.t
        v = motion.twist[: self._task.rows].copy()
        v[:3] += self.kp * tip.e[:3] + self.ki * self._integral
        v[3:] += 0.5 * self.kp_orientation * tip.e[3:] if self._task.rows == 6 else 0.0
        return self._task.all_rates(tip.J, v)

    def servo(self, inner: Controller | ArrayLike) -> CartesianKinematic:
        """The same law as an effort controller, through an inner joint loop whose period it takes.

        Args:
            inner: gains kv of a `VelocityServo`, or a controller in the joints: its setpoint is dq and
                the integral of dq from the start of the run. Add gravity compensation to a loop without integral term.
        """
        loop = CartesianKinematic(self._task.mechanism, self.kp, self.ki, self.joints, self.kp_orientation)
        loop.inner = inner if isinstance(inner, Controller) else VelocityServo(inner)
        loop.period = loop.inner.period
        return loop

    def __call__(self, state: State, setpoint: TipMotion) -> Array:
        if self.inner is None:
            raise TrocarError(
                "CartesianKinematic computes joint rates (`rate`); for efforts it needs an inner loop: "
                "CartesianKinematic(...).servo(kv), kv [N m s/rad, N s/m]"
            )
        elapsed = 0.0 if np.isnan(self._time) else state.t - self._time
        if self._q is None:
            self._q, self._dq = state.q.copy(), np.zeros_like(state.dq)
        self._q += self._dq * elapsed
        self._dq = self.rate(state, setpoint)
        return self.inner(state, Setpoint(self._q.copy(), self._dq, np.zeros_like(self._dq)))
