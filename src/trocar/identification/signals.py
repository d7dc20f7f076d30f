"""Signals: from a recording to the motion and effort that a model is fitted to.

Filters run forwards and backwards, so they have no phase. Cut-offs are where one pass falls by 3 dB, in Hz. Positions
of rows that repeat the one before (a reader quicker than the robot) are interpolated, not believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.signal import butter, filtfilt

from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.spatial import Array

ORDER = 6
JITTER = 0.02  # largest change of the time step that counts as uniform, as a fraction of it


@dataclass(frozen=True, kw_only=True)
class Signals:
    """Motion and effort at every row, in the columns of the recording (joints or motors).

    Attributes:
        rate: samples per second [Hz]. t: (N,) [s].
        q, dq, ddq: (N, n) filtered motion. tau: (N, n) filtered effort. raw: (N, n) effort as recorded.
        used: (N,) rows that are fitted and scored. repeated: (N,) rows that repeat the one before.
    """

    rate: float
    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    raw: Array
    used: Array
    repeated: Array

    def faster_than(self, fraction: float) -> Array:
        """Mask of the used rows in which every column moves at this fraction of its largest speed or faster."""
        return np.asarray((np.abs(self.dq) >= fraction * np.abs(self.dq).max(0)).all(1)[self.used])


def prepare(
    recording: Recording,
    motion_cutoffs: Sequence[float],
    effort_cutoff: float,
    trim: float,
    *,
    delay: float = 0.0,
) -> Signals:
    """Filter a recording.

    Args:
        motion_cutoffs: of each column, and `effort_cutoff` [Hz]; infinity leaves a signal as it is.
        trim: time cut at both ends, where filters and friction have no past [s].
        delay: time by which the recorded effort is late [s].
    """
    if recording.tau is None:
        raise TrocarError("the recording has no effort: a column tau of every joint is needed to identify anything")
    recording = uniform(recording)
    rate = sampling_rate(recording)
    repeated = repeated_rows(recording)
    q, dq = (_refilled(x, repeated) for x in (recording.q, recording.dq))
    q, dq = (np.column_stack([lowpass(x[:, j], fc, rate) for j, fc in enumerate(motion_cutoffs)]) for x in (q, dq))
    raw = np.asarray(recording.tau)
    tau = shifted(recording.t, lowpass(raw, effort_cutoff, rate), delay)
    rows = len(recording)
    edge = round(trim * rate)
    used = np.zeros(rows, dtype=bool)
    used[edge : rows - edge] = True
    ddq = recording.ddq if recording.ddq is not None and np.isinf(motion_cutoffs).all() else derivative(dq, rate)
    return Signals(rate=rate, t=recording.t, q=q, dq=dq, ddq=ddq, tau=tau, raw=raw, used=used, repeated=repeated)


def shifted(t: Array, x: Array, delay: float) -> Array:
    """x (N, n) at t + delay, between the rows by straight lines; beyond the ends it keeps its last value."""
    return x if delay == 0 else np.column_stack([np.interp(t + delay, t, column) for column in x.T])


def lowpass(x: Array, cutoff: float, rate: float) -> Array:
    """Butterworth low-pass over time (axis 0), forwards and backwards; an infinite cut-off changes nothing."""
    if np.isinf(cutoff):
        return x
    if not 0 < cutoff < 0.5 * rate:
        raise TrocarError(f"a cut-off of {cutoff} Hz needs more than {2 * cutoff:g} samples per second, not {rate:g}")
    b, a = butter(ORDER, cutoff, fs=rate)
    if len(x) <= 3 * max(len(a), len(b)):
        raise TrocarError(f"{len(x)} rows are too few to filter; record a few seconds at least")
    return np.asarray(filtfilt(b, a, x, axis=0))


def derivative(x: Array, rate: float) -> Array:
    """Central difference of five points over time (axis 0); the two rows at each end take the nearest value."""
    dx = np.empty_like(x)
    dx[2:-2] = (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) * rate / 12
    dx[:2], dx[-2:] = dx[2], dx[-3]
    return dx


def repeated_rows(recording: Recording) -> Array:
    """(N,) rows in which every position is exactly that of the row before."""
    return np.concatenate([[False], (np.diff(recording.q, axis=0) == 0).all(1)])


def sampling_rate(recording: Recording) -> float:
    """Samples per second [Hz] of uniform times."""
    return float((len(recording) - 1) / (recording.t[-1] - recording.t[0]))


def uniform(recording: Recording) -> Recording:
    """The recording on equally spaced times; one that already has them comes back as it is.

    Gaps are interpolated: where one is longer than a tenth of a second there is nothing to know, and that is an error.
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


def _refilled(x: Array, repeated: Array) -> Array:
    """Repeated rows interpolated between those that are not; monotone, so that noise does not overshoot."""
    if not repeated.any():
        return x
    rows = np.arange(len(x))
    known = rows[~repeated]
    if len(known) < 2:
        raise TrocarError("nothing moves in the recording: every position stays where it began")
    filled = np.array(x)  # after the last of them the arm stands still: what is recorded there stays
    filled[: known[-1]] = PchipInterpolator(known, x[known], axis=0)(rows[: known[-1]])
    return filled
