"""The latest rows of a run, for plots and recordings."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.simulation import SimulatedArm
from trocar.simulation.run import EFFORT_UNIT, provenance
from trocar.spatial import Array


class Recorder:
    """The last `seconds` of simulated time of one arm, one row every `interval` [s]; one thread writes, any may read.

    Row k: q, dq at t_k, the measured tau, the applied tau and ddq of the step starting at t_k, and the joint
    reference at t_k.
    """

    NAMES = ("q", "dq", "ddq", "tau", "applied_tau", "q_ref")

    def __init__(self, seconds: float, interval: float) -> None:
        self._rows: deque[tuple[float, tuple[Array, ...]]] = deque(maxlen=round(seconds / interval))
        self._interval, self._lock = interval, threading.Lock()

    def due(self, t: float) -> bool:
        """True if the next row may be added at a time [s]: the last one is old enough, or later (after a reset)."""
        last = self._rows[-1][0] if self._rows else -np.inf
        return not last < t < last + 0.999 * self._interval

    def add(self, t: float, *values: Array) -> None:
        """Add values in the order of NAMES. A row that is not later than the last one clears the rows."""
        with self._lock:
            if self._rows and t <= self._rows[-1][0]:
                self._rows.clear()
            self._rows.append((t, values))

    def arrays(self) -> dict[str, Array]:
        """Times (N,) under "t" and every channel (N, n) under its name; empty arrays before the first row."""
        with self._lock:
            rows = list(self._rows)
        if not rows:
            return {name: np.zeros((0,)) for name in ("t", *self.NAMES)}
        columns = zip(*(values for _, values in rows), strict=True)
        return {"t": np.array([t for t, _ in rows]), **dict(zip(self.NAMES, map(np.array, columns), strict=True))}

    def recording(self, arm: SimulatedArm, law: object) -> Recording:
        """The rows as a recording from time 0; `law`: the control law, for its provenance."""
        rows: dict[str, Any] = self.arrays()
        if len(rows["t"]) < 2:
            raise TrocarError("nothing was recorded: start a recording, then let the simulation run")
        q_ref, applied, rows["t"] = rows.pop("q_ref"), rows.pop("applied_tau"), rows["t"] - rows["t"][0]
        return Recording(
            **rows,
            joints=arm.arm.joint_names,
            joint_units=arm.arm.joint_units,
            commands={"q": q_ref},
            extra={"applied_tau": applied},
            extra_units={"applied_tau": EFFORT_UNIT},
            provenance=provenance(arm, law),
        )
