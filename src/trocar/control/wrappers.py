"""Open-loop efforts, and wrappers of controllers: effort limits and a soft start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Controller, Setpoint, State, checked_period
from trocar.control.trajectories.paths import SCALINGS
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


class Saturated(Controller):
    """The effort of a controller, clipped joint by joint to -limits ... limits: one number or (n,) [N m, N].

    There is no anti-windup: an integral term of the wrapped controller keeps growing.
    """

    def __init__(self, controller: Controller, limits: ArrayLike) -> None:
        self.controller, self.limits = controller, checks.gains("limits", limits)
        self.period = controller.period

    def reset(self) -> None:
        self.controller.reset()

    def __call__(self, state: State, setpoint: Any) -> Array:
        return np.clip(self.controller(state, setpoint), -self.limits, self.limits)


class SoftStart(Controller):
    """The effort of a controller, faded in smoothly from 0 over `duration` [s] after its first call.

    Keep gravity compensation outside, or the arm drops at first: `SoftStart(JointPD(...), 0.5) + GravityCompensation`.
    """

    def __init__(self, controller: Controller, duration: float) -> None:
        self.controller, self.duration = controller, checks.positive("duration", duration)
        self.period = controller.period
        self._start: float | None = None

    def reset(self) -> None:
        self._start = None
        self.controller.reset()

    def __call__(self, state: State, setpoint: Any) -> Array:
        if self._start is None:
            self._start = state.t
        u = min((state.t - self._start) / self.duration, 1.0)
        return SCALINGS["quintic"](u)[0] * self.controller(state, setpoint)
