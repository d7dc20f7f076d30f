"""Signals: the filtered motion and effort of a recording, to which a model is fitted; predicted efforts along them.

Filters run forwards and backwards, so they have zero phase. Cut-offs are the -3 dB frequency of one pass, in Hz.
Positions of rows that repeat the previous one (a reader faster than the robot) are replaced by interpolation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.recording.filters import derivative, lowpass, refilled, repeated_rows, sampling_rate, uniform
from trocar.spatial import Array


@dataclass(frozen=True, kw_only=True)
class Signals:
    """Motion and effort at every row, in the columns of the recording (joints or motors).

    Attributes:
        rate: samples per second [Hz]. t: (N,) [s].
        q, dq, ddq: (N, n) filtered motion. tau: (N, n) filtered effort. raw: (N, n) effort as recorded.
        used: (N,) rows that are fitted and scored. repeated: (N,) rows that repeat the previous one.
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
        """Mask of the used rows in which every column moves at least at this fraction of its largest speed."""
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
        motion_cutoffs: for each column, and `effort_cutoff` [Hz]; infinity leaves a signal unchanged.
        trim: time cut off at both ends, where filters and friction have no history [s].
        delay: delay of the recorded effort [s].
    """
    if recording.tau is None:
        raise TrocarError("the recording has no effort: every joint needs a column tau for identification")
    recording = uniform(recording)
    rate = sampling_rate(recording)
    repeated = repeated_rows(recording)
    q, dq = (refilled(x, repeated) for x in (recording.q, recording.dq))
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
    """x (N, n) at t + delay, linearly interpolated; constant beyond the ends."""
    return x if delay == 0 else np.column_stack([np.interp(t + delay, t, column) for column in x.T])


def regressor(mechanism: Mechanism, T: Array, signals: Signals, cutoff: float = np.inf) -> Array:
    """Y (N, n, p) with column efforts = Y phi; q = T q_columns. Dahl friction starts relaxed at the first row.

    With a cutoff [Hz] its columns are filtered like the effort, so that steps of friction look the same in both.
    """
    Y = mechanism.regressor_along(*(x @ T.T for x in (signals.q, signals.dq, signals.ddq)))
    return lowpass(np.asarray(T.T @ Y), cutoff, signals.rate)


def efforts(mechanism: Mechanism, T: Array, signals: Signals) -> Array:
    """Efforts (N, n) that the model predicts at every row, in the columns of the recording [N m, N]."""
    q, dq, ddq = (x @ T.T for x in (signals.q, signals.dq, signals.ddq))
    joints, units = mechanism.arm.joint_names, mechanism.arm.joint_units
    motion = Recording(t=signals.t, q=q, dq=dq, ddq=ddq, joints=joints, joint_units=units)
    return mechanism.effort_along(motion) @ T


def relative_error(measured: Array, predicted: Array) -> Array:
    """Relative error (n,): norm over the rows (axis 0) of measured - predicted, divided by that of measured."""
    return np.asarray(np.linalg.norm(measured - predicted, axis=0) / np.linalg.norm(measured, axis=0))


def root_mean_square(measured: Array, predicted: Array) -> Array:
    """Root mean square difference (n,) over the rows [N m, N]."""
    return np.asarray(np.sqrt(((measured - predicted) ** 2).mean(axis=0)))
