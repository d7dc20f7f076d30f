"""A resumable soak: a table with one row per period of simulated time, and the snapshot to resume from."""

from __future__ import annotations

import pickle
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from trocar.errors import Inaccurate, Unsolved
from trocar.files import write_whole
from trocar.simulation import Scene, SimulatedArm
from trocar.spatial import Array

PERIOD, KEPT = 10.0, 30  # simulated time of a row [s], rows between snapshots
NOT_REPEATED = ("memory_mb", "seconds")  # columns that differ when a period is repeated


class Resumable(ABC):
    """A scene that moves period by period. A subclass sets `scene`, then calls `resume`.

    Attributes:
        columns: names of the columns of `rows`. shown: labels of those that the report draws.
        about: one line that describes the motion.
    """

    columns: ClassVar[tuple[str, ...]]
    shown: ClassVar[Mapping[str, str]]
    about: ClassVar[str]
    scene: Scene

    def __init__(self, subject: str, path: Path) -> None:
        self.subject, self.path = subject, path
        self._table, self._count = np.empty((0, len(self.columns))), 0

    @property
    def rows(self) -> Array:
        """Rows so far (periods, columns)."""
        return self._table[: self._count]

    @abstractmethod
    def period(self, k: int) -> tuple[float, ...]:
        """Simulate period k; returns its row."""

    @property
    def hours(self) -> float:
        """Simulated time so far."""
        return self._count * PERIOD / 3600

    def resume(self) -> None:
        """Restore the last snapshot, if there is one, and check that the period after it is reproduced."""
        if not self.path.exists():
            return
        kept: dict[str, Any] = pickle.loads(self.path.read_bytes())
        self._table, self._count = np.array(kept["rows"]), len(kept["rows"])
        self.scene.restore(kept["before"])
        again, told = np.array(self.period(self._count - 1)), self.rows[-1]
        repeated = [k for k, name in enumerate(self.columns) if name not in NOT_REPEATED]
        if not np.array_equal(again[repeated], told[repeated]):
            raise SystemExit(f"{self.subject}: period {self._count} is not reproduced: got {again}, recorded {told}")
        print(f"{self.subject}: resumed after {self.hours:.2f} h; the last period is bit-for-bit the same", flush=True)

    def run(self, hours: float, seconds: float) -> None:
        """Continue up to this many hours of simulated time, or for this many seconds of real time."""
        end, began = max(round(hours * 3600 / PERIOD), self._count), time.perf_counter()
        # allocate all rows, and the copy that is saved, at once: a growing table would look like a leak
        self._table = np.vstack([self.rows, np.full((end - self._count, len(self.columns)), np.nan)])
        pickle.dumps(self._table)
        with warnings.catch_warnings():
            for kind in (Inaccurate, Unsolved):
                warnings.simplefilter("error", kind)
            while self._count < end and time.perf_counter() - began < seconds:
                before = self.scene.snapshot()
                self._table[self._count] = self.period(self._count)
                self._count += 1
                last = self._count >= end or time.perf_counter() - began >= seconds
                if self._count % KEPT == 0 or last:
                    write_whole(self.path, pickle.dumps({"rows": self.rows, "before": before}))


def mechanical_energy(arm: SimulatedArm) -> float:
    """Kinetic and potential energy of an arm, by the equations in reduced coordinates [J]."""
    q, dq, mechanism = arm.q, arm.dq, arm.mechanism
    return float(mechanism.kinetic_energy(q, dq) + mechanism.potential_energy(q))
