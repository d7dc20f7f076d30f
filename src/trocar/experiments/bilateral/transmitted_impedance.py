"""Transmitted impedance: the hybrid matrix of a pair, and its absolute stability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trocar.experiments.bilateral import laboratory
from trocar.experiments.bilateral.intentions import Sinusoids
from trocar.experiments.bilateral.operator import Grip, Operator
from trocar.spatial import Array

CLAMP = Grip(1e4, 150.0)  # imposes a motion on the grip, or holds it
SPEED = 0.02  # amplitude of the imposed velocity [m/s]
PUSH = 2.0  # amplitude of the force on the slave [N]
LEAD, WINDOW = 2.0, 10.0  # settling time and length of the Fourier window [s]
FREQUENCIES = (0.1, 0.2, 0.4, 0.7, 1.0, 1.6, 2.5, 4.0, 6.3, 10.0, 16.0, 22.0, 30.0)


@dataclass(frozen=True, eq=False)
class HybridMatrix:
    """(f_m, -v_s) = H (v_m, f_e) along z, over frequency (F,) [Hz]; f_m of the hand, f_e on the environment.

    h11 [N s/m] is felt in free motion, h12 is the force scale in contact, -h21 the motion scale, 1/h22 [N s/m] the
    slave's impedance with the master clamped. Perfect transparency is h11 = h22 = 0, h12 = -h21 = 1.
    Because of Coulomb friction, the values are valid for the measured amplitudes only.
    """

    frequency: Array
    h11: Array
    h12: Array
    h21: Array
    h22: Array

    def llewellyn(self) -> Array:
        """Margin (F,): stable with any passive hand and environment if it is >= 0 and h11, h22 are passive.

        2 Re h11 Re h22 - |h12 h21| - Re(h12 h21), divided by |h12 h21|.
        """
        product = self.h12 * self.h21
        size = np.abs(product)
        return np.asarray((2.0 * self.h11.real * self.h22.real - size - product.real) / size)


def hybrid_matrix(
    frequencies: Any = FREQUENCIES, delay: float = 0.0, window: float = WINDOW, **options: Any
) -> HybridMatrix:
    """Measure the matrix on a pair without wall: cells with an imposed motion, and cells with a clamped master.

    window: of the Fourier transform [s]; frequencies are multiples of 1 / window. options: of `laboratory.pair`.
    """
    f = np.asarray(frequencies, dtype=float)
    F, dt = len(f), 1e-3
    amplitude = np.concatenate([SPEED / (2.0 * np.pi * f), np.zeros(F)])
    hand = Operator(Sinusoids(np.tile(f, 2), amplitude), CLAMP)
    steps = round((LEAD + window) / dt)
    t = dt * np.arange(steps)
    push = np.zeros((steps, 3, 2 * F))
    push[:, 2, F:] = PUSH * np.sin(2.0 * np.pi * t[:, None] * f) * np.minimum(t / 0.5, 1.0)[:, None]
    log = laboratory.pair(2 * F, wall=False, operator=hand, delay=delay, **options).run(LEAD + window, push)
    wave = np.exp(-2j * np.pi * t[:, None] * np.tile(f, 2))[round(LEAD / dt) :]

    def at(signal: Array) -> Array:
        return np.asarray((signal[round(LEAD / dt) :, 2] * wave).sum(axis=0))

    v_m, v_s, f_m, f_e = at(log.v_m), at(log.v_s), at(log.hand), -at(push)
    free, clamped = slice(0, F), slice(F, None)
    return HybridMatrix(
        frequency=f,
        h11=f_m[free] / v_m[free],
        h21=-v_s[free] / v_m[free],
        h12=f_m[clamped] / f_e[clamped],
        h22=-v_s[clamped] / f_e[clamped],
    )
