"""The stepping of one arm in a scene: motors, forces outside the model, brakes, wrenches, faults, and their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.simulation.engine import MAX_EFFORT, ArmSlice, Diverged, Engine
from trocar.simulation.forces.arm_forces import ArmForces, ElasticDrives
from trocar.simulation.forces.environment import AppliedWrenches, Brakes, MountDeflection
from trocar.simulation.forces.faults import Fault, FaultInjection
from trocar.simulation.modelling.motor_side import MotorSide
from trocar.simulation.scene_arm import SceneArm
from trocar.spatial import Array


@dataclass(frozen=True)
class ArmMemory:
    """State of an arm outside the engine; together with the engine's it determines the future."""

    wrenches: dict[str, Array]
    held: Array  # holding positions of the brakes, engaged or not
    forces: tuple[Any, ...]
    faults: Any


class SteppedArm(ArmSlice):
    """The engine side of an arm: its rows of the model, its motors and forces.

    A scene steps it through `command`, `act_ahead`, `start` and `memory`. `SimulatedArm` is the user's interface, which
    reads this state.

    Attributes:
        arm, parameters, options: its data, dynamic parameters and options.
        mechanism: its equations, with the parameters, instrument and gravity that are simulated.
        qpos, qvel, ctrl: views of MuJoCo's data (links, then those of elastic drives; motors).
        D, E: q = D qpos and qpos = E q. D_measured: positions at the encoders = D_measured qpos.
        joint_rows, measured_rows: entries of qpos that D and D_measured select, or None if they do more than select.
        motor_from_joint, joint_from_motor: maps of efforts.
        forces, wrenches, brakes: forces in addition to the motors. faults: None if there are none.
        gripper: opening of a master's gripper [rad].
    """

    def __init__(self, mechanism: Mechanism, options: SceneArm, engine: Engine, prefix: str) -> None:
        arm, data = mechanism.arm, engine.data
        side = MotorSide.of(arm, options)
        motors = len(side.joints)
        super().__init__(engine, arm, prefix, extra=motors)
        self.mechanism, self.options, self.parameters = mechanism, options, mechanism.dynamic_parameters
        # attribute access of MjData is slow; these views stay valid
        self.ctrl, self._applied = data.ctrl[self.u], data.qfrc_applied[self.v]
        self.qpos, self.qvel = data.qpos[self.q], data.qvel[self.v]
        self._accelerations = None if engine.accuracy == "exact" else data.qacc[self.v]
        self.D, self.E = np.pad(arm.D, ((0, 0), (0, motors))), np.pad(arm.E, ((0, motors), (0, 0)))
        self.D_measured, D_drives = self.D.copy(), self.D.copy()  # D_drives: positions at which drives rub
        self.E[[self.dof(name) for name in side.joints]] = side.relaxed
        for elastic_joint, motor in side.encoders.items():
            row, read = arm.joint_names.index(elastic_joint), np.eye(len(self.qpos))[self.dof(motor)]
            self.D_measured[row] = read
            if elastic_joint in side.friction:
                D_drives[row] = read
        elastic = None if options.compliance is None else ElasticDrives(self, options.compliance)
        self.joint_rows, self.measured_rows = _selected(self.D), _selected(self.D_measured)
        self.motor_from_joint = np.ascontiguousarray(arm.motors.coupling.T)
        self.joint_from_motor = np.linalg.inv(self.motor_from_joint)
        self._motor_limits = arm.motors.effort if options.motor_limits else None
        self.wrenches, self.brakes = AppliedWrenches(self), Brakes(self)
        self.forces = ArmForces(self, options, mechanism, self.D, D_drives, elastic, self.wrenches)
        self._mount = None if options.elastic_mount is None else MountDeflection(self, options.elastic_mount)
        self.faults: FaultInjection | None = None
        self.gripper = 0.0
        self._pair_margin = engine.model.pair_margin[self.pairs].copy()
        self._wrenches = self.wrenches.by_place  # truth of a dictionary is cheaper than a call
        self._always_acts = self._motor_limits is not None or self.forces.acts

    def set_gravity(self, gravity: Array) -> None:
        """Change gravity (3,) in base axes [m/s^2] after the base was rotated."""
        self.mechanism = self.mechanism.under(gravity)
        self.forces.take(self.mechanism)
        if self._mount is not None:
            self._mount.preload()

    def command(self, tau: ArrayLike) -> None:
        """Set joint efforts tau (n,) [N m, N] and all other forces for the next step."""
        ctrl = self.ctrl
        try:
            self.motor_from_joint.dot(tau, ctrl)  # written directly to data.ctrl
        except RuntimeWarning:  # 0 times infinity, if warnings are errors
            ctrl[:] = np.nan
        except (TypeError, ValueError):
            arm, got = self.arm, getattr(tau, "shape", None) or tau
            raise TrocarError(f"tau of {arm.name} has {arm.n} values [N m, N], got {got!r}") from None
        if not ctrl.dot(ctrl) < MAX_EFFORT**2:  # True for NaN
            ctrl[:] = 0.0
            self._refuse(tau)
        if self._always_acts or self._wrenches:
            self._act(ctrl)

    def measured(self) -> tuple[Array, Array]:
        """Joint positions and velocities (n,) as the encoders report them [rad, m; rad/s, m/s]."""
        rows, faults = self.measured_rows, self.faults
        if rows is None:
            q, dq = self.D_measured.dot(self.qpos), self.D_measured.dot(self.qvel)
        else:
            q, dq = self.qpos[rows], self.qvel[rows]
        if faults is None:
            return q, dq
        return faults.measured(q, velocity=False), faults.measured(dq, velocity=True)

    def row(self) -> tuple[Array, Array]:
        """Motor efforts (n,) and accelerations of the links of the last step, views; see the maps below."""
        return self.ctrl, self.engine.qacc[self.v] if self._accelerations is None else self._accelerations

    def joint_efforts(self, rows: Array) -> Array:
        """Joint efforts (N, n) of motor efforts (N, n), equal to those of single rows to the last bit."""
        return np.asarray((self.joint_from_motor @ rows[:, :, None])[:, :, 0])

    def joint_accelerations(self, rows: Array) -> Array:
        """Joint accelerations (N, n) of those of the links (N, nv)."""
        return rows[:, self.joint_rows] if self.joint_rows is not None else (self.D @ rows[:, :, None])[:, :, 0]

    def command_motors(self, efforts: Array) -> None:
        """As `command`, with the efforts of the motors (n,) [N m, N]."""
        self.ctrl[:] = efforts
        if not efforts.dot(efforts) < MAX_EFFORT**2:
            self.ctrl[:] = 0.0
            self._refuse(efforts)
        self._act(self.ctrl)

    def _refuse(self, tau: ArrayLike) -> None:
        """Raise the error of efforts that are not finite, or so large that MuJoCo would ignore them."""
        if not np.isfinite(tau).all():
            raise TrocarError(f"tau is not finite: {tau!r}")
        name, t = self.prefix.rstrip("/") or self.arm.name, self.engine.time
        raise Diverged(
            f"the simulation of {name} diverged at t = {t:.4f} s: its efforts must be below {MAX_EFFORT:g}, got "
            f"{tau!r}. The usual cause is a controller that is unstable at this timestep"
        )

    def _act(self, ctrl: Array) -> None:
        """Limits, faults and the forces that are not in the model, once the motors' efforts are set."""
        if self._motor_limits is not None:
            np.clip(ctrl, -self._motor_limits, self._motor_limits, out=ctrl)
        if self.faults is not None:
            self.faults.deliver(ctrl)
        if self._wrenches:
            self.wrenches.act()
        if self.forces.acts:
            self.forces.act(self.qpos, self.qvel, self._applied)

    def act_ahead(self) -> bool:
        """Move Dahl friction half a step ahead, for a Runge-Kutta step; return False if there is none."""
        if self.forces.hysteresis is None:
            return False
        self._applied += self.forces.hysteresis.force_ahead(self.qvel)
        return True

    def start(self, q: Array, dq: Array) -> None:
        """Clear all memory and start at q (n,) with rates dq (n,); MuJoCo's data were reset."""
        self.wrenches.clear()
        self.forces.reset()
        self._applied[:] = self.forces.constant
        if self.faults is not None:
            self.faults.reset()
        self.put(q, dq)

    def put(self, q: Array, dq: Array) -> None:
        """Place every link as in the closed mechanism at q (n,) with rates dq (n,)."""
        arm, model = self.arm, self.engine.model
        overlapping = "jaw" in arm.joint_names and q[arm.joint_names.index("jaw")] < 0
        if self.pairs:
            model.pair_margin[self.pairs] = -1.0 if overlapping else self._pair_margin
        self.qpos[:] = self.E @ q
        self.brakes.place(self.qpos)
        if self._mount is not None:
            self._mount.settle()
        self.qvel[:] = self.E @ dq
        residual = self.mechanism.loop_residual(q)
        if residual.max(initial=0.0) > 1e-9:
            loop = arm.loops[int(residual.argmax())]
            raise TrocarError(f"loop {loop.name} is open by {residual.max():.3g} m at q = {q}")
        self.engine.rest()
        self.forces.place(self.qpos)

    def inject(self, faults: Sequence[Fault]) -> None:
        """Inject these faults, replacing earlier ones."""
        if self.faults is not None:
            self.faults.reset()
        self.faults = FaultInjection(self, tuple(faults)) if faults else None
        self._always_acts = bool(faults) or self._motor_limits is not None or self.forces.acts

    @property
    def reported(self) -> Array:
        """Motor efforts (n,) of the last step, as the amplifiers report them [N m, N]."""
        return self.ctrl if self.faults is None else self.faults.reported

    @property
    def memory(self) -> ArmMemory:
        """State outside the engine. Assign it to restore a snapshot."""
        return ArmMemory(
            wrenches=self.wrenches.memory,
            held=self.brakes.held,
            forces=self.forces.memory,
            faults=None if self.faults is None else self.faults.memory,
        )

    @memory.setter
    def memory(self, memory: ArmMemory) -> None:
        self.brakes.held = memory.held
        self.wrenches.memory = memory.wrenches
        self.forces.recall(memory.forces, self.qpos)
        if self.faults is not None and memory.faults is not None:
            self.faults.memory = memory.faults


def _selected(D: Array) -> Array | None:
    """Columns that D selects, if every row has a single 1: indexing is faster than a product. Otherwise None."""
    rows, columns = np.nonzero(D)
    return columns if np.array_equal(rows, np.arange(len(D))) and (D[rows, columns] == 1.0).all() else None
