"""All actuators of all arms at once: their encoders, potentiometers and current sensors, and the dVRK's PID."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from trocar.arms import Arm
from trocar.arms.arm import CURRENT_NOISE
from trocar.laws.encoder import RESTED, encoder, rested_encoder
from trocar.laws.law import ScalarLaw
from trocar.laws.servo import PARAMETERS, servo
from trocar.laws.sources.function_source import on_arrays
from trocar.robot.controller.constants import CALIBRATION_SAMPLES, PERIOD, POTS_LATENCY
from trocar.robot.controller.memory import Remembering
from trocar.spatial import Array

DEFAULT_RESOLUTION = 1e-9  # resolution of encoders with unpublished counts [rad, m]
_PERIOD = np.array(PERIOD)
_READING, _RESTED_READING = on_arrays(ScalarLaw(encoder)), on_arrays(ScalarLaw(rested_encoder))


@dataclass(frozen=True, kw_only=True)
class Sensors:
    """Imperfections of the sensors; each can be switched off.

    Attributes:
        encoders: quantise positions to counts, and estimate velocities from the time between counts as the dVRK's
            firmware does. False: exact positions and velocities.
        potentiometers: noise of a reading [rad at the motor's joint, or share of 1 m], which biases the encoders when
            they are calibrated from the mean of 1970 readings. ASSUMED: no source gives it.
        current: noise of the measured motor currents [A]. ASSUMED: no source gives it.
        bias: report the bias of measured efforts that the arm's parameter set has (`Mechanism.effort_bias`).
        seed: seed of the noise.
    """

    encoders: bool = True
    potentiometers: float = 3e-3
    current: float = CURRENT_NOISE
    bias: bool = True
    seed: int = 0

    @classmethod
    def ideal(cls) -> Sensors:
        """Exact sensors."""
        return cls(encoders=False, potentiometers=0.0, current=0.0, bias=False)


class ActuatorSensors(Remembering):
    """Readings of the sensors of N actuators. Call `measure` once per control cycle.

    Attributes:
        q, dq: (N,) measured positions and velocities [rad, m; /s].
        inconsistent: (N,) encoder and potentiometer have differed by more than the tolerance for 10 ms.
    """

    MEMORY = ("bias", "q", "dq", "_apart", "inconsistent", "_counts", "_true", "_edge", "_age", "_random")

    def __init__(self, arms: Sequence[Arm], options: Sensors) -> None:
        self._options = options
        self._random = np.random.default_rng(options.seed)
        N = sum(arm.n for arm in arms)
        self._resolution = np.zeros(0)
        self.bias = np.zeros(N)  # encoder bias after calibration
        self.q, self.dq = np.zeros(N), np.zeros(N)
        self._apart = np.zeros(N)  # duration of the inconsistency of encoder and potentiometer [s]
        self.inconsistent = np.zeros(N, dtype=bool)
        self._counts: Array | None = None  # None: at the next measurement, no encoder has moved
        self._true = np.zeros(N)
        self._edge, self._age = np.zeros(N), np.zeros(N)  # last edge [rad, m], time since [s]
        self.load(arms)

    def load(self, arms: Sequence[Arm]) -> None:
        """Take the encoders and motors of the arms; other encoders than before start at rest."""
        resolution = np.concatenate([_resolution(arm) for arm in arms])
        if not np.array_equal(resolution, self._resolution):
            self._resolution, self._counts = resolution, None
        gear, torque = (
            np.concatenate([np.array(getattr(arm.motors, k)) for arm in arms]) for k in ("gear", "torque_constant")
        )
        self._effort_noise = self._options.current * gear * torque
        self._tolerance = np.concatenate([arm.controller.pots for arm in arms])

    @property
    def resolution(self) -> Array:
        """Positions per count (N,) of the encoders [rad, m]."""
        return self._resolution

    @property
    def effort_noise(self) -> Array:
        """Standard deviations (N,) of measured efforts [N m, N]."""
        return self._effort_noise

    def place(self, part: slice, s: Array) -> None:
        """Read an arm that was placed at true positions s (k,), at rest."""
        s = s + self.bias[part]
        q, counts = _RESTED_READING(s, self._resolution[part])
        self.q, self.dq = self.q.copy(), self.dq.copy()
        self.q[part], self.dq[part] = q if self._options.encoders else s, 0.0
        if self._counts is not None:
            self._counts, self._true, self._edge = self._counts.copy(), self._true.copy(), self._edge.copy()
            self._counts[part], self._true[part], self._edge[part], self._age[part] = counts, s, q, RESTED

    def measure(self, s: Array, ds: Array) -> None:
        """Measure true positions and velocities (N,), one period after the last time."""
        s = s + self.bias
        if not self._options.encoders:
            self.q, self.dq = s, ds.copy()
            return
        resolution = self._resolution
        if self._counts is None:
            self._true, self._age = s, np.full(len(s), RESTED)
            self._edge, self._counts = _RESTED_READING(s, resolution)
        last = self._counts, self._true, self._edge, self._age, self.dq
        self.q, self.dq, self._counts, self._edge, self._age = _READING(s, *last, resolution, _PERIOD)
        self._true = s

    def compare_pots(self, true: Array, encoders: Array, part: slice) -> None:
        """Compare the encoders of an arm, which may be wrong, with its potentiometers, once per control cycle.

        Potentiometer noise is ignored here: it is far below the tolerance.
        """
        apart = np.abs(encoders + self.bias[part] - true) > self._tolerance[part]
        self._apart[part] = np.where(apart, self._apart[part] + PERIOD, 0.0)
        self.inconsistent[part] = self._apart[part] > POTS_LATENCY

    def preload(self, index: int, position: float) -> None:
        """Preset the encoder of one actuator to a position [rad, m]."""
        self.bias[index] += position - self.q[index]
        self._counts = None

    def calibrate(self, part: slice) -> None:
        """Bias the encoders of an arm from its potentiometers."""
        size = len(self.bias[part])
        mean = self._options.potentiometers / np.sqrt(CALIBRATION_SAMPLES)
        self.bias[part] = mean * self._random.standard_normal(size)
        self._counts = None

    def efforts(self, tau: Array, part: slice) -> Array:
        """Measured efforts of an arm's actuators from the applied ones."""
        noise = self._effort_noise[part]
        return tau + noise * self._random.standard_normal(len(noise)) if self._options.current else tau


def _resolution(arm: Arm) -> Array:
    """Positions per count (n,) [rad, m]."""
    motors = arm.motors
    if not motors.encoder_counts:
        return np.full(arm.n, DEFAULT_RESOLUTION)
    return 2.0 * np.pi / (np.array(motors.gear) * np.array(motors.encoder_counts))


class Servo(Remembering):
    """Efforts of `trocar.laws.servo` + feed-forward, or a given effort; within the motors' limits.

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
        self._limit = np.concatenate([arm.motors.effort for arm in arms])
        self._minus_limit = -self._limit
        self._deadband = np.concatenate([c.deadband for c in published])
        self._output = np.concatenate([c.output for c in published])
        self._output = np.where(np.isfinite(self._output), self._output, 1e300)
        self._tracking = np.concatenate([c.tracking for c in published])
        self._cutoff = np.concatenate([c.cutoff for c in published])
        self._momentum = self._cutoff * np.concatenate([c.nominal_mass for c in published])
        self.observed = observed and bool(self._cutoff.any())
        self._scale_gains()

    def tune(self, part: slice, kp: float = 1.0, ki: float = 1.0, kd: float = 1.0) -> None:
        """Scale the published gains of an arm; its integral restarts."""
        self._scale[:, part] = np.array([[kp], [ki], [kd]])
        self._integral[part] = 0.0
        self._scale_gains()

    def _scale_gains(self) -> None:
        gains = self._scale * self._published_gains
        parts = bool(self._deadband.any()), bool(gains[1].any()), self.observed
        self._remembers = any(parts[1:])
        constants = self._deadband, self._output, self._limit, self._cutoff, self._momentum, _PERIOD
        self._law = _law(*parts)(*gains, *constants)

    def efforts(self, q: Array, dq: Array) -> Array:
        """Actuator efforts (N,) for measured positions and velocities."""
        active = self.on & ~self.in_effort if self._remembers else self.on
        memory = self._integral, self._explained, self._observer
        tau, self._error, self._integral, explained, self._observer = self._law(
            self.q_ref, self.dq_ref, q, dq, *memory, active
        )
        if self.observed:
            self._explained = np.where(self.on, explained, 0.0)
        np.putmask(tau, self.in_effort, self.effort)
        tau += self.feed_forward
        np.minimum(np.maximum(tau, self._minus_limit, out=tau), self._limit, out=tau)
        np.putmask(tau, ~self.on, 0.0)
        return np.asarray(tau)

    def lost(self) -> Array:
        """Mask (N,) of the actuators with a tracking error beyond the tolerance in the last cycle."""
        beyond: Array = np.abs(self._error) > self._tracking
        if not np.count_nonzero(beyond):
            return beyond
        return beyond & self.checked & ~self.clipped & self.on & ~self.in_effort

    def stop(self, part: slice) -> None:
        self.on[part] = self.in_effort[part] = self.checked[part] = False
        self.effort[part] = self.feed_forward[part] = self.dq_ref[part] = self._integral[part] = 0.0
        self._explained[part] = self._observer[part] = 0.0


@cache
def _law(deadbands: bool, integrals: bool, observers: bool) -> Callable[..., Any]:
    """The law of actuators of which some have these parts."""
    return on_arrays(ScalarLaw(servo, PARAMETERS, deadbands=deadbands, integrals=integrals, observers=observers))


def _gains(arm: Arm, kind: str) -> Array:
    gains = np.array(getattr(arm.gains, kind), dtype=float)
    return gains if len(gains) == arm.n else np.zeros(arm.n)
