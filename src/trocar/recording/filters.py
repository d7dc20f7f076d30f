"""Filters of recordings: zero-phase low-pass, differences, equally spaced times.

Filters run forwards and backwards, so they have no phase; `causal` ones run forwards only, as required while a robot
moves. Cut-offs are the -3 dB frequencies of one pass, in Hz.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.signal import butter, filtfilt

from trocar.errors import TrocarError
from trocar.recording.causal_filter import CUTOFF, ORDER, CausalLowpass
from trocar.recording.recording import Recording
from trocar.spatial import Array

JITTER = 0.02  # largest change of the time step that counts as uniform, as a fraction of it
MIN_ROWS = 3 * (ORDER + 1) + 1  # rows that the filter needs


def filtered(recording: Recording, cutoff: float | None = None, *, causal: bool = False) -> Recording:
    """The recording with low-passed q, dq and tau, and ddq as the derivative of dq, at the same times.

    Args:
        cutoff: [Hz]. Default: 17 Hz, or 0.4 of the sampling rate if that is lower.
        causal: filter forwards only, as while the robot moves: every channel is delayed by the same 36 ms. Accepts any
            sampling times; gaps are treated as straight lines. Default cut-off: 17 Hz.
    """
    if causal:
        return _causally_filtered(recording, CUTOFF if cutoff is None else cutoff)
    grid = uniform(recording)
    rate = sampling_rate(grid)
    chosen = min(CUTOFF, 0.4 * rate) if cutoff is None else cutoff
    repeated = repeated_rows(grid)
    q, dq = (lowpass(refilled(x, repeated), chosen, rate) for x in (grid.q, grid.dq))
    channels: dict[str, Any] = {"q": q, "dq": dq, "ddq": derivative(dq, rate)}
    if grid.tau is not None:
        channels["tau"] = lowpass(grid.tau, chosen, rate)
    if grid is not recording:
        channels = {name: CubicSpline(grid.t, x, axis=0)(recording.t) for name, x in channels.items()}
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
    b, a = butter(ORDER, cutoff, fs=rate)
    if len(x) <= 3 * max(len(a), len(b)):
        raise TrocarError(f"{len(x)} rows are too few to filter; record at least a few seconds")
    return np.asarray(filtfilt(b, a, x, axis=0))


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
    step = float(np.median(np.diff(recording.t)))
    steps = np.diff(recording.t)
    if np.abs(steps - step).max() <= JITTER * step:
        return recording
    worst = int(np.argmax(steps))
    if steps[worst] > max(0.1, 5 * step):
        raise TrocarError(
            f"the recording has a gap of {steps[worst]:.3g} s at t = {recording.t[worst]:.3f} s; cut it there and "
            "identify from the longer part"
        )
    t = recording.t[0] + step * np.arange(int((recording.t[-1] - recording.t[0]) / step) + 1)

    def at(x: Array) -> Array:
        return np.asarray(CubicSpline(recording.t, x, axis=0)(t))

    return replace(
        recording,
        t=t,
        q=at(recording.q),
        dq=at(recording.dq),
        ddq=None if recording.ddq is None else at(recording.ddq),
        tau=None if recording.tau is None else at(recording.tau),
        commands={},
        extra={},
        extra_units={},
    )


def refilled(x: Array, repeated: Array) -> Array:
    """Replace repeated rows by monotone interpolation between the others, so that noise does not overshoot."""
    if not repeated.any():
        return x
    rows = np.arange(len(x))
    known = rows[~repeated]
    if len(known) < 2:
        raise TrocarError("nothing moves in the recording: every position is constant")
    filled = np.array(x)  # after the last new row the arm is at rest; keep the recorded values
    filled[: known[-1]] = PchipInterpolator(known, x[known], axis=0)(rows[: known[-1]])
    return filled
