"""Rows of a run as they happen, until they are made into a Recording."""

from __future__ import annotations

import numpy as np

from trocar.control import Controller, State
from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.simulation.run import provenance
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.spatial import Array
from trocar.viewer.plant import TIMESTEP

EVERY = 3  # steps between two rows: 500 Hz
LONGEST = 120.0  # [s]


class Recorder:
    """Row k: q, dq at t_k with tau, ddq of the step that starts at t_k, and the joint reference then."""

    seconds = LONGEST

    def __init__(self, n: int) -> None:
        self._n, self._count = n, 0
        self._rows: list[tuple[float, Array, Array, Array, Array, Array]] = []
        self._full = False

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, state: State, ddq: Array, tau: Array, q_ref: Array) -> bool:
        """Keep a step; False once, when there is no room for more."""
        if self._full:
            return True
        if self._count % EVERY == 0:
            self._rows.append((state.t, state.q, state.dq, ddq.copy(), tau.copy(), q_ref.copy()))
        self._count += 1
        self._full = self._count * TIMESTEP >= LONGEST
        return not self._full

    def recording(self, sim: SimulatedArm, controller: Controller) -> Recording:
        # A reset puts time back to 0: what went before is another run.
        start = max((k for k in range(1, len(self)) if self._rows[k][0] <= self._rows[k - 1][0]), default=0)
        rows = self._rows[start:]
        if len(rows) < 2:
            raise TrocarError("nothing was recorded: press record, then let the simulation run")
        t, q, dq, ddq, tau, q_ref = (np.array(column) for column in zip(*rows, strict=True))
        return Recording(
            t=t - t[0],
            q=q,
            dq=dq,
            ddq=ddq,
            tau=tau,
            joints=sim.arm.joint_names,
            joint_units=sim.arm.joint_units,
            commands={"q": q_ref},
            provenance=provenance(sim, controller),
        )
