"""The surgeon's hand on the master: intended paths (reaches, sinusoids, recorded masters), an arm, a grip, tremor."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike

from trocar.errors import TrocarError, check_known
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.spatial import Array

JIGSAWS_RATE = 30.0  # [Hz]
JIGSAWS_COLUMNS = 76  # 19 each of left and right master, left and right slave; position first
JIGSAWS_FIRST = {"left": 0, "right": 19}
# A path: times (K,) [s] -> displacements (K, 3), or (K, 3, N) if cells differ [m].
Intention: TypeAlias = Callable[[Array], Array]


# -- paths ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Reaches:
    """A sequence of minimum-jerk reaches, each 10 t^3 - 15 t^4 + 6 t^5 of its duration (Flash, Hogan 1985).

    Attributes:
        cues: (time of the cue [s], goal (3,), or (3, N) if cells differ [m], duration [s]). The peak speed is
            1.875 distance / duration.
    """

    cues: Sequence[tuple[float, ArrayLike, float]]

    def __call__(self, t: Array) -> Array:
        goals = [np.asarray(goal, dtype=float) for _, goal, _ in self.cues]
        goals = [np.zeros_like(goals[0]), *goals]
        x = np.zeros((len(t), *goals[0].shape))
        for (begin, _, duration), before, goal in zip(self.cues, goals[:-1], goals[1:], strict=True):
            u = np.clip((t - begin) / duration, 0.0, 1.0)
            x += np.multiply.outer(u**3 * (10.0 - 15.0 * u + 6.0 * u * u), goal - before)
        return x


@dataclass(frozen=True, eq=False)
class SinusoidalPaths:
    """amplitude sin(2 pi f t) along one axis, different in each cell, faded in over the first half second.

    Attributes:
        frequency: (N,) [Hz]. amplitude: one number or (N,) [m]. axis: 0, 1 or 2.
    """

    frequency: ArrayLike
    amplitude: ArrayLike = 2e-3
    axis: int = 2

    def __call__(self, t: Array) -> Array:
        f = np.atleast_1d(np.asarray(self.frequency, dtype=float))
        x = np.zeros((len(t), 3, len(f)))
        x[:, self.axis] = self.amplitude * np.sin(2.0 * np.pi * t[:, None] * f) * np.minimum(t / 0.5, 1.0)[:, None]
        return x


@dataclass(frozen=True, eq=False)
class RecordedPath:
    """A recorded path: linear between its samples, at rest after the last.

    Attributes:
        t: (K,) [s]. x: (K, 3) positions [m]; displacements count from the first.
    """

    t: Array
    x: Array

    def __call__(self, t: Array) -> Array:
        return np.stack([np.interp(t, self.t - self.t[0], column - column[0]) for column in self.x.T], axis=1)


def recorded_master(recording: Recording, mechanism: Mechanism) -> RecordedPath:
    """Path of the grip in a recording of a master's joints, such as `tr.load_recording` reads from files and bags."""
    recording.check_joints(mechanism.arm)
    return RecordedPath(recording.t, mechanism.forward_kinematics(recording.q)[:, :3, 3])


def jigsaws_master(path: str | os.PathLike[str], hand: str = "right") -> RecordedPath:
    """Path of a master in a kinematics file of JIGSAWS: text, 76 columns at 30 Hz.

    Columns 1 to 3 are the left master's position, 20 to 22 the right one's [m] (Gao et al. 2014).
    """
    check_known("hand", JIGSAWS_FIRST, hand)
    lines = Path(path).read_bytes().splitlines()
    try:
        table = np.loadtxt(lines, ndmin=2, comments=None, encoding="ascii") if len(lines) > 1 else np.zeros((1, 1))
    except ValueError as error:
        raise TrocarError(f"{path} is not a table of numbers: {error}") from None
    if table.shape[0] < 2 or table.shape[1] != JIGSAWS_COLUMNS:
        raise TrocarError(
            f"{path}: a kinematics file of JIGSAWS has two rows or more of {JIGSAWS_COLUMNS} columns, got {table.shape}"
        )
    first = JIGSAWS_FIRST[hand]
    x = table[:, first : first + 3]
    if not np.isfinite(x).all():
        row = int(np.argmin(np.isfinite(x).all(axis=1)))
        raise TrocarError(f"{path}, row {row + 1}: the position {x[row].tolist()} is not finite")
    return RecordedPath(np.arange(len(x)) / JIGSAWS_RATE, x)


