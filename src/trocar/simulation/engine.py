"""MuJoCo's model and data, with stiffer constraints, snapshots of the whole state and a guard against divergence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import TYPE_CHECKING, NamedTuple

import mujoco
import numpy as np
from mujoco import mj_step

from trocar.errors import Inaccurate, Unsolved
from trocar.simulation.divergence import log_mujoco_warnings
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.simulation.stepped_arm import ArmMemory, SteppedArm

IMPEDANCE = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # solimp of constraints: as hard as MuJoCo allows
# Scale applied to MuJoCo's inverse weights; smaller means stiffer constraints. Measured: below 1e-2, dry friction and
# the implicit integrator are incompatible.
STIFFENING = {"fast": 1e-1, "exact": 1e-2, "discrete": 1e-1}
RUNAWAY = 1e9  # norm of the accelerations above which a simulation has diverged [rad/s^2, m/s^2]
SMALL = 20  # number of velocities up to which plain numbers are faster than numpy
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
    memories: Mapping[str, ArmMemory]


class _Stop(NamedTuple):
    """A joint limit: low and high are positions with the allowed violation [rad, m]; address: row of qpos."""

    joint: int
    address: int
    low: float
    high: float
    allowed: float
    unit: str

    @classmethod
    def of(cls, model: mujoco.MjModel, joint: int) -> _Stop:
        slides = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE
        allowed, unit = (OVERRUN_SLIDE, "m") if slides else (OVERRUN, "rad")
        low, high = model.jnt_range[joint].tolist()
        return cls(joint, int(model.jnt_qposadr[joint]), low - allowed, high + allowed, allowed, unit)

    def violation(self, qpos: Sequence[float]) -> float:
        """Distance beyond the stop [rad, m]."""
        q = qpos[self.address]
        return max(self.low - q, q - self.high) + self.allowed


class Engine:
    """Model, data and integrator that all arms of a simulation share."""

    def __init__(self, model: mujoco.MjModel, accuracy: str) -> None:
        log_mujoco_warnings()
        self.model, self.accuracy = model, accuracy
        self.data = mujoco.MjData(model)
        self._exact, self._small = accuracy == "exact", model.nv <= SMALL
        self._arms: Sequence[SteppedArm] = ()
        self._diverged: Callable[[], None] = lambda: None
        self.posed = False
        self.qacc = np.zeros(model.nv)  # at the start of the step just taken
        self._qacc_view, self._timestep = self.data.qacc, float(model.opt.timestep)
        # read at every step: memoryviews give plain numbers in half the time
        self._qacc_values, self._iterations = memoryview(self.data.qacc), memoryview(self.data.solver_niter)
        self._max_iterations, self._steps = int(model.opt.iterations), 0
        self._warned: set[type[UserWarning]] = set()
        self._loops = {int(i) for i in np.flatnonzero(model.eq_type == mujoco.mjtEq.mjEQ_CONNECT)}
        self._stops = [_Stop.of(model, int(joint)) for joint in np.flatnonzero(model.jnt_limited)]
        # make constraints stiffer than MuJoCo's impedance allows, by scaling the inverse weights they refer to
        for weights in (model.body_invweight0, model.dof_invweight0, model.tendon_invweight0):
            weights[:] *= STIFFENING[accuracy]

    @property
    def time(self) -> float:
        """Time [s] as a whole number of steps, unless it was set to another value.

        MuJoCo accumulates timesteps with a systematic rounding error of 0.2 ms per day.
        """
        time, timestep = self.data.time, self._timestep
        whole: float = round(time / timestep) * timestep
        return whole if abs(time - whole) < WHOLE * timestep else float(time)

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

    def attach(self, arms: Sequence[SteppedArm], diverged: Callable[[], None]) -> None:
        """Set the arms to step, and the function that raises the error of a divergence."""
        self._arms, self._diverged = arms, diverged

    def advance(self) -> None:
        """Advance one step under the efforts that were commanded for every arm."""
        if self._exact:
            qacc = self._exact_step()
            values = qacc.data
        else:
            mj_step(self.model, self.data)
            qacc, values = self._qacc_view, self._qacc_values
        self.qacc, self.posed = qacc, False
        # False for NaN
        sound = hypot(*values.tolist()) < RUNAWAY if self._small else bool(qacc.dot(qacc) < RUNAWAY**2)
        if self._iterations[0] >= self._max_iterations and sound:
            self._warn(
                Unsolved,
                f"the constraint solver did not converge within {self._max_iterations} iterations",
                "use a smaller timestep or softer contacts",
            )
        self._steps += 1
        if self._steps % CHECKED == 0 and sound:
            self.data.time = self.time  # corrects the sum before it loses more than a few digits
            self._check()
        if not sound:
            self._diverged()

    def _exact_step(self) -> Array:
        """A Runge-Kutta step; returns the accelerations at its start."""
        model, data, arms = self.model, self.data, self._arms
        mujoco.mj_forward(model, data)
        qacc = data.qacc.copy()
        if sum(arm.act_ahead() for arm in arms):
            mujoco.mj_forward(model, data)
        pulled = [(arm, source.force) for arm in arms for source in arm.forces.smooth]
        if pulled:
            self._runge_kutta(pulled)
        else:
            mujoco.mj_RungeKutta(model, data, 4)
        return qacc

    def _check(self) -> None:
        """Warn if loop gaps or stop violations are larger than an accurate step allows."""
        data = self.data
        rows = data.ne
        gaps = data.efc_pos[:rows].tolist()
        if gaps and (max(gaps) > OPEN or min(gaps) < -OPEN):
            loops = zip(data.efc_id[:rows].tolist(), gaps, strict=True)
            gap = max((abs(gap) for i, gap in loops if i in self._loops), default=0.0)
            if gap > OPEN:
                self._warn(Inaccurate, f"a loop is open by {1e3 * gap:.2g} mm", "use a smaller timestep")
        if not data.nl:  # no joint is at a stop
            return
        q = data.qpos.tolist()
        beyond = [stop for stop in self._stops if not stop.low <= q[stop.address] <= stop.high]
        if beyond:
            worst = max(beyond, key=lambda stop: stop.violation(q) / stop.allowed)
            self._warn(
                Inaccurate,
                f"{self.model.joint(worst.joint).name} is {worst.violation(q):.2g} {worst.unit} beyond its stop",
                "use a smaller timestep or less effort",
            )

    def _warn(self, kind: type[UserWarning], what: str, remedy: str) -> None:
        """Warn once per kind and engine."""
        if kind not in self._warned:
            self._warned.add(kind)
            dt, t = self.model.opt.timestep, self.data.time
            warnings.warn(f"{what} at t = {t:.4g} s, with a timestep of {dt:.3g} s: {remedy}", kind, stacklevel=4)

    def _runge_kutta(self, pulled: Sequence[tuple[SteppedArm, Callable[[Array, Array], Array]]]) -> None:
        """Fourth-order Runge-Kutta step with the forces of cables and elastic drives evaluated at each stage.

        MuJoCo's own step would hold these forces constant, which is first order.
        """
        model, data = self.model, self.data
        h, t, q, v = model.opt.timestep, data.time, data.qpos.copy(), data.qvel.copy()
        applied = data.qfrc_applied.copy()
        for arm, force in pulled:
            applied[arm.v] -= force(arm.qpos, arm.qvel)
        rates, accelerations = [v], [data.qacc.copy()]
        for share in (0.5, 0.5, 1.0):
            data.qpos[:], data.time = q, t + share * h
            mujoco.mj_integratePos(model, data.qpos, rates[-1], share * h)
            data.qvel[:] = v + share * h * accelerations[-1]
            data.qfrc_applied[:] = applied
            for arm, force in pulled:
                data.qfrc_applied[arm.v] += force(arm.qpos, arm.qvel)
            mujoco.mj_forward(model, data)
            rates.append(data.qvel.copy())
            accelerations.append(data.qacc.copy())
        rate, acceleration = ((a + 2.0 * b + 2.0 * c + d) / 6.0 for a, b, c, d in (rates, accelerations))
        data.qpos[:], data.time = q, t + h
        mujoco.mj_integratePos(model, data.qpos, rate, h)
        data.qvel[:] = v + h * acceleration
        data.qacc_warmstart[:] = data.qacc
