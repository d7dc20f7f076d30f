"""Rows of a run, collected while it runs."""

from __future__ import annotations

import numpy as np

from trocar.control import Controller, State
from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.runtime.settings import TIMESTEP
from trocar.simulation import SimulatedArm
from trocar.simulation.run import provenance
from trocar.spatial import Array

EVERY = 3  # steps between two rows: 500 Hz
LONGEST = 120.0  # [s]


class Recorder:
    """Row k: q, dq at t_k with tau, ddq of the step that starts at t_k, and the joint reference then."""

    def __init__(self) -> None:
        self._count = 0
        self._rows: list[tuple[float, Array, Array, Array, Array, Array]] = []

    @property
    def full(self) -> bool:
        return self._count * TIMESTEP >= LONGEST

    def add(self, state: State, ddq: Array, tau: Array, q_ref: Array) -> None:
        """Keep a step, while there is room."""
        if self.full:
            return
        if self._count % EVERY == 0:
            if self._rows and state.t <= self._rows[-1][0]:  # a reset started another run
                self._rows.clear()
            self._rows.append((state.t, state.q, state.dq, ddq.copy(), tau.copy(), q_ref.copy()))
        self._count += 1

    def recording(self, arm: SimulatedArm, controller: Controller) -> Recording:
        if len(self._rows) < 2:
            raise TrocarError("nothing was recorded: start a recording, then let the simulation run")
        t, q, dq, ddq, tau, q_ref = (np.array(column) for column in zip(*self._rows, strict=True))
        return Recording(
            t=t - t[0],
            q=q,
            dq=dq,
            ddq=ddq,
            tau=tau,
            joints=arm.arm.joint_names,
            joint_units=["rad" if joint.kind == "revolute" else "m" for joint in arm.arm.joints],
            commands={"q": q_ref},
            provenance=provenance(arm, controller),
        )
