"""The interface of a reference: a function of time [s] that returns a `Setpoint`, with exact derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.control.controller import Setpoint
from trocar.errors import TrocarError, shown
from trocar.spatial import Array

Reference = Callable[[float], Setpoint]
# Smallest singular value of the Jacobian, linear rows in units of 0.1 m, below which a path counts as near singular.
NEAR_SINGULAR = 0.05


class Trajectory(ABC):
    """A reference with a beginning and an end; before and after, it rests at its end points.

    Attributes:
        start: start time [s]. duration: [s].
    """

    start: float
    duration: float

    @property
    def end(self) -> float:
        """End time [s]."""
        return self.start + self.duration

    def __call__(self, t: float) -> Setpoint:
        if t <= self.start:
            return self._first if t == self.start else self._before
        if t >= self.end:
            return self._last if t == self.end else self._after
        return self._at(t - self.start)

    @abstractmethod
    def _at(self, elapsed: float) -> Setpoint:
        """Setpoint at a time in (0, duration) after the start [s]."""

    def _bounded(self, start: float, duration: float, first: Setpoint, last: Setpoint) -> None:
        """Set the times and the setpoints at both ends exactly, free of rounding."""
        self.start, self.duration = checked_time(start, "t0"), checks.positive("duration", duration)
        self._first, self._last = first, last
        self._before, self._after = at_rest(first.q), at_rest(last.q)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(start={self.start:g}, duration={self.duration:g})"


def at_rest(q: Array) -> Setpoint:
    """Setpoint at q (n,), at rest."""
    q = q.copy()
    zero = np.zeros_like(q)
    for array in (q, zero):
        array.setflags(write=False)
    return Setpoint(q, zero, zero)


def vector(values: ArrayLike | None, name: str) -> Array:
    """A read-only array (n,) of finite numbers."""
    array = checks.real_array(name, values, " (n,)").copy()
    if array.ndim != 1 or not array.size or not (np.abs(array) < checks.MAX_STATE).all():
        raise TrocarError(f"{name} must be an array (n,) of finite numbers, got {shown(values)}")
    array.setflags(write=False)
    return array


def vectors(**values: ArrayLike | None) -> tuple[Array, ...]:
    """Arrays (n,) of equal length; None means zeros, except for the first."""
    arrays: list[Array] = []
    for name, value in values.items():
        arrays.append(vector(np.zeros_like(arrays[0]) if value is None and arrays else value, name))
    if len({array.shape for array in arrays}) > 1:
        sizes = ", ".join(f"{name} {array.size}" for name, array in zip(values, arrays, strict=True))
        raise TrocarError(f"lengths differ: {sizes}")
    return tuple(arrays)


def checked_time(t: float, name: str) -> float:
    """A finite time [s]."""
    if not (checks.is_number(t) and abs(t) < checks.MAX_SECONDS):
        raise TrocarError(f"{name} must be finite [s], got {t!r}")
    return float(t)


def checked_times(times: ArrayLike, count: int) -> Array:
    """Increasing times (count,) [s], one for each via point."""
    array = vector(times, "times")
    if array.size != count:
        raise TrocarError(f"{count} via points need as many times, got {array.size}")
    for i in np.flatnonzero(np.diff(array) <= 0):
        raise TrocarError(f"times must increase: times[{i + 1}] = {array[i + 1]:g} follows {array[i]:g} s")
    return array


def checked_via(via: ArrayLike, arm: Arm | None = None) -> Array:
    """Via points (k, n) of at least two rows, checked against the joint limits of the arm if one is given."""
    array = checks.real_array("via points", via, " (k, n)").copy()
    if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] == 0:
        raise TrocarError(f"a path needs two or more via points, an array (k, n), got shape {array.shape}")
    for i, _ in np.argwhere(~np.isfinite(array)):
        raise TrocarError(f"via point {i} has a value that is NaN or infinite: {array[i].tolist()}")
    if arm is not None:
        if array.shape[1] != arm.n:
            raise TrocarError(f"{arm.name} has {arm.n} joints, the via points have {array.shape[1]}")
        for i, point in enumerate(array):
            arm.check_within_limits(point, f"via point {i}")
    array.setflags(write=False)
    return array
