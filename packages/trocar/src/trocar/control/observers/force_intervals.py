"""Force at the tip along a recording, with intervals whose width has named sources.

The force follows from the residuals of the first three joints (`MomentumObserver`, `force_per_effort`). Four sources
make it wrong, and each widens the interval:

- the model's error, the quasi-static residual of the same arm in free motion (`FreeResiduals`);
- the observer, which follows a change of the force within 1 / bandwidth;
- friction of a joint at rest, which has any value up to its static friction, either way;
- friction of the instrument in its port, which pulls along the shaft exactly as a force at the tip does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from trocar import checks
from trocar.control.observers.detection import ResidualStatistics
from trocar.control.observers.loads import force_per_effort
from trocar.control.observers.momentum import MomentumObserver
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.spatial import Array

BANDWIDTH = 10.0  # [rad/s] of the observer
LEVEL = 0.95  # share of rows that an interval covers
REST = {"rad": 5e-3, "m": 5e-4}  # speed up to which a joint is at rest, half the velocity noise of Wang et al. 2019
SETTLING = 5.0  # time constants of the observer until it has forgotten its start at zero
MAX_PORT = 100.0  # [N]
FOLDS = 4  # parts of a free motion for cross-validation
MIN_MOTION = 1.0  # [s] of joint motion of all three joints in the others
SOURCES = ("model error", "observer", "friction at rest", "port")
CHANNELS = ("tip_force", "tip_force_low", "tip_force_high")  # of a recording with forces


@dataclass(frozen=True, eq=False)
class FreeResiduals:
    """Residual efforts of the first three joints while nothing touches the instrument.

    Attributes:
        offset: (3,) mean [N m, N], subtracted from later residuals. covariance: (3, 3).
        factor: (3,) half-width of the model error along x, y and z of the base, in standard deviations: the 95 %
            quantile of held-out free motion, whatever its distribution; 1.96 if there is none.
        change: (3,) median change of the force within the observer's delay, in standard deviations; only a larger
            change is one of the force.
        source: their origin.
    """

    offset: Array
    covariance: Array
    factor: Array
    change: Array
    source: str

    @classmethod
    def of_deviations(cls, deviations: ArrayLike, source: str) -> FreeResiduals:
        """Independent, normal residuals with standard deviations (3,) [N m, N] and no offset."""
        sigma = np.asarray(deviations, dtype=float)
        if sigma.shape != (3,) or not (np.isfinite(sigma) & (sigma > 0)).all():
            raise TrocarError(f"standard deviations must be three positive numbers [N m, N], got {deviations!r}")
        return cls(
            np.zeros(3), np.diag(sigma**2), np.full(3, scipy.stats.norm.ppf(0.5 + 0.5 * LEVEL)), np.zeros(3), source
        )

    @classmethod
    def along(cls, mechanism: Mechanism, recording: Recording, bandwidth: float = BANDWIDTH) -> FreeResiduals:
        """Residuals of a recording without contact; it should resemble the motions that forces are estimated in.

        Offset and covariance come from rows in which all three joints move: at rest, friction hides the residual. The
        half-width is cross-validated over `FOLDS` parts of the recording, so that it accounts for an uncertain offset.
        """
        watched = _Watched.along(mechanism, recording, bandwidth)
        t, moving = watched.rows.t, watched.moving
        part = np.arange(len(t)) * FOLDS // len(t)
        steps = np.diff(t, append=t[-1])
        seconds = min(float(steps[moving & (part != fold)].sum()) for fold in range(FOLDS))
        if seconds < MIN_MOTION:
            reason = f"yaw, pitch and insertion move together for {float(steps[moving].sum()):.2g} s only"
            raise TrocarError(f"free motion is too short: {reason}; record {FOLDS * MIN_MOTION:g} s or more")
        inverse, excess = force_per_effort(mechanism, watched.rows.q), np.empty((len(t), 3))
        for fold in range(FOLDS):
            held_out = part == fold
            others = cls._of(watched.residual[moving & ~held_out])
            forces = _forces(watched, inverse, others, 0.0)
            unexplained = np.abs(forces.force) - forces.half_widths["friction at rest"]
            excess[held_out] = (np.maximum(unexplained, 0.0) / forces.half_widths["model error"])[held_out]
        whole = cls._of(watched.residual[moving])
        forces = _forces(watched, inverse, whole, 0.0)
        change = np.median(forces.half_widths["observer"] / forces.half_widths["model error"], axis=0)
        source = f"{t[-1] - t[0]:.3g} s of free motion"
        return replace(whole, factor=np.quantile(excess, LEVEL, axis=0), change=change, source=source)

    @classmethod
    def _of(cls, residuals: Array) -> FreeResiduals:
        """Moments of residuals (N, 3), with a half-width of one standard deviation."""
        statistics = ResidualStatistics.of(residuals)
        return cls(statistics.mean, statistics.covariance, np.ones(3), np.zeros(3), "")


@dataclass(frozen=True, eq=False)
class TipForces:
    """Forces of the environment on the tip along a recording, base axes.

    Attributes:
        recording: the rows with a force; those in which the observer settles or has no later rows are left out.
        force: (N, 3) [N]. half_widths: (N, 3) [N] by source of error (`SOURCES`); their sum is that of the interval.
    """

    recording: Recording
    force: Array
    half_widths: Mapping[str, Array]

    @property
    def half_width(self) -> Array:
        """Half-width (N, 3) of the 95 % interval [N]."""
        return np.asarray(sum(self.half_widths.values()))

    @property
    def with_channels(self) -> Recording:
        """The recording with the channels tip_force, tip_force_low and tip_force_high (N, 3) [N]."""
        values = self.force, self.force - self.half_width, self.force + self.half_width
        units = dict.fromkeys(CHANNELS, "N")
        return replace(
            self.recording,
            extra={**self.recording.extra, **dict(zip(CHANNELS, values, strict=True))},
            extra_units={**self.recording.extra_units, **units},
        )


def tip_forces(
    mechanism: Mechanism, recording: Recording, free: FreeResiduals, bandwidth: float = BANDWIDTH, port: float = 0.0
) -> TipForces:
    """Forces at the tip along a recording with efforts.

    Args:
        free: residuals without contact, at the same bandwidth. bandwidth: of the momentum observer [rad/s].
        port: friction of the instrument in its port [N] that `free` does not contain.
    """
    port = checks.number("port", port, 0.0, MAX_PORT, "N")
    watched = _Watched.along(mechanism, recording, bandwidth)
    return _forces(watched, force_per_effort(mechanism, watched.rows.q), free, port)


@dataclass(frozen=True, eq=False)
class _Watched:
    """Residuals of the first three joints at rows where the observer has settled.

    The residual of a row is read 1 / bandwidth later, when the observer shows it.

    Attributes:
        rows: the recording there. residual: (N, 3). change: (N, 3) of the residual within the observer's delay.
        doubt: (N, 3) static friction of joints at rest [N m, N], filtered like the residual. moving: (N,) mask of rows
            in which no joint rests. window: number of rows within the observer's delay before and after a row.
    """

    rows: Recording
    residual: Array
    change: Array
    doubt: Array
    moving: Array
    window: int

    @classmethod
    def along(cls, mechanism: Mechanism, recording: Recording, bandwidth: float) -> _Watched:
        K = checks.positive("bandwidth", bandwidth, "rad/s")
        rest = np.array([REST[unit] for unit in mechanism.arm.joint_units])
        held = recording.provenance.get("source") == "simulation"
        r = MomentumObserver(mechanism, K, rest=rest).along(recording, held)[:, :3]
        t, delay = recording.t, 1.0 / K
        if t[-1] - t[0] <= (SETTLING + 2.0) * delay:
            reason = f"the observer needs {SETTLING * delay:.2g} s to settle"
            raise TrocarError(f"the recording of {t[-1] - t[0]:.3g} s is too short: {reason}")
        rows = recording.between(float(t[0] + SETTLING * delay), float(t[-1] - delay))
        drives, speed = mechanism.drives, _filtered(t, recording.dq, K)
        static = (drives.static(recording.q, mechanism.load(recording.q)) @ np.abs(drives.A))[:, :3]
        resting = (np.abs(speed) <= rest)[:, :3]
        doubt = _filtered(t, resting * static, K)
        later = _at(rows.t + delay, t, r)
        change = later - _at(rows.t, t, r)
        window = 2 * round(delay * (len(t) - 1) / (t[-1] - t[0])) + 1
        moving = np.asarray(_at(rows.t, t, resting.astype(float)).max(-1) == 0.0)
        return cls(rows, later, change, _at(rows.t + delay, t, doubt), moving, window)


def _forces(watched: _Watched, inverse: Array, free: FreeResiduals, port: float) -> TipForces:
    """Forces from residuals; inverse: (N, 3, 3) `force_per_effort`."""
    spread = np.sqrt(np.einsum("nij,jk,nik->ni", inverse, free.covariance, inverse))
    change = np.abs(np.einsum("nij,nj->ni", inverse, watched.change))
    half_widths = (
        free.factor * spread,
        np.maximum(scipy.ndimage.maximum_filter1d(change, watched.window, axis=0) - free.change * spread, 0.0),
        np.einsum("nij,nj->ni", np.abs(inverse), watched.doubt),
        port * np.abs(inverse[:, :, 2]),
    )
    force = np.einsum("nij,nj->ni", inverse, watched.residual - free.offset)
    return TipForces(watched.rows, force, dict(zip(SOURCES, half_widths, strict=True)))


def _filtered(t: Array, x: Array, K: float) -> Array:
    """Values (N, k) through the observer's filter, from their first row on."""
    decay, y = np.exp(-K * np.diff(t)), np.array(x, dtype=float)
    for k, a in enumerate(decay):
        y[k + 1] = a * y[k] + (1.0 - a) * y[k + 1]
    return y


def _at(times: Array, t: Array, x: Array) -> Array:
    return np.column_stack([np.interp(times, t, column) for column in x.T])
