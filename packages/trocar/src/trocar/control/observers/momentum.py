"""Joint efforts that the model does not explain: the momentum observer, and the predicted effort of a running robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.controller import checked_mechanism
from trocar.errors import TrocarError, shown
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.recording.filters import CUTOFF, CausalLowpass
from trocar.spatial import Array

UNEVEN = 1e-3  # relative variation of the time step above which a recording is processed step by step


class MomentumObserver:
    """Estimates the external effort by a residual r (n,): r' = K (tau_ext - r), M ddq + c + g + f = tau + tau_ext.

    Over a step, momentum p = M dq changes by mean(M) (dq - dq_before) + (M - M_before) mean(dq), an identity. The
    second term is M' dq, which cancels in the balance p' = tau + M' dq - c - g - f + tau_ext. That leaves

        tau_ext = mean(M) (dq - dq_before) / dt + mean(c + g + f) - tau,    r = a r + (1 - a) tau_ext,  a = e^(-K dt):

    the exact solution of the filter for an effort that is constant over the step. Dahl friction is integrated along.
    Friction that grows with the load follows the load less the last residual. Efforts are those reported by the robot;
    the model's `effort_bias` is subtracted.

    Args:
        mechanism: the model. bandwidth: K, one number or (n,) [rad/s].
        friction: False if the efforts contain no friction.
        rest: speed, one number or (n,) [rad/s, m/s], up to which a joint counts as at rest; its Coulomb friction has no
            known direction there and is left out.

    Attributes:
        residual: r (n,) [N m, N], on the joints; positive if it pushes them forward.
        raw: tau_ext (n,) of the last step, unfiltered.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        bandwidth: ArrayLike = 2.0 * np.pi,
        friction: bool = True,
        rest: ArrayLike = 0.0,
    ) -> None:
        self.mechanism, self.friction, self.rest = mechanism, friction, np.asarray(rest, dtype=float)
        K = checks.gains("bandwidth", bandwidth, checked_mechanism(mechanism).n)
        if not (K > 0).all():
            raise TrocarError(f"bandwidth must be positive [rad/s], got {shown(bandwidth)}")
        self.bandwidth = np.broadcast_to(K, (mechanism.n,)).copy()
        self.residual, self.raw = np.zeros(mechanism.n), np.zeros(mechanism.n)
        self._before: tuple[Array, Array, Array, Array] | None = None

    def reset(self, q: ArrayLike, dq: ArrayLike, z0: ArrayLike | None = None) -> None:
        """Start at a state, with no external effort; z0: state of the Dahl elements. Default: relaxed."""
        q, dq = self.mechanism.checked_joints(q), self.mechanism.checked_joints(dq, "dq")
        self._z = self.mechanism.drives.states(q[None], z0)[-1]
        self.residual, self.raw = np.zeros(self.mechanism.n), np.zeros(self.mechanism.n)
        self._before = (q, dq, *self._terms(q, dq))

    def update(self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, dt: float) -> Array:
        """The residual at a state reached dt [s] after the last one under the measured effort tau (n,) [N m, N]."""
        q, dq, tau = (self.mechanism.checked_joints(x, name) for name, x in (("q", q), ("dq", dq), ("tau", tau)))
        if self._before is None:
            raise TrocarError("the observer has no initial state; call reset(q, dq) first")
        dt = checks.positive("dt", dt)
        q0, dq0, M0, rest0 = self._before
        self._z = self.mechanism.drives.states(np.stack([q0, q]), self._z)[-1]
        M, rest = self._terms(q, dq)
        self.raw = 0.5 * (M0 + M) @ (dq - dq0) / dt + 0.5 * (rest0 + rest) - (tau - self.mechanism.effort_bias)
        decay = np.exp(-self.bandwidth * dt)
        self.residual = decay * self.residual + (1.0 - decay) * self.raw
        self._before = (q, dq, M, rest)
        return self.residual.copy()

    def along(self, recording: Recording, held: bool = True) -> Array:
        """Residuals (N, n) along a recording with efforts, zero at its first row.

        held: True if the effort of a row acts until the next, as in a simulation; False for measured efforts.
        """
        if self.friction and self.mechanism.drives.loaded:
            return self._one_by_one(recording, held)
        raw = external_effort(self.mechanism, recording, held, self.friction, self.rest)
        dt = np.diff(recording.t)
        r = np.zeros_like(recording.q)
        if np.ptp(dt) <= UNEVEN * dt.mean():
            for j, a in enumerate(np.exp(-self.bandwidth * dt.mean())):
                r[1:, j] = scipy.signal.lfilter([1.0 - a], [1.0, -a], raw[1:, j])
            return r
        decay = np.exp(-self.bandwidth * dt[:, None])
        for k in range(len(dt)):
            r[k + 1] = decay[k] * r[k] + (1.0 - decay[k]) * raw[k + 1]
        return r

    def _terms(self, q: Array, dq: Array) -> tuple[Array, Array]:
        """M and c + g + f at a state."""
        M, c, g = self.mechanism.terms(q, dq)
        if not self.friction:
            return M, c + g
        drives = self.mechanism.drives
        load = g - self.residual if drives.loaded else None
        return M, c + g + drives.friction(q, _moving(dq, self.rest), load, self._z)

    def _one_by_one(self, recording: Recording, held: bool) -> Array:
        """`along` by updates: the load of a row depends on the residual before it."""
        t, q, dq, tau = _motion(self.mechanism, recording)
        acted = tau[:-1] if held else 0.5 * (tau[:-1] + tau[1:])
        observer = MomentumObserver(self.mechanism, self.bandwidth, rest=self.rest)
        observer.reset(q[0], dq[0])
        rows = zip(q[1:], dq[1:], acted, np.diff(t), strict=True)
        return np.vstack([np.zeros(self.mechanism.n), *(observer.update(*row) for row in rows)])


