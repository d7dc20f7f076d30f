"""Signals: the filtered motion and effort of a recording, to which a model is fitted; predicted efforts along them.

Filters run forwards and backwards, so they have zero phase. Cut-offs are the -3 dB frequency of one pass, in Hz.
Positions of rows that repeat the previous one (a reader faster than the robot) are replaced by interpolation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trocar.arms import Arm
from trocar.arms.arm import Joint
from trocar.errors import TrocarError, check_type
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.recording.filters import derivative, lowpass, refilled, repeated_rows, sampling_rate, uniform
from trocar.recording.motor_columns import UNITS, joint_from_columns
from trocar.spatial import Array

MIN_DURATION = 4.0  # [s] of motion to fit
FLAT_ROWS = 8  # an effort that stays at its largest value for this many rows is saturated


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
        """Mask (used rows, n): columns that move at least at this fraction of their largest speed."""
        return np.asarray((np.abs(self.dq) >= fraction * np.abs(self.dq).max(0))[self.used])


def prepare(
    recording: Recording,
    motion_cutoffs: Sequence[float],
    effort_cutoff: float,
    trim: float,
    *,
    delay: float = 0.0,
    refill: bool = True,
) -> Signals:
    """Filter a recording.

    Args:
        motion_cutoffs: for each column, and `effort_cutoff` [Hz]; infinity leaves a signal unchanged.
        trim: time cut off at both ends, where filters and friction have no history [s].
        delay: delay of the recorded effort [s].
        refill: interpolate the motion in rows that repeat the row before.
    """
    if recording.tau is None:
        raise TrocarError("the recording has no effort: every joint needs a column tau for identification")
    recording = uniform(recording)
    rate = sampling_rate(recording)
    repeated = repeated_rows(recording)
    q, dq = (refilled(x, repeated) if refill else x for x in (recording.q, recording.dq))
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


# -- checks of a recording before fitting ------------------------------------------------------------------------------


def check(recording: Recording, arm: Arm) -> None:
    """Raise an error with cause and remedy: too short, wrong units, wrong rate, no effort."""
    check_type("recording", recording, Recording, "a Recording (tr.load_recording)")
    if recording.tau is None:
        raise TrocarError("the recording has no effort: a column tau of every joint is needed")
    if still := [name for name, top in zip(recording.joints, np.ptp(recording.tau, axis=0), strict=True) if top == 0]:
        raise TrocarError(
            f"the effort of {', '.join(still)} is constant: it was not measured; record the effort of every joint"
        )
    duration = float(recording.t[-1] - recording.t[0])
    if duration < MIN_DURATION:
        raise TrocarError(f"the recording is too short: {duration:.2f} s, at least {MIN_DURATION:g} s are needed")
    T = joint_from_columns(arm, tuple(recording.joints))
    for j, (name, unit) in enumerate(zip(recording.joints, recording.joint_units, strict=True)):
        _check_rate(name, unit, recording, j)
        _check_range(arm.joints[j], recording.q @ T[j])
    _check_saturation(recording)


def check_excitation(recording: Recording, signals: Signals) -> None:
    """Raise an error if a joint moves too little to identify its parameters."""
    for j, name in enumerate(recording.joints):
        q, dq = signals.q[signals.used, j], signals.dq[signals.used, j]
        resolution = 1e-3 if recording.joint_units[j] == "rad" else 1e-4
        if np.ptp(q) < resolution:
            raise TrocarError(
                f"{name} does not move (range {np.ptp(q):.2g} {recording.joint_units[j]}): its friction, rotor and "
                "springs cannot be identified; record a motion of all joints (trocar excite)"
            )
        moving = dq[np.abs(dq) > 0.05 * np.abs(dq).max()]
        if (moving > 0).all() or (moving < 0).all():
            raise TrocarError(
                f"{name} never reverses: its friction and offset cannot be separated, and its inertia is not excited; "
                "record a motion that reverses (trocar excite)"
            )
        if np.std(dq) < 0.02 * np.abs(dq).mean() or np.std(signals.ddq[signals.used, j]) < 1e-6:
            raise TrocarError(f"{name} moves at constant speed: its inertia cannot be identified (trocar excite)")


def _check_range(joint: Joint, q: Array) -> None:
    largest = float(np.abs(q).max())
    if joint.kind == "prismatic":
        if largest > 1.0:
            raise TrocarError(
                f"q of {joint.name} reaches {largest:.4g}: not metres but probably millimetres; divide by 1000"
            )
        return
    limit = 1.5 * max(abs(joint.lower), abs(joint.upper), 1.0)
    if largest > limit:
        # no joint of any arm exceeds a full turn
        causes = ["it is from another arm", "it is in degrees (multiply by pi/180)"]
        likely, other = causes if largest < 2 * np.pi else reversed(causes)
        raise TrocarError(
            f"q of {joint.name} reaches {largest:.4g}, more than the {limit:.3g} rad that the arm allows. Check the "
            f"recording: probably {likely}; otherwise {other}"
        )


def _check_rate(name: str, unit: str, recording: Recording, j: int) -> None:
    """Check units of dq and sampling rate by the slope of the difference of q over dq."""
    rate = sampling_rate(recording)
    steps = 5
    difference = (recording.q[steps:, j] - recording.q[:-steps, j]) * rate / steps
    mean = np.convolve(recording.dq[:, j], np.ones(steps + 1) / (steps + 1), "valid")
    power = float(mean @ mean)
    if power == 0 or float(np.abs(difference).max()) == 0:
        return
    ratio = float(difference @ mean) / power
    agree = float(difference @ mean) / np.sqrt(power * float(difference @ difference))
    if agree < 0.9 or 0.8 < ratio < 1.25:
        return
    where = UNITS["dq"][unit]
    for factor, what in ((np.pi / 180, "degrees per second"), (1e-3, "millimetres per second")):
        if abs(ratio / factor - 1) < 0.2:
            raise TrocarError(f"dq of {name} looks like {what}, not {where}: multiply it by {factor:.4g}")
    raise TrocarError(
        f"dq of {name} is {1 / ratio:.3g} times the difference of q at {rate:g} samples per second: the sampling "
        f"rate is probably {rate / ratio:.0f} Hz, or dq is not in {where}"
    )


def _check_saturation(recording: Recording) -> None:
    assert recording.tau is not None
    for j, name in enumerate(recording.joints):
        tau = recording.tau[:, j]
        for sign in (1.0, -1.0):
            top = (sign * tau).max()
            at_top = (sign * tau >= top - 1e-9 * abs(top)) if top > 0 else np.zeros(len(tau), dtype=bool)
            edges = np.diff(np.concatenate([[0], at_top.astype(int), [0]]))
            longest = int((np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)).max(initial=0))
            if longest >= FLAT_ROWS:
                unit = UNITS["tau"][recording.joint_units[j]]
                raise TrocarError(
                    f"the effort of {name} stays at {sign * top:.4g} {unit} for {longest} rows: the motor is saturated "
                    "there, and its effort carries no information; record a slower motion or cut those rows"
                )
