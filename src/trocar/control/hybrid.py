"""Hybrid force/position control: force along some axes, position along the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.cartesian_impedance import Wrench, measured
from trocar.control.controller import State
from trocar.control.tip_task import HOLD, TipController
from trocar.control.trajectories.paths import TipMotion
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.spatial import Array

# defaults of the force axes: force-error feedback in addition to the feed-forward [1], its integral [1/s], damping
FEEDBACK, INTEGRAL, FORCE_KD = 1.5, 60.0, 110.0
POSITION_KD = 60.0  # [1/s]


class HybridForcePosition(TipController):
    """Force along the selected base axes, position along the others, by the first three joints.

    The measured wrench is cancelled and the tip's motion linearised. Then, with F the force of the tip on the
    environment and v its velocity,

        position axes:  a = a_ref + kd (v_ref - v) + kp (p_ref - p)
        force axes:     a = kf (F_ref - F) + ki int(F_ref - F) - kd v

    With m the inertia of the tip along the force axes, kf = (1 + g) / m feeds the force forward and feeds its error
    back with gain g; ki = G / m. On a surface of stiffness k and damping d

        m F'' + (m kd + d) F' + (1 + g) k F + G k int F = ...

    which is stable for every k if G < (1 + g) kd: no gain depends on the surface. The defaults satisfy this,
    g = 1.5 and G = 60 /s, with m from the model at every call; kd is 110 /s on force axes and 60 /s on the others. On a
    surface of 5 N/mm or more the PSM settles within 0.2 s; on a soft one, 0.5 N/mm, it overshoots by half and takes
    1.5 s. On a hard one the sensor's bandwidth is the limit (`ForceSensor`, 50 Hz). In free space the tip approaches at
    kf F_ref / kd and faster by ki.

    Args:
        mechanism: the controller's model, which may differ from the simulated one.
        force_axes: (3,) of bool: x, y, z of the base.
        force: F_ref (3,) [N], force of the tip on the environment; used on the force axes only.
        wrench: measures force (3,) or force and moment (6,) of the environment on the tip [N, N m], base axes: -F.
        kp: [1/s^2], kd: [1/s], kf: [1/kg], ki: [1/(kg s)]. Default: the gains above; if only kf is given, ki is 0 and
            kd is 60 /s.
        friction: add the model's friction and offset, at the commanded joint rates.
        hold: [rad/s], for the joints outside the task. period: [s]. Default: every step.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        force_axes: ArrayLike,
        force: ArrayLike,
        wrench: Wrench,
        kp: ArrayLike = 800.0,
        kd: ArrayLike | None = None,
        kf: float | None = None,
        ki: float | None = None,
        *,
        friction: bool = False,
        hold: float = HOLD,
        period: float | None = None,
    ) -> None:
        super().__init__(mechanism, 3, hold, period)
        axes = np.array(force_axes)
        if axes.shape != (3,) or axes.dtype != bool:
            raise TrocarError(f"force_axes must be three booleans, for x, y, z of the base, got {force_axes!r}")
        if not axes.any():
            raise TrocarError("force_axes selects no axis; for position alone use CartesianFeedbackLinearisation")
        self.force_axes, self.force = axes, np.array(force, dtype=float)
        if self.force.shape != (3,) or not np.isfinite(self.force).all():
            raise TrocarError(f"force must be three finite numbers [N], got {force!r}")
        if kf is None and ki is not None:
            raise TrocarError("ki requires kf: give both, or neither for the default gains")
        damping = np.where(axes & (kf is None), FORCE_KD, POSITION_KD) if kd is None else kd
        self.kp, self.kd = checks.gains("kp", kp, 3), checks.gains("kd", damping, 3)
        self.kf = None if kf is None else float(checks.gains("kf", kf, 1))
        self.ki = None if kf is None else float(checks.gains("ki", 0.0 if ki is None else ki, 1))
        self.friction, self._wrench = friction, wrench
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._integral, self._time = np.zeros(3), np.nan  # integral of the force error [N s]; time of the last call [s]

    def __call__(self, state: State, setpoint: TipMotion) -> Array:
        tip = self._task.tip(state, setpoint)
        load = measured(self._wrench)
        short = self.force + load[:3]
        if not np.isnan(self._time):
            self._integral += short * (state.t - self._time)
        self._time = state.t
        v = setpoint.twist[:3] - tip.de
        move = setpoint.acceleration[:3] + self.kd * tip.de + self.kp * tip.e
        push = self._push(state, tip.J, short) - self.kd * v
        along = np.where(self.force_axes, 0.0, setpoint.twist[:3])
        return self._effort(
            state, tip.J, np.where(self.force_axes, push, move), load, friction_at=along if self.friction else None
        )

    def _push(self, state: State, J: Array, short: Array) -> Array:
        """Acceleration (3,) on the force axes for a force error `short` (3,) [N]."""
        if self.kf is not None and self.ki is not None:
            return self.kf * short + self.ki * self._integral
        axes, a = self.force_axes, np.zeros(3)
        m = self._task.inertia(state, J)[np.ix_(axes, axes)]
        a[axes] = np.linalg.solve(m, ((1.0 + FEEDBACK) * short + INTEGRAL * self._integral)[axes])
        return a