def sudden_effort(
    mechanism: Mechanism, recording: Recording, fast: float = 20.0, slow: float = 2.0, held: bool = True
) -> Array:
    """High-pass residuals (N, n): an observer with bandwidth `fast` minus one with `slow` [rad/s].

    A contact is sudden, while model errors vary with the motion. A step appears within 1 / fast and fades within
    1 / slow; at 20 and 2 rad/s, seven tenths of it are visible after 0.1 s.
    """
    quick, lazy = (MomentumObserver(mechanism, K).along(recording, held) for K in (fast, slow))
    return quick - lazy


def external_effort(
    mechanism: Mechanism, recording: Recording, held: bool = True, friction: bool = True, rest: ArrayLike = 0.0
) -> Array:
    """tau_ext (N, n) that acted between each row and the previous one [N m, N]; zero at the first row.

    Friction that grows with the load is that of the arm's own weight: the unfiltered effort is too noisy for a load.
    rest: as for `MomentumObserver`.
    """
    t, q, dq, tau = _motion(mechanism, recording)
    tau = tau - mechanism.effort_bias
    M, c, g = mechanism.terms(q, dq)
    needed = c + g
    if friction:
        needed = needed + mechanism.friction_along(q, t, _moving(dq, rest))
    dt = np.diff(t)[:, None]
    acted = tau[:-1] if held else 0.5 * (tau[:-1] + tau[1:])
    change = np.einsum("kij,kj->ki", 0.5 * (M[:-1] + M[1:]), np.diff(dq, axis=0)) / dt
    return np.vstack([np.zeros(mechanism.n), change + 0.5 * (needed[:-1] + needed[1:]) - acted])


def _moving(dq: Array, rest: ArrayLike) -> Array:
    """Velocities with those of joints at rest set to zero."""
    return np.where(np.abs(dq) > rest, dq, 0.0)


def _motion(mechanism: Mechanism, recording: Recording) -> tuple[Array, Array, Array, Array]:
    """t, q, dq and tau of a recording in joints with efforts and at least two rows."""
    if recording.tau is None:
        raise TrocarError("the recording has no efforts")
    recording.check_joints(mechanism.arm)
    if len(recording) < 2:
        raise TrocarError("a recording of one row has no motion; at least two rows are needed")
    return recording.t, recording.q, recording.dq, recording.tau


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
