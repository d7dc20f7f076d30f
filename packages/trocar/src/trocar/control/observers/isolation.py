"""Fault isolation: each fault has its own signature in efforts and positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from trocar.control.observers.detection import MARGIN, ResidualStatistics
from trocar.control.observers.momentum import MomentumObserver
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.spatial import Array

Kind = Literal["encoder bias", "motor loss", "cable break", "external force"]

BANDWIDTH = 20.0  # [rad/s] of the observer
SETTLED, JUDGED = 0.1, 0.3  # [s] delay after an alarm before residuals are evaluated, and duration of the evaluation
START = 5.0  # observer time constants ignored at the start of a recording
SLIP = 0.2  # [rad] of the motor shaft: largest drift from the integrated speed within 0.1 s of a healthy encoder
SHARE = 0.3  # largest fraction of a signature that may stay unexplained


@dataclass(frozen=True)
class Diagnosis:
    """A fault found in a recording.

    Attributes:
        kind: kind of fault. part: the motor, or "counterweight" for its cable; None for an external force.
        time: time of the alarm [s]. text: the evidence.
    """

    kind: Kind
    part: str | None
    time: float
    text: str


class FaultIsolation:
    """Distinguishes faults by residuals in motor coordinates.

    - Encoder bias: position and integrated speed disagree.
    - Lost motor: the arm moves as if the motor's effort were zero, r = -tau.
    - Broken cable between an instrument's disc and its joint: the motor's effort is that of the disc alone, not that
      of the model.
    - Broken counterweight cable: r is the effort that the counterweight carried.
    - Otherwise: an external force.

    Args:
        mechanism: the model. healthy: a recording without fault or contact, of similar motions.
        held: as for `MomentumObserver.along`.
    """

    def __init__(self, mechanism: Mechanism, healthy: Recording, held: bool = True) -> None:
        self.mechanism, self.held = mechanism, held
        self._observer = MomentumObserver(mechanism, BANDWIDTH)
        self._coupling = mechanism.arm.motors.coupling
        r, settled = self._residuals(healthy)
        self.statistics = ResidualStatistics.of(r[settled])
        self._limit = MARGIN * self.statistics.largest
        arm = mechanism.arm
        # motors with known rotor inertia; without it, a loose motor looks like an external force that carries its load
        self._alone = {arm.motors.names.index(name) for d in mechanism.drives.drives if d.Im > 0 for name in d.motors}
        self._without = (
            Mechanism(arm, mechanism.parameters, counterweight=False, gravity=mechanism.gravity_vector)
            if arm.counterweight is not None and mechanism.counterweight
            else None
        )

    def diagnosis(self, recording: Recording) -> Diagnosis | None:
        """The first fault in a recording, or None."""
        slipped, (r, settled) = self._slip(recording), self._residuals(recording)
        alarms = recording.t[(np.abs(r - self.statistics.mean) > self._limit).any(1) & settled]
        if slipped is not None and (not alarms.size or slipped[0] <= alarms[0] + JUDGED):
            time, i, away = slipped
            name = self.mechanism.arm.motors.names[i]
            text = f"position and integrated speed of {name} differ by {away:.3g}"
            return Diagnosis("encoder bias", name, time, text)
        return self._judge(recording, float(alarms[0]), r) if alarms.size else None

    def _slip(self, recording: Recording) -> tuple[float, int, float] | None:
        """Time, motor and distance of the first encoder whose position and speed disagree."""
        motor = np.linalg.inv(self._coupling).T
        q, dq, dt = recording.q @ motor, recording.dq @ motor, np.diff(recording.t)[:, None]
        gap = np.vstack([np.zeros(q.shape[1]), np.cumsum(np.diff(q, axis=0) - 0.5 * dt * (dq[:-1] + dq[1:]), axis=0)])
        lag = max(1, round(0.1 / float(dt.mean())))
        away = gap.copy()
        away[lag:] -= gap[:-lag]
        allowed = SLIP / np.array(self.mechanism.arm.motors.gear)
        slipped = np.argwhere(np.abs(away) > allowed)
        if not slipped.size:
            return None
        k = int(slipped[0, 0])
        i = int((np.abs(away[k]) / allowed).argmax())
        return float(recording.t[k]), i, float(away[k, i])

    def _residuals(self, recording: Recording) -> tuple[Array, Array]:
        """Residuals (N, motors), and a mask (N,) of the rows after the observer's initial transient."""
        r = self._observer.along(recording, self.held) @ self._coupling
        settled = recording.t >= recording.t[0] + START / BANDWIDTH
        if not settled.any():
            raise TrocarError(f"a recording shorter than {START / BANDWIDTH:g} s is too short for fault isolation")
        return r, settled

    def _judge(self, recording: Recording, time: float, r: Array) -> Diagnosis:
        assert recording.tau is not None
        rows = (recording.t >= time + SETTLED) & (recording.t <= time + SETTLED + JUDGED)
        a = np.exp(-BANDWIDTH * float(np.diff(recording.t).mean()))
        tau = scipy.signal.lfilter(
            [1.0 - a], [1.0, -a], (recording.tau - self.mechanism.effort_bias) @ self._coupling, axis=0
        )[rows]
        tau = tau + self.statistics.mean  # removes a bias that is not in the model
        rotor = scipy.signal.lfilter([1.0 - a], [1.0, -a], self._rotor_effort(recording), axis=0)[rows]
        r = (r - self.statistics.mean)[rows]
        model = r + tau
        names = self.mechanism.arm.motors.names
        size = np.abs(r).mean(0) / self._limit
        # candidates: (unexplained fraction, weighted by the largest residual over the one there; fraction; diagnosis)
        marks: list[tuple[float, float, Kind, str, str]] = []
        if self._without is not None:
            q, dq = recording.q[rows], recording.dq[rows]
            zero = np.zeros_like(q)
            took = self.mechanism.inverse_dynamics(q, dq, zero) - self._without.inverse_dynamics(q, dq, zero)
            took = took @ self._coupling
            most = int((np.abs(took).mean(0) / self._limit).argmax())  # the motor most affected by its loss
            left = _rms((r - took)[:, most]) / max(_rms(took[:, most]), self._limit[most])
            text = f"{left:.0%} of it is not the counterweight's effort"
            marks.append((left, left, "cable break", "counterweight", text))
        for i in np.flatnonzero(size > 0.5):  # the faulty motor need not be the first beyond its limit
            small = size.max() / size[i]
            lost = _rms(model[:, i]) / max(_rms(tau[:, i]), self._limit[i])
            text = f"{names[i]} moves as with {lost:.0%} of its effort"
            marks.append((small * lost, lost, "motor loss", names[i], text))
            if i not in self._alone:
                continue
            loose = _rms((tau - rotor)[:, i]) / max(_rms((model - rotor)[:, i]), self._limit[i])
            text = f"{names[i]} takes {loose:.0%} of the effort of its load"
            marks.append((small * loose, loose, "cable break", names[i], text))
        _, share, kind, part, text = min(marks, default=(np.inf, np.inf, "external force", "", ""))
        if share > SHARE:
            most = int(size.argmax())
            return Diagnosis("external force", None, time, f"residual of {names[most]} is {r[:, most].mean():.3g}")
        return Diagnosis(kind, part, time, text)

    def _rotor_effort(self, recording: Recording) -> Array:
        """Effort (N, motors) of unloaded motors: only their own friction and inertia."""
        motor = np.linalg.inv(self._coupling).T
        ds = recording.dq @ motor
        dds = np.gradient(ds, recording.t, axis=0)
        effort = np.zeros_like(ds)
        for drive in self.mechanism.drives.drives:
            for name, weight in drive.motors.items():
                if len(drive.motors) == 1:
                    i = self.mechanism.arm.motors.names.index(name)
                    s1, s2 = weight * ds[:, i], weight * dds[:, i]
                    effort[:, i] += weight * (drive.Im * s2 + drive.Fv * s1 + drive.Fc * np.sign(s1))
        return effort


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
