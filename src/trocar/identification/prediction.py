"""Predicted efforts of a model along filtered signals, in the columns of the recording, and their errors."""

from __future__ import annotations

import numpy as np

from trocar.identification.signals import Signals
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.recording.filters import lowpass
from trocar.spatial import Array


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
