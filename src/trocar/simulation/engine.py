"""MuJoCo's model and data, with stiffer constraints, snapshots of the whole state and a guard against divergence."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from trocar.errors import Unsolved
from trocar.simulation.divergence import log_mujoco_warnings
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.simulation.stepped_arm import Memory, SteppedArm

IMPEDANCE = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # of constraints: as hard as MuJoCo allows
# Scale applied to MuJoCo's inverse weights; smaller means stiffer constraints. Measured: below 1e-2 dry friction and
# the implicit integrator no longer work together.
STIFFENING = {"fast": 1e-1, "exact": 1e-2, "discrete": 1e-1}
# An acceleration beyond this, squared and summed, is a simulation that has blown up [(rad/s^2)^2].
RUNAWAY = 1e18
STATE = mujoco.mjtState.mjSTATE_INTEGRATION


@dataclass(frozen=True)
class Snapshot:
    """The whole state of a simulation, which decides its future; `memories` of every arm by name."""

    state: Array
    tau: Array
    ddq: Array
    memories: Mapping[str, Memory]


class Engine:
    """Model, data and integrator that all arms of a simulation share."""

    def __init__(self, model: mujoco.MjModel, accuracy: str) -> None:
        log_mujoco_warnings()
        self.model, self.accuracy = model, accuracy
        self.data = mujoco.MjData(model)
        self._exact = accuracy == "exact"
        self.posed = False
        self.qacc = np.zeros(model.nv)  # at the start of the step just taken
        self._qacc_view = self.data.qacc
        self._iterations, self._most, self._told = self.data.solver_niter, int(model.opt.iterations), False
        # constraints stiffer than MuJoCo's impedance allows, by scaling the inverse weights they are relative to
        for weights in (model.body_invweight0, model.dof_invweight0, model.tendon_invweight0):
            weights[:] *= STIFFENING[accuracy]

    def update(self) -> None:
        """Bring poses up to the state: after a step MuJoCo's are those at its start."""
        if not self.posed:
            mujoco.mj_kinematics(self.model, self.data)
            self.posed = True

    def forward(self) -> None:
        """Compute poses, velocities and accelerations from the state."""
        mujoco.mj_forward(self.model, self.data)
        self.posed = True

    def rest(self) -> None:
        """No step was taken from here: no acceleration is known."""
        self.qacc = np.zeros(self.model.nv)

    def advance(self, arms: Sequence[SteppedArm]) -> bool:
        """One step; False if it blew up."""
        model, data = self.model, self.data
        if self._exact:
            mujoco.mj_forward(model, data)
            qacc = data.qacc.copy()
            if sum(arm.act_ahead() for arm in arms):
                mujoco.mj_forward(model, data)
            mujoco.mj_RungeKutta(model, data, 4)
        else:
            mujoco.mj_step(model, data)
            qacc = self._qacc_view
        self.qacc, self.posed = qacc, False
        sound: bool = qacc.dot(qacc) < RUNAWAY  # not so for nan
        if self._iterations[0] >= self._most and sound and not self._told:
            self._told = True
            warnings.warn(
                f"the forces of constraints and contacts were not solved for within {self._most} iterations at t = "
                f"{data.time:.4g} s, nor perhaps later; a smaller timestep or softer contacts help",
                Unsolved,
                stacklevel=4,
            )
        return sound
