"""MuJoCo's model and data, with stiffer constraints, snapshots of the whole state and a guard against divergence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from trocar.errors import Inaccurate, Unsolved
from trocar.simulation.divergence import log_mujoco_warnings
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.simulation.stepped_arm import Memory, SteppedArm

IMPEDANCE = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # solimp of constraints: as hard as MuJoCo allows
# Scale applied to MuJoCo's inverse weights; smaller means stiffer constraints. Measured: below 1e-2, dry friction and
# the implicit integrator are incompatible.
STIFFENING = {"fast": 1e-1, "exact": 1e-2, "discrete": 1e-1}
# A sum of squared accelerations beyond this counts as divergence [(rad/s^2)^2].
RUNAWAY = 1e18
CHECKED = 20  # steps between two checks of loops and stops
# Tolerance, as a fraction of a step, when a time is rounded to a whole number of steps.
WHOLE = 1e-5
OPEN = 1e-4  # loop gap above which a warning is issued [m]
OVERRUN, OVERRUN_SLIDE = 0.2, 5e-3  # stop violation above which a warning is issued [rad], [m]
STATE = mujoco.mjtState.mjSTATE_INTEGRATION


@dataclass(frozen=True)
class Snapshot:
    """The complete state of a simulation, which determines its future; `memories` of every arm by name."""

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
        self._qacc_view, self._option = self.data.qacc, model.opt
        self._iterations, self._most, self._steps = self.data.solver_niter, int(model.opt.iterations), 0
        self._told: set[type[UserWarning]] = set()
        self._loop = model.eq_type == mujoco.mjtEq.mjEQ_CONNECT
        limited = [int(j) for j in np.flatnonzero(model.jnt_limited)]
        slides = model.jnt_type[limited] == mujoco.mjtJoint.mjJNT_SLIDE
        self._limited, self._range = model.jnt_qposadr[limited], model.jnt_range[limited].copy()
        self._overrun = np.where(slides, OVERRUN_SLIDE, OVERRUN)
        self._limited_joints = [(j, "m" if slide else "rad") for j, slide in zip(limited, slides, strict=True)]
        # make constraints stiffer than MuJoCo's impedance allows, by scaling the inverse weights they refer to
        for weights in (model.body_invweight0, model.dof_invweight0, model.tendon_invweight0):
            weights[:] *= STIFFENING[accuracy]

    def update(self) -> None:
        """Update poses to the current state: after a step, MuJoCo's poses are those at its start."""
        if not self.posed:
            mujoco.mj_kinematics(self.model, self.data)
            self.posed = True

    def forward(self) -> None:
        """Compute poses, velocities and accelerations from the state."""
        mujoco.mj_forward(self.model, self.data)
        self.posed = True

    def rest(self) -> None:
        """Clear the acceleration, which is unknown before the first step."""
        self.qacc = np.zeros(self.model.nv)

    def advance(self, arms: Sequence[SteppedArm]) -> bool:
        """Advance one step; return False if it diverged."""
        model, data = self.model, self.data
        if self._exact:
            mujoco.mj_forward(model, data)
            qacc = data.qacc.copy()
            if sum(arm.act_ahead() for arm in arms):
                mujoco.mj_forward(model, data)
            pulled = [(arm, source.force) for arm in arms for source in arm.forces.smooth]
            if pulled:
                self._runge_kutta(pulled)
            else:
                mujoco.mj_RungeKutta(model, data, 4)
        else:
            mujoco.mj_step(model, data)
            qacc = self._qacc_view
        # MuJoCo accumulates timesteps with a systematic rounding error of 0.2 ms per day
        timestep, time = self._option.timestep, data.time
        steps = round(time / timestep)
        if abs(time - steps * timestep) < WHOLE * timestep:
            data.time = steps * timestep
        self.qacc, self.posed = qacc, False
        sound: bool = qacc.dot(qacc) < RUNAWAY  # False for NaN
        if self._iterations[0] >= self._most and sound:
            self._warn(
                Unsolved,
                f"the constraint solver did not converge within {self._most} iterations",
                "use a smaller timestep or softer contacts",
            )
        self._steps += 1
        if self._steps % CHECKED == 0 and sound:
            self._check()
        return sound

    def _check(self) -> None:
        """Warn if loop gaps or stop violations are larger than an accurate step allows."""
        data, model = self.data, self.model
        gap = np.abs(data.efc_pos[: data.ne][self._loop[data.efc_id[: data.ne]]]).max(initial=0.0)
        if gap > OPEN:
            self._warn(Inaccurate, f"a loop is open by {1e3 * gap:.2g} mm", "use a smaller timestep")
        q = data.qpos[self._limited]
        over = np.maximum(self._range[:, 0] - q, q - self._range[:, 1])
        if len(q) and (over > self._overrun).any():
            k = int((over / self._overrun).argmax())
            joint, unit = self._limited_joints[k]
            self._warn(
                Inaccurate,
                f"{model.joint(joint).name} is {over[k]:.2g} {unit} beyond its stop",
                "use a smaller timestep or less effort",
            )

    def _warn(self, kind: type[UserWarning], what: str, remedy: str) -> None:
        """Warn once per kind and engine."""
        if kind not in self._told:
            self._told.add(kind)
            dt, t = self.model.opt.timestep, self.data.time
            warnings.warn(f"{what} at t = {t:.4g} s, with a timestep of {dt:.3g} s: {remedy}", kind, stacklevel=5)

    def _runge_kutta(self, pulled: Sequence[tuple[SteppedArm, Callable[[Array, Array], Array]]]) -> None:
        """Fourth-order Runge-Kutta step with the forces of cables and elastic drives evaluated at each stage.

        MuJoCo's own step would hold these forces constant, which is first order.
        """
        model, data = self.model, self.data
        h, t, q, v = model.opt.timestep, data.time, data.qpos.copy(), data.qvel.copy()
        applied = data.qfrc_applied.copy()
        for arm, force in pulled:
            applied[arm.slice.v] -= force(arm.qpos, arm.qvel)
        rates, accelerations = [v], [data.qacc.copy()]
        for share in (0.5, 0.5, 1.0):
            data.qpos[:], data.time = q, t + share * h
            mujoco.mj_integratePos(model, data.qpos, rates[-1], share * h)
            data.qvel[:] = v + share * h * accelerations[-1]
            data.qfrc_applied[:] = applied
            for arm, force in pulled:
                data.qfrc_applied[arm.slice.v] += force(arm.qpos, arm.qvel)
            mujoco.mj_forward(model, data)
            rates.append(data.qvel.copy())
            accelerations.append(data.qacc.copy())
        rate, acceleration = ((a + 2.0 * b + 2.0 * c + d) / 6.0 for a, b, c, d in (rates, accelerations))
        data.qpos[:], data.time = q, t + h
        mujoco.mj_integratePos(model, data.qpos, rate, h)
        data.qvel[:] = v + h * acceleration
        data.qacc_warmstart[:] = data.qacc
