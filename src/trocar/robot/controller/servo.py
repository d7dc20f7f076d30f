"""The dVRK's PID in actuator space, for all actuators of all arms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trocar.arms import Arm
from trocar.robot.controller.constants import PERIOD
from trocar.robot.controller.memory import Remembering
from trocar.spatial import Array


class Servo(Remembering):
    """tau = clip(kp e + kd e' + ki int(e)) + feed-forward, or a given effort; within the motors' limits.

    As in sawControllers, the deadband is subtracted from e, and inside it e' is also 0. A disturbance observer adds the
    low-passed part of previous efforts that the motion of a nominal mass does not explain; the cap applies to the sum.
    All arrays are (N,) over the actuators [rad, m; N m, N]. Arms write to slices of the public ones.

    Attributes:
        q_ref, dq_ref: setpoint. effort: given effort. feed_forward: added to either.
        observed: disturbance observers are enabled on arms that have them.
        on: PID or given effort is active. in_effort: the given effort is active instead of the PID.
        checked: tracking errors beyond the tolerance are reported.
        clipped: exceptions, because the last commanded position was beyond a joint limit.
    """

    MEMORY = (
        *("q_ref", "dq_ref", "effort", "feed_forward", "on", "in_effort", "checked", "clipped"),
        *("_integral", "_explained", "_observer"),
    )
    IN_PLACE = True

    def __init__(self, arms: Sequence[Arm], observed: bool = True) -> None:
        N = sum(arm.n for arm in arms)
        self.q_ref, self.dq_ref, self.effort, self.feed_forward = (np.zeros(N) for _ in range(4))
        self.on, self.in_effort, self.checked, self.clipped = (np.zeros(N, dtype=bool) for _ in range(4))
        self._integral = np.zeros(N)
        self._error = np.zeros(N)
        self._explained, self._observer = np.zeros(N), np.zeros(N)  # input and state of the observers
        self._scale = np.ones((3, N))
        self.load(arms, observed)

    def load(self, arms: Sequence[Arm], observed: bool) -> None:
        """Take the gains, limits and constants of the arms; those without published gains have none."""
        published = [arm.controller for arm in arms]
        self._published_gains = np.array(
            [np.concatenate([_gains(arm, k) for arm in arms]) for k in ("kp", "ki", "kd")], dtype=float
        )
        self._scale_gains()
        self._limit = np.concatenate([arm.motors.effort for arm in arms])
        self._deadband = np.concatenate([c.deadband for c in published])
        self._output = np.concatenate([c.output for c in published])
        self._output = np.where(np.isfinite(self._output), self._output, 1e300)
        self._minus_deadband, self._minus_output, self._minus_limit = -self._deadband, -self._output, -self._limit
        self._has_deadband = self._deadband != 0.0
        self._tracking = np.concatenate([c.tracking for c in published])
        self._dead = bool(self._deadband.any())
        self._cutoff = np.concatenate([c.cutoff for c in published])
        self._momentum = self._cutoff * np.concatenate([c.nominal_mass for c in published])
        self.observed = observed and bool(self._cutoff.any())

    def tune(self, part: slice, kp: float = 1.0, ki: float = 1.0, kd: float = 1.0) -> None:
        """Scale the published gains of an arm; its integral restarts."""
        self._scale[:, part] = np.array([[kp], [ki], [kd]])
        self._integral[part] = 0.0
        self._scale_gains()

    def _scale_gains(self) -> None:
        self._kp, self._ki, self._kd = self._scale * self._published_gains
        self._integrates = bool(self._ki.any())

    def efforts(self, q: Array, dq: Array) -> Array:
        """Actuator efforts (N,) for measured positions and velocities."""
        e = self.q_ref - q
        de = self.dq_ref - dq
        if self._dead:
            e -= np.minimum(np.maximum(e, self._minus_deadband), self._deadband)
            np.putmask(de, (e == 0.0) & self._has_deadband, 0.0)
        self._error = e
        tau = self._kp * e
        tau += self._kd * de
        if self._integrates:
            self._integral += e * PERIOD
            self._integral *= self.on & ~self.in_effort
            tau += self._ki * self._integral
        if self.observed:
            tau += self._disturbance(dq)
        np.minimum(np.maximum(tau, self._minus_output, out=tau), self._output, out=tau)
        if self.observed:
            self._explained = np.where(self.on, np.clip(tau, -self._limit, self._limit), 0.0)
        np.putmask(tau, self.in_effort, self.effort)
        tau += self.feed_forward
        np.minimum(np.maximum(tau, self._minus_limit, out=tau), self._limit, out=tau)
        np.putmask(tau, ~self.on, 0.0)
        return tau

    def _disturbance(self, dq: Array) -> Array:
        """Efforts (N,) against the observed disturbance; observers are inactive under given efforts."""
        momentum = self._momentum * dq
        change = (self._explained + momentum - self._observer) * self._cutoff * PERIOD
        self._observer += change * (self.on & ~self.in_effort)
        return (self._observer - momentum) * (self._cutoff > 0.0)

    def lost(self) -> Array:
        """Mask (N,) of the actuators with a tracking error beyond the tolerance in the last cycle."""
        beyond: Array = np.abs(self._error) > self._tracking
        if not np.count_nonzero(beyond):
            return beyond
        return beyond & self.checked & ~self.clipped & self.on & ~self.in_effort

    def stop(self, part: slice) -> None:
        """Switch the actuators of an arm off."""
        self.on[part] = self.in_effort[part] = self.checked[part] = False
        self.effort[part] = self.feed_forward[part] = self.dq_ref[part] = self._integral[part] = 0.0
        self._explained[part] = self._observer[part] = 0.0


def _gains(arm: Arm, kind: str) -> Array:
    gains = np.array(getattr(arm.gains, kind), dtype=float)
    return gains if len(gains) == arm.n else np.zeros(arm.n)
