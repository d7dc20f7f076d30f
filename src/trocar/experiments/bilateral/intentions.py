"""Intended paths of an operator: reaches, sinusoids, recorded masters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError, check_known
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.spatial import Array

JIGSAWS_RATE = 30.0  # [Hz]
JIGSAWS_COLUMNS = 76  # 19 each of left and right master, left and right slave; position first
JIGSAWS_FIRST = {"left": 0, "right": 19}


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
class Sinusoids:
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
class Replay:
    """A recorded path: linear between its samples, at rest after the last.

    Attributes:
        t: (K,) [s]. x: (K, 3) positions [m]; displacements count from the first.
    """

    t: Array
    x: Array

    def __call__(self, t: Array) -> Array:
        return np.stack([np.interp(t, self.t - self.t[0], column - column[0]) for column in self.x.T], axis=1)


def recorded_master(recording: Recording, mechanism: Mechanism) -> Replay:
    """Path of the grip in a recording of a master's joints, such as `tr.load_recording` reads from files and bags."""
    recording.check_joints(mechanism.arm)
    return Replay(recording.t, mechanism.forward_kinematics(recording.q)[:, :3, 3])


def jigsaws_master(path: str | os.PathLike[str], hand: str = "right") -> Replay:
    """Path of a master in a kinematics file of JIGSAWS: text, 76 columns at 30 Hz.

    Columns 1 to 3 are the left master's position, 20 to 22 the right one's [m] (Gao et al. 2014).
    """
    check_known("hand", JIGSAWS_FIRST, hand)
    path = Path(path)
    first, rows = JIGSAWS_FIRST[hand], []
    try:
        for line in path.read_text(encoding="ascii").splitlines():
            rows.append([float(word) for word in line.split()])
    except ValueError as error:  # UnicodeDecodeError is one
        raise TrocarError(f"{path}, line {len(rows) + 1}: not a table of numbers: {error}") from None
    for number, row in enumerate(rows, start=1):
        if len(row) != JIGSAWS_COLUMNS:
            raise TrocarError(
                f"{path}, line {number}: a kinematics file of JIGSAWS has {JIGSAWS_COLUMNS} columns, got {len(row)}"
            )
        if not np.isfinite(row[first : first + 3]).all():
            raise TrocarError(f"{path}, line {number}: the position {row[first : first + 3]} is not finite")
    if len(rows) < 2:
        raise TrocarError(f"{path}: a path must have two rows or more, got {len(rows)}")
    x = np.array(rows)[:, first : first + 3]
    return Replay(np.arange(len(x)) / JIGSAWS_RATE, x)
