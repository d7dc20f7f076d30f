"""Paths that an operator intends: reaches, sinusoids, recorded masters."""

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
    """Minimum-jerk reaches one after the other, each 10 t^3 - 15 t^4 + 6 t^5 of its duration (Flash, Hogan 1985).

    Attributes:
        cues: (time of the cue [s], goal (3,), or (3, N) if cells differ [m], duration [s]). The peak speed is
            1.875 distance / duration.
    """

    cues: Sequence[tuple[float, ArrayLike, float]]

    def __call__(self, t: Array) -> Array:
        goals = np.broadcast_arrays(np.zeros(3), *(np.asarray(goal, dtype=float) for _, goal, _ in self.cues))
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
    """A path that was recorded: linear between its samples, at rest after the last.

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
    try:
        table = np.loadtxt(path, ndmin=2)
    except (ValueError, UnicodeDecodeError) as error:
        raise TrocarError(f"{path}: not a table of numbers: {error}") from None
    if table.shape[1] != JIGSAWS_COLUMNS or len(table) < 2:
        rows, columns = table.shape
        raise TrocarError(
            f"{path}: a kinematics file of JIGSAWS has {JIGSAWS_COLUMNS} columns and two rows or more, "
            f"got {rows} x {columns}"
        )
    first = JIGSAWS_FIRST[hand]
    x = table[:, first : first + 3]
    if not np.isfinite(x).all():
        raise TrocarError(
            f"{path}: row {int(np.argwhere(~np.isfinite(x))[0, 0]) + 1} has a position that is not finite"
        )
    return Replay(np.arange(len(x)) / JIGSAWS_RATE, x)
