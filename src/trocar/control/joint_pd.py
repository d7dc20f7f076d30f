"""Position and velocity feedback in joint space."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Controller, Setpoint, State, checked_period
from trocar.errors import TrocarError
from trocar.spatial import Array


class JointPD(Controller):
    """tau = kp (q_ref - q) + kd (dq_ref - dq).

    Args:
        kp: [N m/rad, N/m]. kd: [N m s/rad, N s/m]. One number for all joints, or (n,).
        period: [s]. Default: every step.
    """

    def __init__(self, kp: ArrayLike, kd: ArrayLike, period: float | None = None) -> None:
        self.kp, self.kd = checks.gains("kp", kp), checks.gains("kd", kd)
        if self.kp.ndim and self.kd.ndim and len(self.kp) != len(self.kd):
            raise TrocarError(f"kp has {len(self.kp)} gains and kd {len(self.kd)}; give one number or one per joint")
        self.period = checked_period(period)

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        try:
            tau, rate = setpoint.q - state.q, setpoint.dq - state.dq
            tau *= self.kp  # in place: faster
            rate *= self.kd
            tau += rate
            return tau
        except ValueError:
            raise TrocarError(
                f"{type(self).__name__}: gains of shapes {self.kp.shape}, {self.kd.shape} and a setpoint of "
                f"{np.size(setpoint.q)} joints do not fit an arm of {np.size(state.q)}"
            ) from None


class VelocityServo(JointPD):
    """tau = kv (dq_ref - dq) + kp (q_ref - q); with kp = 0 the position may drift.

    The torque is held over a step, so kv must stay well below 2 M / timestep for each joint.

    Args:
        kv: [N m s/rad, N s/m]. kp: [N m/rad, N/m]. One number for all joints, or (n,).
        period: [s]. Default: every step.
    """

    def __init__(self, kv: ArrayLike, kp: ArrayLike = 0.0, period: float | None = None) -> None:
        super().__init__(kp, checks.gains("kv", kv), period)
