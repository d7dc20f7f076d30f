"""Wrappers of controllers: effort limits and a soft start."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Controller, State
from trocar.control.trajectories.paths import SCALINGS
from trocar.spatial import Array


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
