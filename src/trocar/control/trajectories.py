"""References: functions of time [s] that return a `Setpoint`, with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from trocar.control.controller import Setpoint
from trocar.errors import TrocarError
from trocar.spatial import Array

Reference = Callable[[float], Setpoint]


def hold(q: ArrayLike) -> Reference:
    """Stay at q (n,) [rad, m]."""
    setpoint = _at_rest(_vector(q, "q"))
    return lambda t: setpoint


def step_to(q0: ArrayLike, q1: ArrayLike, t0: float = 0.0) -> Reference:
    """q0 before t0, q1 from t0 [s] on, at rest on both sides."""
    before, after = (_at_rest(q) for q in _vectors(q0=q0, q1=q1))
    return lambda t: before if t < t0 else after


def sinusoid(centre: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike) -> Reference:
    """q = centre + amplitude sin(2 pi frequency t), frequency [Hz] one for all joints or one each.

    It starts in motion: give its velocity at t = 0 to `Simulator.reset`, or expect a transient.
    """
    f = np.asarray(frequency, dtype=float)
    centre, amplitude, f = _vectors(
        centre=centre, amplitude=amplitude, frequency=np.broadcast_to(f, np.shape(centre)) if f.ndim == 0 else f
    )
    w = 2.0 * np.pi * f

    def reference(t: float) -> Setpoint:
        sine, cosine = amplitude * np.sin(w * t), amplitude * np.cos(w * t)
        return Setpoint(centre + sine, w * cosine, -(w**2) * sine)

    return reference


def quintic(q0: ArrayLike, q1: ArrayLike, duration: float, t0: float = 0.0) -> Reference:
    """From rest at q0 to rest at q1 in `duration` [s] from t0, with the least jerk; at rest before and after."""
    q0, q1 = _vectors(q0=q0, q1=q1)
    if not (np.isfinite(duration) and duration > 0):
        raise TrocarError(f"duration must be positive and finite [s], got {duration!r}")
    way, before, after = q1 - q0, _at_rest(q0), _at_rest(q1)

    def reference(t: float) -> Setpoint:
        s = (t - t0) / duration
        if s <= 0.0:
            return before
        if s >= 1.0:
            return after
        p = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        v = 30.0 * s**2 * (1.0 - s) ** 2 / duration
        a = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / duration**2
        return Setpoint(q0 + p * way, v * way, a * way)

    return reference


def _at_rest(q: Array) -> Setpoint:
    zero = np.zeros_like(q)
    zero.setflags(write=False)
    return Setpoint(q, zero, zero)


def _vector(values: ArrayLike, name: str) -> Array:
    array = np.array(values, dtype=float)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise TrocarError(f"{name} must be an array (n,) of finite numbers, got {values!r}")
    array.setflags(write=False)
    return array


def _vectors(**values: ArrayLike) -> tuple[Array, ...]:
    arrays = tuple(_vector(value, name) for name, value in values.items())
    if len({array.shape for array in arrays}) > 1:
        sizes = ", ".join(f"{name} {array.size}" for name, array in zip(values, arrays, strict=True))
        raise TrocarError(f"lengths differ: {sizes}")
    return arrays
