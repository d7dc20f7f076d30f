"""Position control of the tip: feedback linearisation, regulation to a pose, and joint rates from the pose error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Controller, Setpoint, State
from trocar.control.joint_space import VelocityServo
from trocar.control.tip_task import HOLD, TipController
from trocar.control.trajectories.paths import TipMotion
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.spatial import Array, checked_pose, pose


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
