"""The low-pass of `filters` in one pass, sample by sample, at any sampling times.

The Butterworth filter is a sum of modes, H(s) = sum r / (s - p). Each mode is advanced exactly for an input that is
linear between samples:

    z+ = e z + h ((e - 1) / w) x + h ((e - 1 - w) / w^2) (x+ - x)        h = t+ - t,  w = p h,  e = exp(w)

The output is sum r z and its rate sum r p z: no differences of samples are taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trocar.errors import TrocarError
from trocar.spatial import Array

ORDER = 6
CUTOFF = 17.0  # [Hz] of the published identification (Wang et al. 2019): butter(6, 5.4 * 2 pi / 200) at 200 Hz


class Filtered(NamedTuple):
    """Values of a low-passed signal, and their derivative by time [1/s]."""

    value: Array
    rate: Array


class CausalLowpass:
    """A Butterworth low-pass of signals x (k,) that arrive one sample at a time.

    The output lags behind the input by 36 ms at 17 Hz (slow signals). It starts at rest at the first sample.

    Args:
        cutoff: frequency at which the output falls by 3 dB [Hz].
    """

    def __init__(self, cutoff: float = CUTOFF) -> None:
        if not (np.isfinite(cutoff) and cutoff > 0):
            raise TrocarError(f"the cut-off of a causal filter must be positive and finite [Hz], got {cutoff}")
        turn = np.pi * (2 * np.arange(ORDER // 2) + ORDER + 1) / (2 * ORDER)
        w = 2 * np.pi * cutoff
        upper = np.exp(1j * turn)  # one pole of each conjugate pair, at a cut-off of 1 rad/s
        poles = np.concatenate([upper, upper.conj()])
        residues = [1 / np.prod(pole - np.delete(poles, i)) for i, pole in enumerate(upper)]
        self._p = (w * upper)[:, None]
        self._r = (2 * w * np.array(residues))[:, None]  # twice the real part represents the conjugate pair
        self._z: Array | None = None
        self._t, self._x = 0.0, np.zeros(0)

    def update(self, t: float, x: Array) -> Filtered:
        """The filtered signal at time t [s], given the sample x (k,) at that time."""
        x = np.asarray(x, dtype=float)
        h = t - self._t
        if self._z is None:
            self._z = -x / self._p
        elif h <= 0:
            raise TrocarError(f"t = {t} s does not come after {self._t} s; times must increase")
        else:
            w = self._p * h
            gained = np.expm1(w)
            steady, slope = gained / w, (gained - w) / w**2
            self._z = (1 + gained) * self._z + h * (steady * self._x + slope * (x - self._x))
        self._t, self._x = t, x
        return Filtered((self._r * self._z).real.sum(axis=0), (self._r * self._p * self._z).real.sum(axis=0))
