"""References without an end: rest, a step, a sinusoid and Fourier series."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import Setpoint
from trocar.control.trajectories.reference import Reference, at_rest, vector, vectors
from trocar.errors import TrocarError
from trocar.spatial import Array


def hold(q: ArrayLike) -> Reference:
    """Stay at q (n,) [rad, m]."""
    setpoint = at_rest(vector(q, "q"))
    return lambda t: setpoint


def step_to(q0: ArrayLike, q1: ArrayLike, t0: float = 0.0) -> Reference:
    """q0 before t0, q1 from t0 [s] on, at rest on both sides."""
    before, after = (at_rest(q) for q in vectors(q0=q0, q1=q1))
    return lambda t: before if t < t0 else after


def sinusoid(centre: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike) -> Reference:
    """q = centre + amplitude sin(2 pi frequency t), frequency [Hz] one for all joints or one each.

    It starts in motion: give its velocity at t = 0 to `Simulator.reset`, or expect a transient.
    """
    f, centre = checks.real_array("frequency", frequency), vector(centre, "centre")
    centre, amplitude, f = vectors(
        centre=centre, amplitude=amplitude, frequency=np.broadcast_to(f, np.shape(centre)) if f.ndim == 0 else f
    )
    w = 2.0 * np.pi * f

    def reference(t: float) -> Setpoint:
        sine, cosine = amplitude * np.sin(w * t), amplitude * np.cos(w * t)
        return Setpoint(centre + sine, w * cosine, -(w**2) * sine)

    return reference


class Fourier:
    """q = centre + sum over k = 1..K of a_k / (k w) sin(k w t) - b_k / (k w) cos(k w t), w = 2 pi frequency.

    This is the form used in identification (Swevers et al. 1997): a and b are velocity amplitudes.

    Args:
        centre: (n,) [rad, m]. a, b: (K, n) [rad/s, m/s]. frequency: of the first harmonic [Hz].

    Attributes:
        duration: one period, 1 / frequency [s]; the motion continues forever. start: 0.
    """

    def __init__(self, centre: ArrayLike, a: ArrayLike, b: ArrayLike, frequency: float) -> None:
        self.centre = vector(centre, "centre")
        self.a, self.b = (_harmonics(value, name, self.centre.size) for name, value in (("a", a), ("b", b)))
        if len(self.a) != len(self.b):
            raise TrocarError(f"a has {len(self.a)} harmonics, b {len(self.b)}")
        self.start, self.duration = 0.0, 1.0 / checks.positive("frequency", frequency, "Hz")
        self.frequency = float(frequency)
        self._w = 2.0 * np.pi * self.frequency * np.arange(1, len(self.a) + 1)

    @property
    def end(self) -> float:
        """End of the first period [s]."""
        return self.duration

    def __call__(self, t: float | Array) -> Setpoint:
        """Motion at a time, or at times (N,) as rows (N, n) [s]."""
        w = self._w
        phase = np.multiply.outer(t, w)
        sine, cosine = np.sin(phase), np.cos(phase)
        q = self.centre + (sine / w) @ self.a - (cosine / w) @ self.b
        return Setpoint(q, cosine @ self.a + sine @ self.b, (w * cosine) @ self.b - (w * sine) @ self.a)


def fourier(centre: ArrayLike, a: ArrayLike, b: ArrayLike, frequency: float) -> Fourier:
    """Fourier series, see `Fourier`. centre (n,) [rad, m]; a, b (K, n) [rad/s, m/s]; frequency [Hz]."""
    return Fourier(centre, a, b, frequency)


def _harmonics(values: ArrayLike, name: str, n: int) -> Array:
    array = checks.real_array(name, values).copy()
    if array.ndim != 2 or not len(array) or array.shape[1] != n or not np.isfinite(array).all():
        raise TrocarError(f"{name} must be finite numbers of shape (harmonics, {n}), got shape {array.shape}")
    array.setflags(write=False)
    return array
