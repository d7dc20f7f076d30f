"""Open-loop control: efforts that do not depend on the state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Controller, Setpoint, State, checked_period
from trocar.errors import TrocarError, check_type, shown
from trocar.spatial import Array


class ConstantEffort(Controller):
    """A constant effort (n,) [N m, N]."""

    def __init__(self, tau: ArrayLike) -> None:
        self.tau = checks.real_array("tau", tau).copy()
        if self.tau.ndim != 1 or not np.isfinite(self.tau).all():
            raise TrocarError(f"tau must be an array (n,) of finite efforts, got {shown(tau)}")
        self.tau.setflags(write=False)

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        return self.tau


class EffortFunction(Controller):
    """Effort tau(t) (n,) [N m, N], held for `period` [s] (None: evaluated at every step)."""

    def __init__(self, tau: Callable[[float], ArrayLike], period: float | None = None) -> None:
        check_type("tau", tau, Callable, "a function of time [s] that returns efforts (n,)")  # type: ignore[arg-type]
        self._tau = tau
        self.period = checked_period(period)

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        return np.asarray(self._tau(state.t), dtype=float)
