"""Encoders, potentiometers and current sensors of all actuators at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trocar.arms import Arm
from trocar.robot.controller.constants import CALIBRATION_SAMPLES, PERIOD, POTS_LATENCY
from trocar.robot.controller.memory import Remembering
from trocar.spatial import Array

MIN_INTERVAL = 1e-6  # time between encoder edges [s]
DEFAULT_RESOLUTION = 1e-9  # resolution of encoders with unpublished counts [rad, m]


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
    current: float = 2e-3
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

    def place(self, part: slice, s: Array) -> None:
        """Read an arm that was placed at true positions s (k,), at rest."""
        s, age = s + self.bias[part], self._age
        counts = np.rint(s / self._resolution[part])
        q = counts * self._resolution[part] if self._options.encoders else s
        self.q, self.dq = self.q.copy(), self.dq.copy()
        self.q[part], self.dq[part] = q, 0.0
        if self._counts is not None:
            self._counts, self._true = self._counts.copy(), self._true.copy()
            self._counts[part], self._true[part], self._edge[part], age[part] = counts, s, q, 1.0

    def measure(self, s: Array, ds: Array) -> None:
        """Measure true positions and velocities (N,), one period after the last time."""
        s = s + self.bias
        if not self._options.encoders:
            self.q, self.dq = s, ds.copy()
            return
        resolution = self._resolution
        counts = np.rint(s / resolution)
        if self._counts is None:
            self._counts, self._true, self._edge = counts, s, counts * resolution
            self._age[:] = 1.0
        steps = counts - self._counts
        moved = steps != 0.0
        age = self._age
        age += PERIOD
        v = self.dq
        if np.count_nonzero(moved):
            edge = (counts - 0.5 * np.sign(steps)) * resolution  # the last boundary crossed
            travelled = s - self._true
            np.putmask(travelled, ~moved, 1.0)
            since = PERIOD * (s - edge) / travelled  # time since it was crossed
            v = v.copy()
            np.putmask(v, moved, (edge - self._edge) / np.maximum(age - since, MIN_INTERVAL))
            np.putmask(self._edge, moved, edge)
            np.putmask(age, moved, since)
        # no edge for a while: it cannot be faster than one count in that time
        bound = resolution / np.maximum(age, MIN_INTERVAL)
        np.putmask(bound, moved, np.inf)
        self.dq = np.minimum(np.maximum(v, -bound), bound)
        self._counts, self._true = counts, s
        self.q = counts * resolution

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
