"""A model along prepared signals: its regressor and its efforts in the columns of the recording."""

from __future__ import annotations

import numpy as np

from trocar.identification.signals import Signals, lowpass
from trocar.mechanics import Mechanism
from trocar.spatial import Array


def regressor(mechanism: Mechanism, T: Array, signals: Signals, cutoff: float = np.inf) -> Array:
    """Y (N, n, p) with column efforts = Y phi; q = T q_columns. Memory of friction runs from the first row.

    With a cutoff [Hz] its columns are filtered as the effort is, so that steps of friction look the same in both.
    """
    Y = mechanism.regressor_along(*(x @ T.T for x in (signals.q, signals.dq, signals.ddq)))
    return lowpass(np.asarray(T.T @ Y), cutoff, signals.rate)


def efforts(mechanism: Mechanism, T: Array, signals: Signals) -> Array:
    """Efforts (N, n) that the model predicts at every row [N m, N]."""
    q, dq, ddq = (x @ T.T for x in (signals.q, signals.dq, signals.ddq))
    tau = mechanism.inverse_dynamics(q, dq, ddq) + mechanism.friction_along(q, 1.0 / signals.rate, dq)
    return tau @ T
