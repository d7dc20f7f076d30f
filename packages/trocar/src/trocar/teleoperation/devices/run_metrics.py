"""Figures of a teleoperated run: time, path, smoothness, force, clutches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.mechanics import load_mechanism
from trocar.recording import Recording

WINDOW, ORDER = 0.15, 5  # length [s] and order of the polynomials whose third derivative is the jerk


@dataclass(frozen=True)
class RunMetrics:
    """Figures of one PSM in a run.

    Attributes:
        duration, following: whole time, and the time in which the PSM followed the hand [s].
        path: length of the path of the tip [m]. jerk: root mean square of its third derivative [m/s^3].
        peak_force: largest contact force on the instrument [N]. clutches: number of times the clutch was pressed.
    """

    duration: float
    following: float
    path: float
    jerk: float
    peak_force: float
    clutches: int

    @classmethod
    def of(
        cls, t: ArrayLike, tip: ArrayLike, force: ArrayLike, following: ArrayLike, clutched: ArrayLike
    ) -> RunMetrics:
        """From equally spaced times t (N,) [s], tip (N, 3) [m], force (N, 3) [N], following and clutched (N,)."""
        t, tip, force = (np.asarray(x, dtype=float) for x in (t, tip, force))
        follows, clutch = (np.asarray(x, dtype=float) > 0.5 for x in (following, clutched))
        if len(t) < 2:
            raise TrocarError("a run needs two rows or more")
        dt = float(t[-1] - t[0]) / (len(t) - 1)
        window = 2 * round(WINDOW / dt / 2) + 1  # odd
        jerk = 0.0
        if len(t) >= window > ORDER:
            third = scipy.signal.savgol_filter(tip, window, ORDER, deriv=3, delta=dt, axis=0)
            jerk = float(np.sqrt((third**2).sum(axis=1).mean()))
        return cls(
            duration=float(t[-1] - t[0]),
            following=float(follows[:-1] @ np.diff(t)),
            path=float(np.linalg.norm(np.diff(tip, axis=0), axis=1).sum()),
            jerk=jerk,
            peak_force=float(np.linalg.norm(force, axis=1).max()),
            clutches=int((clutch[1:] & ~clutch[:-1]).sum() + clutch[0]),
        )

    @classmethod
    def of_recording(cls, recording: Recording) -> RunMetrics:
        """From the recording of a PSM that a `MotionLog` has made."""
        tip = load_mechanism(recording.provenance["arm"]).forward_kinematics(recording.q)[:, :3, 3]
        extra = recording.extra
        return cls.of(recording.t, tip, extra["contact_force"], extra["following"], extra["clutched"])

    def __str__(self) -> str:
        return (
            f"{self.duration:.1f} s ({self.following:.1f} s following), path {1e3 * self.path:.0f} mm, "
            f"jerk {self.jerk:.2g} m/s^3 (RMS), peak force {self.peak_force:.2f} N, "
            f"{self.clutches} clutch{'' if self.clutches == 1 else 'es'}"
        )
