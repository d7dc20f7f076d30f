"""Pushing along some axes, moving along the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar.control.cartesian_impedance import Wrench, measured
from trocar.control.controller import Controller, State, checked_gains, checked_period
from trocar.control.tip_task import HOLD, TipTask
from trocar.control.trajectories.paths import TipMotion
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.spatial import Array


class HybridForcePosition(Controller):
    """Force along the axes selected, position along the others, axes of the base; the first three joints do it.

    The measured wrench is cancelled and the tip's motion linearised. Then, with F the force of the tip on its
    surroundings and v its velocity,

        position axes:  a = a_ref + kd (v_ref - v) + kp (p_ref - p)
        force axes:     a = kf (F_ref - F) + ki int(F_ref - F) - kd v

    On a surface of stiffness k the force obeys F'' + kd F' + kf k F = kf k F_ref (ki = 0): without overshoot if
    kf k <= kd^2 / 4. ki takes out what friction leaves; it must stay below kd kf. In free space the tip approaches
    at kf F_ref / kd (ki = 0).

    Args:
        mechanism: the model, which need not be the one simulated.
        force_axes: (3,) of bool: x, y, z of the base.
        force: F_ref (3,) [N]: what the tip pushes with; read on the force axes only.
        wrench: measures force (3,) or force and moment (6,) of the surroundings on the tip [N, N m], base axes: -F.
        kp: [1/s^2], kd: [1/s], kf: [1/kg], ki: [1/(kg s)].
        friction: whether the model's friction and offset are added, at the joint rates asked for.
        hold: [rad/s], of the joints left out. period: [s]; None for every step.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        force_axes: ArrayLike,
        force: ArrayLike,
        wrench: Wrench,
        kp: ArrayLike = 800.0,
        kd: ArrayLike = 60.0,
        kf: float = 0.5,
        ki: float = 0.0,
        *,
        friction: bool = False,
        hold: float = HOLD,
        period: float | None = None,
    ) -> None:
        axes = np.array(force_axes)
        if axes.shape != (3,) or axes.dtype != bool:
            raise TrocarError(f"force_axes is three of True or False, for x, y, z of the base, got {force_axes!r}")
        if not axes.any():
            raise TrocarError("force_axes selects no axis; for position alone use CartesianFeedbackLinearisation")
        self.force_axes, self.force = axes, np.array(force, dtype=float)
        if self.force.shape != (3,) or not np.isfinite(self.force).all():
            raise TrocarError(f"force must be three finite numbers [N], got {force!r}")
        self.kp, self.kd = checked_gains(kp, "kp", 3), checked_gains(kd, "kd", 3)
        self.kf, self.ki = float(checked_gains(kf, "kf", 1)), float(checked_gains(ki, "ki", 1))
        self.friction, self.hold, self.period = friction, hold, checked_period(period)
        self._task, self._wrench = TipTask(mechanism, 3, hold), wrench
        self.reset()

    def reset(self) -> None:
        self._task.reset()
        self._integral, self._time = np.zeros(3), np.nan  # of the force error [N s]; of the last call [s]

    def __call__(self, state: State, setpoint: TipMotion) -> Array:
        task, mechanism = self._task, self._task.mechanism
        tip = task.tip(state, setpoint)
        load = measured(self._wrench)
        short = self.force + load[:3]
        if not np.isnan(self._time):
            self._integral += short * (state.t - self._time)
        self._time = state.t
        v = setpoint.twist[:3] - tip.de
        move = setpoint.acceleration[:3] + self.kd * tip.de + self.kp * tip.e
        push = self.kf * short + self.ki * self._integral - self.kd * v
        a = np.where(self.force_axes, push, move)
        tau = mechanism.inverse_dynamics(state.q, state.dq, task.acceleration(state, tip.J, a))
        J = mechanism.jacobian(state.q)
        tau[: J.shape[1]] -= J.T @ load
        if not self.friction:
            return tau
        asked = np.zeros(mechanism.n)
        asked[: task.columns] = task.joint_rates(tip.J, np.where(self.force_axes, 0.0, setpoint.twist[:3]))
        return tau + mechanism.friction(state.q, asked)
