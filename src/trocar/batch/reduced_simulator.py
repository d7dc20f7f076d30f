"""`Simulator(engine="reduced")`: one arm, simulated by the compiled step of its independent joints.

It has the interface of `Simulator` and the step of `trocar.batch`; the loops are closed by construction. It is meant
for control loops: a step takes a microsecond instead of ten. Functions that need links, contact or MuJoCo raise
`NotReduced`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.arms.parameters import Parameters
from trocar.batch.backends.compiler import NoCompiler
from trocar.batch.loading import load
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism, load_mechanism
from trocar.simulation import Diverged, Simulator
from trocar.simulation.arm_options import ArmOptions
from trocar.spatial import Array


class NotReduced(TrocarError, AttributeError):
    """A feature of `Simulator` that the reduced engine lacks."""


@dataclass(frozen=True)
class ReducedSnapshot:
    """The complete state of a reduced simulation: rows of the compiled step, previous velocities, time, efforts."""

    rows: Array
    before: Array
    time: float
    tau: Array
    wrench: Array | None


class ReducedSimulator(Simulator):
    """One arm in its independent joints. The arguments are those of `Simulator`."""

    def __init__(
        self,
        name: str | Arm,
        parameters: str | Path | Parameters | None = None,
        *,
        engine: str = "reduced",
        timestep: float = 1e-3,
        accuracy: str = "fast",
        objects: Sequence[Any] = (),
        contacts: bool = True,
        gravity: ArrayLike | None = None,
        mounting: float | None = None,
        **options: Any,
    ) -> None:
        chosen = ArmOptions.of(parameters=parameters, **options)
        _refuse(chosen, accuracy, objects)
        mechanism = load_mechanism(
            name,
            parameters,
            counterweight=chosen.counterweight,
            instrument=chosen.instrument,
            gravity=gravity,
            mounting=mounting,
            rotor_inertia=chosen.rotor_inertia,
            endoscope=chosen.endoscope,
            added_mass=chosen.added_mass,
        )
        if mechanism.parameters is None:
            raise TrocarError(f"{mechanism.arm.name} has no dynamic parameters to simulate yet")
        self.arm, self.parameters, self.options, self.accuracy = mechanism.arm, mechanism.parameters, chosen, accuracy
        self.objects = {}
        self._reduced = self.scene = _ReducedArm(mechanism, chosen, timestep, self)  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        missing = "links, contact, brakes and faults" if name.startswith("_") else name
        raise NotReduced(f'engine="reduced" has no {missing}; use Simulator(..., engine="mujoco")')

    @property
    def mechanism(self) -> Mechanism:
        return self._reduced.mechanism

    @property
    def gravity_vector(self) -> Array:
        return self._reduced.mechanism.gravity_vector

    @property
    def timestep(self) -> float:
        return self._reduced.timestep

    @property
    def time(self) -> float:
        return self._reduced.time

    @property
    def q(self) -> Array:
        return self._reduced.q.copy()

    @property
    def dq(self) -> Array:
        return self._reduced.qvel.copy()

    @property
    def measured_q(self) -> Array:
        return self._reduced.q.copy()

    @property
    def measured_dq(self) -> Array:
        return self._reduced.qvel.copy()

    @property
    def ddq(self) -> Array:
        return self._reduced.qacc.copy()

    @property
    def tau(self) -> Array:
        return self._reduced.joint_from_motor.dot(self._reduced.ctrl)

    @property
    def delivered(self) -> Array:
        return self.tau

    def reset(self, q: ArrayLike, dq: ArrayLike | None = None) -> None:
        """Start at q (n,) with rates dq (n,) at time 0."""
        q = self.mechanism.checked_joints(q)
        if self.options.limits:
            self.arm.check_within_limits(q, "reset")
        self._reduced.start(q, np.zeros(self.n) if dq is None else self.mechanism.checked_joints(dq, "dq"))

    def step(self, tau: ArrayLike) -> None:
        """Advance one timestep under joint efforts tau (n,) [N m, N], held constant over the step."""
        self._reduced.command(tau)
        self._reduced.advance()

    def tip_pose(self) -> Array:
        return self.mechanism.forward_kinematics(self._reduced.q)

    def rcm_error(self) -> float:
        """Zero: the loops are closed by construction [m]."""
        if not self.arm.has_rcm:
            raise TrocarError(f"{self.arm.name} has no remote centre of motion")
        return 0.0

    def loop_error(self) -> float:
        """Zero: the loops are closed by construction [m]."""
        return 0.0

    def apply_wrench(self, wrench: ArrayLike, body: str = "tip") -> None:
        """Apply a force [N] and moment [N m] (6,) at the tip, base axes, until changed; zeros remove it."""
        if body != "tip":
            raise NotReduced(f'engine="reduced" applies wrenches at the tip only, got body {body!r}')
        wrench = checks.finite("a wrench", wrench, (6,), "six finite numbers, force then moment")
        self._reduced.wrench = wrench if wrench.any() else None

    def snapshot(self) -> Any:
        return self._reduced.snapshot()

    def restore(self, snapshot: Any) -> None:
        self._reduced.restore(snapshot)


class _ReducedArm:
    """The compiled arm with the interface of scene, engine and arm that `simulate` needs.

    Attributes:
        q, qvel: views of the state. wrench: (6,) at the tip, or None.
    """

    v, faults, joint_rows = slice(None), None, None

    def __init__(self, mechanism: Mechanism, options: ArmOptions, timestep: float, sim: ReducedSimulator) -> None:
        self.mechanism, self.timestep, n = mechanism, checks.positive("timestep", timestep), mechanism.n
        try:
            arms = load(mechanism, friction=options.friction, limits=options.limits, motor_limits=options.motor_limits)
            self._step = arms.in_place(arms.state(mechanism.arm.home), timestep)
        except NoCompiler as error:
            raise TrocarError(f'engine="reduced" compiles its equations: {error}') from error
        self._jacobian, self._home = arms.jacobian, self._step.rows.copy()
        self.arms, self.stepped = {mechanism.arm.name: sim}, {mechanism.arm.name: self}
        self.data = self.engine = self.slice = self
        self.D = np.eye(n)
        self.q, self.qvel = self._step.rows[:n], self._step.rows[n : 2 * n]
        self.motor_from_joint = np.ascontiguousarray(mechanism.arm.motors.coupling.T)
        self.joint_from_motor = np.linalg.inv(self.motor_from_joint)
        self._limits = mechanism.arm.motors.effort if options.motor_limits else None
        self._before, self._tau, self.time = np.zeros(n), np.zeros(n), 0.0
        self.wrench: Array | None = None

    @property
    def ctrl(self) -> Array:
        """Motor efforts (n,) of the step just taken."""
        ctrl = self.motor_from_joint.dot(self._tau)
        return ctrl if self._limits is None else np.clip(ctrl, -self._limits, self._limits)

    @property
    def qacc(self) -> Array:
        """Accelerations (n,) of the step just taken."""
        return (self.qvel - self._before) / self.timestep

    def start(self, q: Array, dq: Array) -> None:
        """Reset to q (n,) with rates dq (n,), without history."""
        self._step.rows[:] = self._home
        self.q[:], self.qvel[:], self._before[:] = q, dq, dq
        self.time, self.wrench = 0.0, None
        self._tau = np.zeros(len(q))

    def command(self, tau: ArrayLike) -> None:
        """Set the joint efforts (n,) of the next step."""
        effort = self._step.inputs
        try:
            effort[:] = tau
        except (TypeError, ValueError):
            arm, given = self.mechanism.arm, getattr(tau, "shape", None) or tau
            raise TrocarError(f"tau of {arm.name} has {arm.n} values [N m, N], got {given!r}") from None
        if not isfinite(effort.dot(effort)):
            raise TrocarError(f"tau is not finite: {tau!r}")
        self._tau = effort
        if self.wrench is not None:
            self._tau = effort.copy()
            J = self._jacobian(self.q)
            effort[: J.shape[1]] += J.T @ self.wrench

    def advance(self) -> None:
        """Take a step."""
        self._before[:] = self.qvel
        if self._step() >= 0:
            raise Diverged(
                f"the simulation of {self.mechanism.arm.name} diverged at t = {self.time:.6g} s; "
                "use a smaller timestep or lower gains"
            )
        self.time += self.timestep

    def snapshot(self) -> ReducedSnapshot:
        return ReducedSnapshot(self._step.rows.copy(), self._before.copy(), self.time, self._tau.copy(), self.wrench)

    def restore(self, snapshot: ReducedSnapshot) -> None:
        self._step.rows[:], self._before[:] = snapshot.rows, snapshot.before
        self.time, self._tau, self.wrench = snapshot.time, snapshot.tau.copy(), snapshot.wrench


def _refuse(options: ArmOptions, accuracy: str, objects: Sequence[Any]) -> None:
    """Raise an error for options that the reduced engine lacks."""
    asked = {
        "objects": bool(objects),
        "accuracy": accuracy != "fast",
        "transmission": options.transmission != "rigid",
        "compliance": options.compliance is not None,
        "elastic_mount": options.elastic_mount is not None,
        "port": options.port is not None,
    }
    for name, given in asked.items():
        if given:
            raise NotReduced(f'engine="reduced" has no {name}; omit it or use engine="mujoco"')