# -- hand ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class GripImpedance:
    """Spring and damper between the fingers and the grip of the master [N/m, N s/m]."""

    stiffness: float
    damping: float


# Assumed; Hasser and Cutkosky 2002 find that both grow with the grip force. The laboratory uses the normal grip.
GRIPS = {"relaxed": GripImpedance(100.0, 3.0), "normal": GripImpedance(200.0, 5.0), "firm": GripImpedance(1000.0, 20.0)}


@dataclass(frozen=True)
class ForeArm:
    """Mass of the arm behind the grip, coupled to the intended path [kg, N/m, N s/m].

    Mass and impedances are close to the single trial of van Beek et al. 2015 (Sci Rep 18004, fig. 3): 0.554 kg,
    135 N/m, 6.45 N s/m.
    """

    mass: float = 0.5
    stiffness: float = 135.0
    damping: float = 6.0


TREMOR_BAND = (8.0, 12.0)  # [Hz]; 50 to 200 um RMS (PMC3989364, Riviere 1997)


class Operator:
    """A hand that follows an intention.

        F = k (y - x) + b (y' - x'),    m y'' = k_a (x_i - y) + b_a (x_i' - y') - F    (y = x_i without an arm)

    Args:
        intention: path of the hand, as displacement from the start.
        grip: "relaxed", "normal", "firm", or a `GripImpedance`. arm: mass behind the grip; None: the grip follows the
            path.
        tremor: RMS of each axis [m], noise between 8 and 12 Hz. reaction: delay of the intention behind its cues [s],
            0.2 for visual cues. seed: seed of the tremor.
    """

    def __init__(
        self,
        intention: Intention,
        grip: str | GripImpedance = "normal",
        arm: ForeArm | None = None,
        *,
        tremor: float = 0.0,
        reaction: float = 0.0,
        seed: int = 0,
    ) -> None:
        if isinstance(grip, str):
            check_known("grip", GRIPS, grip)
            grip = GRIPS[grip]
        self.intention, self.grip, self.arm = intention, grip, arm
        self.tremor, self.reaction, self.seed = tremor, reaction, seed

    def start(self, steps: int, dt: float, N: int) -> None:
        """Prepare a run of N cells."""
        self._dt = dt
        path = np.asarray(self.intention(np.maximum(dt * np.arange(steps + 1) - self.reaction, 0.0)), dtype=float)
        self._path = path[..., None] if path.ndim == 2 else path
        shake = tremor_noise(steps + 1, dt, self.tremor, self.seed)[..., None]
        if self.arm is None:
            self._path, shake = self._path + shake, np.zeros((1, 3, 1)) + 0 * shake
        self._rate = np.diff(self._path, axis=0) / dt
        self._shake, self._shake_rate = shake, np.diff(shake, axis=0) / dt
        self._y = np.broadcast_to(self._path[0], (3, N)).copy()
        self._dy = np.zeros((3, N))

    def force(self, k: int, x: Array, v: Array) -> Array:
        """Force (3, N) of the hand on the grip at step k [N], with the grip at displacement x and velocity v."""
        grip, arm = self.grip, self.arm
        if arm is None:
            return grip.stiffness * (self._path[k] - x) + grip.damping * (self._rate[k] - v)
        y, dy = self._y + self._shake[k], self._dy + self._shake_rate[k]
        F: Array = grip.stiffness * (y - x) + grip.damping * (dy - v)
        pull = arm.stiffness * (self._path[k] - self._y) + arm.damping * (self._rate[k] - self._dy)
        self._dy = self._dy + self._dt / arm.mass * (pull - F)
        self._y = self._y + self._dt * self._dy
        return F


def tremor_noise(steps: int, dt: float, rms: float, seed: int) -> Array:
    """Band-limited noise (steps, 3) with the given RMS [m]."""
    if not rms:
        return np.zeros((steps, 3))
    lead = round(1.0 / dt)  # discards the transient of the filter
    noise = np.random.default_rng(seed).normal(size=(steps + lead, 3))
    shaken = scipy.signal.sosfilt(
        scipy.signal.butter(2, TREMOR_BAND, "bandpass", fs=1.0 / dt, output="sos"), noise, axis=0
    )[lead:]
    scale: Array = rms / np.sqrt(np.mean(shaken**2, axis=0))
    return np.asarray(shaken * scale)
