"""Filters of recordings: low-pass, derivative, equally spaced times.

Filters run forwards and backwards, so they have no phase; `CausalLowpass` runs forwards only, sample by sample, as
required while a robot moves. Cut-offs are the -3 dB frequencies of one pass, in Hz.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy

from trocar.errors import TrocarError
from trocar.recording.motor_columns import UNITS
from trocar.recording.recording import Recording
from trocar.spatial import Array

ORDER = 6
CUTOFF = 17.0  # [Hz] of the published identification (Wang et al. 2019): butter(6, 5.4 * 2 pi / 200) at 200 Hz
JITTER = 0.02  # largest change of the time step that counts as uniform, as a fraction of it
MIN_ROWS = 3 * (ORDER + 1) + 1  # rows that the filter needs


def filtered(
    recording: Recording, cutoff: float | None = None, *, causal: bool = False, motion: Sequence[float] = ()
) -> Recording:
    """The recording with low-passed q, dq and tau, and ddq as the derivative of dq, at the same times.

    Args:
        cutoff: [Hz]. Default: 17 Hz, or 0.4 of the sampling rate if that is lower.
        motion: cut-offs of q and dq, by column. Default: `cutoff`.
        causal: filter forwards only, as while the robot moves: every channel is delayed by the same 36 ms. Accepts any
            sampling times; gaps are treated as straight lines. Default cut-off: 17 Hz.
    """
    if causal:
        return _causally_filtered(recording, CUTOFF if cutoff is None else cutoff)
    grid = uniform(recording)
    rate = sampling_rate(grid)
    chosen = min(CUTOFF, 0.4 * rate) if cutoff is None else cutoff
    repeated = repeated_rows(grid)
    if len(motion) not in (0, recording.n):
        raise TrocarError(f"cut-offs of the motion must be {recording.n}, one for each column, got {len(motion)}")
    cutoffs = np.minimum(motion, 0.4 * rate) if len(motion) else np.full(recording.n, chosen)
    q, dq = (
        np.column_stack(
            [lowpass(column, fc, rate) for column, fc in zip(refilled(x, repeated).T, cutoffs, strict=True)]
        )
        for x in (grid.q, grid.dq)
    )
    channels: dict[str, Any] = {"q": q, "dq": dq, "ddq": derivative(dq, rate)}
    if grid.tau is not None:
        channels["tau"] = lowpass(grid.tau, chosen, rate)
    if grid is not recording:
        channels = {name: scipy.interpolate.CubicSpline(grid.t, x, axis=0)(recording.t) for name, x in channels.items()}
    return replace(recording, **channels)


def _causally_filtered(recording: Recording, cutoff: float) -> Recording:
    n, measured = recording.n, [x for x in (recording.q, recording.dq, recording.tau) if x is not None]
    lowpass = CausalLowpass(cutoff)
    values, rates = map(np.array, zip(*map(lowpass.update, recording.t.tolist(), np.hstack(measured)), strict=True))
    tau = None if recording.tau is None else values[:, 2 * n :]
    return replace(recording, q=values[:, :n], dq=values[:, n : 2 * n], ddq=rates[:, n : 2 * n], tau=tau)


def lowpass(x: Array, cutoff: float, rate: float) -> Array:
    """Butterworth low-pass over time (axis 0), forwards and backwards; an infinite cut-off changes nothing."""
    if np.isinf(cutoff):
        return x
    if not 0 < cutoff < 0.5 * rate:
        raise TrocarError(f"a cut-off of {cutoff} Hz needs more than {2 * cutoff:g} samples per second, got {rate:g}")
    b, a = scipy.signal.butter(ORDER, cutoff, fs=rate)
    if len(x) <= 3 * max(len(a), len(b)):
        raise TrocarError(f"{len(x)} rows are too few to filter; record at least a few seconds")
    return np.asarray(scipy.signal.filtfilt(b, a, x, axis=0))


def derivative(x: Array, rate: float) -> Array:
    """Five-point central difference over time (axis 0); the two rows at each end copy the nearest value."""
    dx = np.empty_like(x)
    dx[2:-2] = (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) * rate / 12
    dx[:2], dx[-2:] = dx[2], dx[-3]
    return dx


def repeated_rows(recording: Recording) -> Array:
    """Mask (N,) of rows in which every position equals that of the previous row exactly."""
    return np.concatenate([[False], (np.diff(recording.q, axis=0) == 0).all(1)])


def sampling_rate(recording: Recording) -> float:
    """Samples per second [Hz] of uniform times."""
    return float((len(recording) - 1) / (recording.t[-1] - recording.t[0]))


def uniform(recording: Recording) -> Recording:
    """The recording resampled to equally spaced times; returned unchanged if it already has them.

    Gaps are interpolated. A gap longer than a tenth of a second is an error, because the motion in it is unknown.
    """
    if len(recording) < 3:
        raise TrocarError(f"the recording is too short: {len(recording)} rows")
    steps = np.diff(recording.t)
    step = float(np.median(steps))
    if np.abs(steps - step).max() <= JITTER * step:
        return recording
    worst = int(np.argmax(steps))
    if steps[worst] > max(0.1, 5 * step):
        gap = f"a gap of {steps[worst]:.3g} s at t = {recording.t[worst]:.3f} s"
        raise TrocarError(f"the recording has {gap}; cut it there and identify from the longer part")
    t = recording.t[0] + step * np.arange(int((recording.t[-1] - recording.t[0]) / step) + 1)

    channels = {name: x for name in UNITS if (x := getattr(recording, name)) is not None}
    resampled: dict[str, Any] = {
        name: scipy.interpolate.CubicSpline(recording.t, x, axis=0)(t) for name, x in channels.items()
    }
    return replace(recording, t=t, **resampled, commands={}, extra={}, extra_units={})


def averaged(recording: Recording, most: float) -> Recording:
    """Means over blocks of rows, so that there are at most `most` rows per second [Hz]; unchanged if there are no more.

    A mean over all rows between two commands does not depend on the phase at which a controller was read.
    """
    if len(recording) < 3 or sampling_rate(recording) <= most:
        return recording
    grid = uniform(recording)
    rows = math.ceil(sampling_rate(grid) / most * (1.0 - JITTER))
    count = len(grid) // rows

    def mean(x: Array) -> Array:
        return np.asarray(x[: count * rows].reshape(count, rows, *x.shape[1:]).mean(axis=1))

    channels: dict[str, Any] = {name: mean(x) for name in UNITS if (x := getattr(grid, name)) is not None}
    return replace(grid, t=mean(grid.t), **channels, commands={}, extra={}, extra_units={})


def refilled(x: Array, repeated: Array) -> Array:
    """Replace repeated rows by monotone interpolation between the others, so that noise does not overshoot."""
    if not repeated.any():
        return x
    rows = np.arange(len(x))
    known = rows[~repeated]
    if len(known) < 2:
        raise TrocarError("nothing moves in the recording: every position is constant")
    filled = np.array(x)  # after the last new row the arm is at rest; keep the recorded values
    filled[: known[-1]] = scipy.interpolate.PchipInterpolator(known, x[known], axis=0)(rows[: known[-1]])
    return filled


class Filtered(NamedTuple):
    """Values of a low-passed signal, and their derivative by time [1/s]."""

    value: Array
    rate: Array


class CausalLowpass:
    """A Butterworth low-pass of signals x (k,) that arrive one sample at a time, at any times.

    The filter is a sum of modes, H(s) = sum r / (s - p), each advanced exactly for an input that is linear between
    samples: z+ = e z + h ((e - 1) / w) x + h ((e - 1 - w) / w^2) (x+ - x) with h = t+ - t, w = p h, e = exp(w).
    The output is sum r z and its rate sum r p z: no differences of samples are taken.

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
