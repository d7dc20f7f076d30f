"""Predicted effort of a running robot, one row of measurements at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trocar.mechanics import Mechanism
from trocar.recording.filters import CUTOFF, CausalLowpass
from trocar.spatial import Array


class Effort(NamedTuple):
    """Measured and predicted effort of one row (n,) [N m, N], both low-passed."""

    measured: Array
    predicted: Array

    @property
    def residual(self) -> Array:
        """The effort (n,) that the model does not explain [N m, N]: external forces and model errors."""
        return self.measured - self.predicted


class EffortStream:
    """`Mechanism.effort_along` for a robot that is running.

    For each row it gives the same values, to rounding, as these lines for the whole recording:

        smooth = trocar.recording.filtered(recording, causal=True)
        smooth.tau, mechanism.effort_along(smooth)

    `effort_along(recording)` uses a filter without phase, which needs future rows. This one delays the measured and the
    predicted effort by the same 36 ms.

    Args:
        mechanism: used by this stream only, if it runs in its own thread. cutoff: cut-off of the low-pass [Hz].
    """

    def __init__(self, mechanism: Mechanism, cutoff: float = CUTOFF) -> None:
        self._mechanism, self._lowpass = mechanism, CausalLowpass(cutoff)
        self._q: Array | None = None
        self._z: Array | None = None

    def update(self, t: float, q: Array, dq: Array, tau: Array) -> Effort:
        """Efforts at time t [s] from a row of measurements (n,) each [rad, m; rad/s, m/s; N m, N]."""
        mechanism, n = self._mechanism, self._mechanism.n
        value, rate = self._lowpass.update(t, np.concatenate([q, dq, tau]))
        q, dq, tau, ddq = value[:n], value[n : 2 * n], value[2 * n :], rate[n : 2 * n]
        path = np.stack([q if self._q is None else self._q, q])  # path of the Dahl elements since the last row
        friction = mechanism.friction_along(path, 1.0, np.stack([dq, dq]), self._z)[-1]
        self._z = np.clip(mechanism.drives.states(path, self._z)[-1], -1.0, 1.0)  # rounding may exceed the range
        self._q = q
        predicted = mechanism.inverse_dynamics(q, dq, ddq) + friction + mechanism.effort_bias
        return Effort(tau, predicted)
