"""One arm, simulated by the compiled step of its independent joints: `tr.ReducedSimulator`.

It has the names of `Simulator` and the step of `trocar.batch`; the loops are closed by construction. It is meant for
control loops: a step takes a microsecond instead of ten. It has no links, contact, brakes and faults.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.arms.parameters import Parameters
from trocar.batch.loading import load
from trocar.c_library import NoCompiler
from trocar.errors import TrocarError
from trocar.simulation import Diverged, SceneArm
from trocar.simulation.engine import MAX_EFFORT
from trocar.spatial import Array


class NotReduced(TrocarError):
    """An option of `Simulator` that `ReducedSimulator` lacks."""


# State of the compiled step, previous velocities, time, efforts and wrench.
Snapshot = tuple[Array, Array, float, Array, Array | None]


class ReducedSimulator:
    """One arm in its independent joints. The arguments are those of `Simulator`.

    Attributes:
        arm, parameters, options, mechanism: of the simulated arm. timestep, time: [s].
    """

    accuracy, faults = "fast", None

    def __init__(
        self,
        name: str | Arm,
        parameters: str | Path | Parameters | None = None,
        *,
        timestep: float = 1e-3,
        accuracy: str = "fast",
        objects: Sequence[Any] = (),
        contacts: bool = True,
        gravity: ArrayLike | None = None,
        mounting: float | None = None,
        **options: Any,
    ) -> None:
        chosen = SceneArm.alone(name, np.eye(4), parameters=parameters, **options)
        lacking = {
            "objects": bool(objects),
            "accuracy": accuracy != "fast",
            "transmission": chosen.transmission != "rigid",
            **{name: getattr(chosen, name) is not None for name in ("compliance", "elastic_mount", "port")},
        }
        if any(lacking.values()):
            name = next(name for name, needed in lacking.items() if needed)
            raise NotReduced(f"ReducedSimulator has no {name}; omit it or use Simulator")
        mechanism, self.options = chosen.loaded(None, gravity, mounting)
        self.mechanism, self.timestep, self.time = mechanism, checks.positive("timestep", timestep), 0.0
        self.arm, self.parameters, self.n = mechanism.arm, mechanism.dynamic_parameters, mechanism.n
        try:
            flags = {name: getattr(chosen, name) for name in ("friction", "limits", "motor_limits")}
            self._arms = arms = load(mechanism, wrist=chosen.cables or "rigid", **flags)
            self._step = arms.in_place(arms.state(self.arm.home), timestep)
        except NoCompiler as error:
            raise TrocarError(f"ReducedSimulator compiles its equations: {error}") from error
        self._jacobian, self._measured = arms.jacobian, arms.measured_rows
        self._q, self._dq = self._step.rows[: self.n], self._step.rows[self.n : 2 * self.n]  # views
        self._motor_from_joint = np.ascontiguousarray(self.arm.motors.coupling.T)
        self._joint_from_motor = np.linalg.inv(self._motor_from_joint)
        self._motor_limits = self.arm.motors.effort if chosen.motor_limits else None
        self._effort, self._external = self._step.inputs[: self.n], self._step.inputs[self.n :]  # views
        self._before = np.zeros(self.n)
        self._wrench: Array | None = None

    @property
    def gravity_vector(self) -> Array:
        """Gravity (3,) in base axes [m/s^2]."""
        return self.mechanism.gravity_vector

    @property
    def q(self) -> Array:
        """Joint positions (n,) at `time` [rad, m]."""
        return self._q.copy()

    @property
    def dq(self) -> Array:
        """Joint velocities (n,) at `time` [rad/s, m/s]."""
        return self._dq.copy()

    @property
    def measured_q(self) -> Array:
        """Joint positions (n,) at `time`, as the encoders of the motors report them [rad, m]."""
        return self._step.rows[self._measured]

    measured_dq = dq  # the motors'; behind cables, joints at rest have no velocity of their own

    @property
    def ddq(self) -> Array:
        """Joint accelerations (n,) of the last step [rad/s^2, m/s^2]."""
        return (self._dq - self._before) / self.timestep

    @property
    def tau(self) -> Array:
        """Joint efforts (n,) of the last step [N m, N]."""
        return self._joint_from_motor.dot(self.row()[0])

    delivered = tau

    @property
    def measured_tau(self) -> Array:
        """Joint efforts (n,) of the last step, as the robot reports them: `tau` + `mechanism.effort_bias`."""
        return self.tau + self.mechanism.effort_bias

    def reset(self, q: ArrayLike, dq: ArrayLike | None = None) -> None:
        """Start at q (n,) with rates dq (n,) at time 0."""
        q = self.mechanism.checked_joints(q)
        if self.options.limits:
            self.arm.check_within_limits(q, "reset")
        dq = None if dq is None else self.mechanism.checked_joints(dq, "dq")
        self._step.rows[:] = self._arms.state(q, dq).rows
        self._before[:] = self._dq
        self.time, self._wrench, self._step.inputs[:] = 0.0, None, 0.0

    def step(self, tau: ArrayLike) -> None:
        """Advance one timestep under joint efforts tau (n,) [N m, N], held constant over the step."""
        self.command(tau)
        self.advance()

    def command(self, tau: ArrayLike) -> None:
        """Set the joint efforts (n,) [N m, N] of the next step."""
        effort = self._effort
        try:
            effort[:] = tau
        except (TypeError, ValueError):
            got = getattr(tau, "shape", None) or tau
            raise TrocarError(f"tau of {self.arm.name} has {self.n} values [N m, N], got {got!r}") from None
        if not effort.dot(effort) < MAX_EFFORT**2:
            raise TrocarError(f"tau must be finite and below {MAX_EFFORT:g} [N m, N], got {tau!r}")
        if self._wrench is not None:
            J = self._jacobian(self._q)
            self._external[: J.shape[1]] = J.T @ self._wrench

    def advance(self) -> None:
        """Take a step under the commanded efforts."""
        self._before[:] = self._dq
        if self._step() >= 0:
            raise Diverged(
                f"the simulation of {self.arm.name} diverged at t = {self.time:.6g} s; "
                "use a smaller timestep or lower gains"
            )
        self.time += self.timestep

    def measured(self) -> tuple[Array, Array]:
        """Joint positions and velocities (n,) at the encoders, which are exact."""
        return self.measured_q, self._dq.copy()

    def row(self) -> tuple[Array, Array]:
        """Motor efforts (n,) and joint accelerations (n,) of the last step."""
        motors = self._motor_from_joint.dot(self._effort)
        limits = self._motor_limits
        return motors if limits is None else np.clip(motors, -limits, limits), self.ddq

    def joint_efforts(self, rows: Array) -> Array:
        """Joint efforts (N, n) of motor efforts (N, n)."""
        return np.asarray((self._joint_from_motor @ rows[:, :, None])[:, :, 0])

    def joint_accelerations(self, rows: Array) -> Array:
        """Joint accelerations (N, n) as recorded."""
        return rows

    def tip_pose(self) -> Array:
        """Tip pose (4, 4) in the base."""
        return self.mechanism.forward_kinematics(self._q)

    def loop_error(self) -> float:
        """Zero: the loops are closed by construction [m]."""
        return 0.0

    def rcm_error(self) -> float:
        """Zero: the loops are closed by construction [m]."""
        if not self.arm.has_rcm:
            raise TrocarError(f"{self.arm.name} has no remote centre of motion")
        return 0.0

    def apply_wrench(self, wrench: ArrayLike, body: str = "tip") -> None:
        """Apply a force [N] and moment [N m] (6,) at the tip, base axes, until changed; zeros remove it."""
        if body != "tip":
            raise NotReduced(f"ReducedSimulator applies wrenches at the tip only, got body {body!r}")
        wrench = checks.finite("a wrench", wrench, (6,), "six finite numbers, force then moment")
        self._wrench, self._external[:] = wrench if wrench.any() else None, 0.0

    def snapshot(self) -> Snapshot:
        """A copy of the complete state, for `restore`."""
        return self._step.rows.copy(), self._before.copy(), self.time, self._effort.copy(), self._wrench

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot of this simulator; the continuation is bit-for-bit the same."""
        self._step.rows[:], self._before[:], self.time, self._effort[:], self._wrench = snapshot
        self._external[:] = 0.0
