"""One arm in the engine: what it measures, what acts on it, what its mechanism does.

The arm is alone in its model (`Simulator`) or one of several (`Scene`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError, UnknownName
from trocar.mechanics import Mechanism
from trocar.simulation.arm_options import ArmSpec
from trocar.simulation.arm_slice import ArmSlice
from trocar.simulation.engine import Engine
from trocar.simulation.forces import constraint_forces
from trocar.simulation.forces.applied_wrenches import AppliedWrenches
from trocar.simulation.forces.arm_forces import ArmForces
from trocar.simulation.forces.brakes import Brakes
from trocar.simulation.forces.elastic_drives import ElasticDrives
from trocar.simulation.forces.port import PortForces
from trocar.simulation.objects.contact import InstrumentContacts
from trocar.simulation.objects.objects import PlacedObject
from trocar.spatial import Array

LIMIT_TOLERANCE = 1e-3  # [rad, m]


@dataclass(frozen=True)
class Memory:
    """What decides the future of an arm beside the state of the engine."""

    wrenches: dict[int, Array]
    held: Array  # where the brakes hold, engaged or not
    forces: tuple[Any, Any]


class SimulatedArm:
    """An arm with its real mechanism in a model of MuJoCo. Poses and wrenches are in its base.

    What begins with an underscore is for those that step it: `Simulator`, `Scene` and their `Engine`.

    Attributes:
        arm, parameters: its facts and dynamic parameters. gravity_vector: (3,) in its base [m/s^2].
        model, data: MuJoCo's, of all that is simulated together. objects: what can be touched, by name.
    """

    def __init__(
        self, spec: ArmSpec, engine: Engine, prefix: str, gravity: Array, objects: Mapping[str, PlacedObject]
    ) -> None:
        self.arm, self.parameters = spec.arm, spec.parameters
        self.friction, self.counterweight, self.limits = spec.friction, spec.counterweight, spec.limits
        self.accuracy, self.objects = engine.accuracy, objects
        self.motor_limits = spec.arm.motors.effort if spec.motor_limits else None
        self._engine, self.model, self.data = engine, engine.model, engine.data
        arm, data = spec.arm, engine.data
        # the joints of an arm are those of the tree, then the motors of elastic drives
        self._part = part = ArmSlice(engine, arm, prefix, extra=spec.motors)
        # attributes of MjData cost a look-up each; these are views that stay valid
        self._ctrl, self._applied = data.ctrl[part.u], data.qfrc_applied[part.v]
        self._qpos, self._qvel = data.qpos[part.q], data.qvel[part.v]
        own = len(self._qpos)
        self._D, self._E = np.pad(arm.D, ((0, 0), (0, spec.motors))), np.pad(arm.E, ((0, spec.motors), (0, 0)))
        self._D_measured = self._D.copy()
        elastic = None if spec.compliance is None else ElasticDrives(part, spec.compliance)
        if elastic is not None:
            for joint, motor in zip(elastic.joints, elastic.motors, strict=True):
                self._E[motor, joint] = 1.0
                self._D_measured[joint] = np.eye(own)[motor]
        self._motor_from_joint = np.ascontiguousarray(arm.motors.coupling.T)
        self._joint_from_motor = np.linalg.inv(self._motor_from_joint)
        self._set_equations(gravity)
        self._forces = ArmForces(spec, part, self._equations, self._D, elastic)
        self._contacts = InstrumentContacts(part)
        self._wrenches = AppliedWrenches(part)
        self._gripper = 0.0
        self._tip = part.site("tip")
        self._insertion = part.body("insertion") if arm.has_rcm else None
        self._sites = [tuple(part.site(f"{p.name}_{side}") for side in "ab") for p in arm.loops]
        self._pair_margin = self.model.pair_margin[part.pairs].copy()
        self._brakes = Brakes(part)
        self._acts = self._forces.acts

    def _set_equations(self, gravity: Array) -> None:
        """The equations with gravity (3,) in base axes [m/s^2]."""
        self.gravity_vector = gravity
        self._equations = Mechanism(self.arm, self.parameters, counterweight=self.counterweight, gravity=gravity)

    def _set_gravity(self, gravity: Array) -> None:
        """Another gravity (3,) in base axes [m/s^2]: the base was turned."""
        self._set_equations(gravity)
        self._forces.take(self._equations)

    # -- state ---------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of independent joints."""
        return self.arm.n

    @property
    def mechanism(self) -> Mechanism:
        """Equations with the parameters, instrument and gravity of this arm; for the thread that steps it."""
        return self._equations

    @property
    def timestep(self) -> float:
        """[s]."""
        return float(self.model.opt.timestep)

    @property
    def time(self) -> float:
        """[s] since the last reset."""
        return float(self.data.time)

    @property
    def q(self) -> Array:
        """Joint positions (n,) at `time` [rad, m]."""
        return self._D.dot(self._qpos)

    @property
    def dq(self) -> Array:
        """Joint velocities (n,) at `time` [rad/s, m/s]."""
        return self._D.dot(self._qvel)

    @property
    def measured_q(self) -> Array:
        """Joint positions (n,) as the encoders have them: `q` unless drives are elastic [rad, m]."""
        return self._D_measured.dot(self._qpos)

    @property
    def measured_dq(self) -> Array:
        """Joint velocities (n,) as the encoders have them [rad/s, m/s]."""
        return self._D_measured.dot(self._qvel)

    @property
    def ddq(self) -> Array:
        """Joint accelerations (n,) at the start of the step just taken [rad/s^2, m/s^2]."""
        return self._D.dot(self._engine.qacc[self._part.v])

    @property
    def tau(self) -> Array:
        """Joint efforts (n,) that acted in the step just taken [N m, N]."""
        return self._joint_from_motor.dot(self._ctrl)

    @property
    def hysteresis(self) -> Array:
        """State z (k,) of every Dahl element, in the order of the drives, each in [-1, 1]. Set it to start from it.

        `reset` relaxes them all to 0. Empty where no friction has memory.
        """
        memory = self._forces.hysteresis
        return np.zeros(0) if memory is None else memory.states(self._qpos)

    @hysteresis.setter
    def hysteresis(self, z: ArrayLike) -> None:
        memory = self._forces.hysteresis
        if memory is None:
            raise TrocarError(f"no friction of this {self.arm.name} has memory")
        memory.set_states(z, self._qpos)

    @property
    def tree_positions(self) -> dict[str, float]:
        """Position of every link's joint, passive ones included [rad, m]."""
        return {body.name: float(self._qpos[i]) for i, body in enumerate(self.arm.bodies)}

    @property
    def brakes(self) -> bool:
        """Whether the brakes are engaged. Set it to engage or release them; an arm without brakes refuses.

        Engaged, they hold their joints where these are, whatever the load: how much a real one bears is not published.
        Efforts go on acting. `reset` releases them.
        """
        return self._brakes.engaged

    @brakes.setter
    def brakes(self, engaged: bool) -> None:
        if not self._brakes:
            raise TrocarError(f"{self.arm.name} has no brakes")
        if engaged:
            self._brakes.engage(self._qpos)
        else:
            self._brakes.release()

    @property
    def gripper(self) -> float:
        """Opening of a master's gripper [rad]: the surgeon's fingers set it, no motor does. Other arms refuse."""
        return self._gripper_checked(self._gripper)

    @gripper.setter
    def gripper(self, opening: float) -> None:
        self._gripper = self._gripper_checked(float(opening))

    def _gripper_checked(self, opening: float) -> float:
        if self.arm.gripper is None:
            raise TrocarError(f"{self.arm.name} has no gripper; an instrument's jaw is the last joint of q")
        lower, upper = self.arm.gripper
        if not lower <= opening <= upper:
            raise TrocarError(f"the gripper opens from {lower:g} to {upper:.4g} rad, got {opening!r}")
        return opening

    def place(self, q: ArrayLike, dq: ArrayLike | None = None) -> None:
        """Set joint positions directly, without dynamics and without resetting time (kinematic mode).

        Fingers put into each other (jaw below 0) pass through each other until they are placed apart.
        """
        self._put(self._state(q, "q"), np.zeros(self.n) if dq is None else self._state(dq, "dq"))
        self._engine.forward()

    def _put(self, q: Array, dq: Array) -> None:
        """Every link where the closed mechanism has it."""
        overlapping = "jaw" in self.arm.joint_names and q[self.arm.joint_names.index("jaw")] < 0
        if self._part.pairs:
            self.model.pair_margin[self._part.pairs] = -1.0 if overlapping else self._pair_margin
        self._qpos[:] = self._E @ q
        self._brakes.place(self._qpos)
        self._qvel[:] = self._E @ dq
        residual = self._equations.loop_residual(q)
        if residual.max() > 1e-9:
            loop = self.arm.loops[int(residual.argmax())]
            raise TrocarError(f"loop {loop.name} is open by {residual.max():.3g} m at q = {q}")
        self._engine.rest()
        self._forces.place(self._qpos)

    def _within_limits(self, q: ArrayLike) -> Array:
        """Joint positions (n,), checked to be within the limits."""
        q = self._state(q, "q")
        low, high = self.arm.lower - LIMIT_TOLERANCE, self.arm.upper + LIMIT_TOLERANCE
        outside = np.flatnonzero((q < low) | (q > high))
        if outside.size:
            j = outside[0]
            joint = self.arm.joints[j]
            raise TrocarError(f"joint {j + 1} ({joint.name}) violates {joint.lower:g} <= {q[j]:.6g} <= {joint.upper:g}")
        return q

    def _start(self, q: Array, dq: Array) -> None:
        """Forget the past and stand at q, in data that were reset."""
        self._wrenches.clear()
        self._forces.reset()
        self._applied[:] = self._forces.offset
        self._put(q, dq)

    @property
    def _memory(self) -> Memory:
        """What decides the future beside MuJoCo's state."""
        return Memory(
            wrenches=self._wrenches.memory,
            held=self._brakes.held,
            forces=self._forces.memory,
        )

    @_memory.setter
    def _memory(self, memory: Memory) -> None:
        self._brakes.held = memory.held
        self._wrenches.memory = memory.wrenches
        self._forces.recall(memory.forces, self._qpos)

    # -- what a step needs ---------------------------------------------------------------------------------------

    def _command(self, tau: ArrayLike) -> None:
        """Joint efforts tau (n,) [N m, N] to the motors, and all else that acts, for the step about to be taken."""
        ctrl = self._ctrl
        try:
            self._motor_from_joint.dot(tau, ctrl)  # straight into data.ctrl
        except RuntimeWarning:  # 0 times infinity, where warnings are errors
            ctrl[:] = np.nan
        except (TypeError, ValueError):
            given = getattr(tau, "shape", None) or tau
            raise TrocarError(f"tau of {self.arm.name} has {self.n} values [N m, N], got {given!r}") from None
        if not math.isfinite(ctrl.dot(ctrl)):
            ctrl[:] = 0.0
            raise TrocarError(f"tau is not finite: {tau!r}")
        if self.motor_limits is not None:
            np.clip(ctrl, -self.motor_limits, self.motor_limits, out=ctrl)
        if self._acts or self._wrenches:
            self._act()

    def _act(self) -> None:
        """Wrenches, forces that depend on the state, and friction that varies."""
        if self._wrenches:
            self._wrenches.act()
        self._forces.act(self._qpos, self._qvel, self._applied)

    def _act_ahead(self) -> bool:
        """Friction with memory half a step ahead, for a Runge-Kutta step; whether there is any."""
        return self._forces.act_ahead(self._qvel, self._applied)

    # -- what the mechanism does -----------------------------------------------------------------------------------

    def tip_pose(self) -> Array:
        """Tip pose (4, 4) in the base, of the simulated closed chain."""
        self._engine.update()
        return self._part.in_base(self.data.site_xmat[self._tip], self.data.site_xpos[self._tip])

    def body_pose(self, body: str) -> Array:
        """Pose (4, 4) of a link in the base, of the simulated closed chain."""
        names = [b.name for b in self.arm.bodies]
        if body not in names:
            raise UnknownName(f"body of {self.arm.name}", body, names)
        self._engine.update()
        index = self._part.body(body)
        return self._part.in_base(self.data.xmat[index], self.data.xpos[index])

    def rcm_error(self) -> float:
        """Distance of the insertion axis from the remote centre of motion [m]."""
        if not self.arm.has_rcm:
            raise TrocarError(f"{self.arm.name} has no remote centre of motion")
        self._engine.update()
        x, y, z = (self.data.xpos[self._insertion] - self.data.xpos[self._part.base]).tolist()
        R = self.data.xmat[self._insertion].tolist()
        a, b, c = R[2], R[5], R[8]  # the insertion axis; |axis x position| without numpy's overhead on three numbers
        return math.hypot(b * z - c * y, c * x - a * z, a * y - b * x)

    def loop_error(self) -> float:
        """Largest gap of the loop closures [m]."""
        self._engine.update()
        places = self.data.site_xpos
        return max(math.dist(places[a].tolist(), places[b].tolist()) for a, b in self._sites)

    def apply_wrench(self, wrench: ArrayLike, body: str = "tip") -> None:
        """Force [N] and moment [N m] (6,), base axes, at the origin of a body; kept until changed (zeros end it)."""
        wrench = np.asarray(wrench, dtype=float)
        if wrench.shape != (6,) or not np.isfinite(wrench).all():
            raise TrocarError(f"a wrench is six finite numbers, force then moment, got {wrench!r}")
        names = [b.name for b in self.arm.bodies]
        if body != "tip" and body not in names:
            raise UnknownName(f"body of {self.arm.name}", body, ("tip", *names))
        self._wrenches.set(self.arm.tip_body if body == "tip" else body, wrench)

    def loop_forces(self) -> dict[str, Array]:
        """Force (3,) [N], base axes, that each loop closure puts on its second body, in the step just taken.

        In the plane of the linkage: the component along the pitch axis is not determined by a planar mechanism.
        """
        return constraint_forces.loop_forces(self._part)

    def cannula_wrench(self) -> Array:
        """Wrench (6,) [N, N m] of the end link on the instrument's carriage through its guide, in the step just taken.

        Base axes, moment about the remote centre of motion. The motor's and the counterweight's pull along the guide
        is part of it.
        """
        if not self.arm.has_rcm:
            raise TrocarError(f"{self.arm.name} has no remote centre of motion")
        return constraint_forces.guide_wrench(self._part)

    def contact_wrench(self, about: str | ArrayLike = "tip", of: str | None = None) -> Array:
        """Wrench (6,) [N, N m] of all objects, or of the one named, on the instrument, in the step just taken.

        Base axes, moment about the "tip", the "trocar" (the remote centre) or a point (3,) of the base [m]. It is what
        a sensor between the instrument and what it touches would give: contacts of shaft, wrist and jaws are in it,
        those of the rest of the arm are not.
        """
        if of is not None and of not in self.objects:
            raise UnknownName("object", of, self.objects)
        if isinstance(about, str) and about == "tip":
            point = self.tip_pose()[:3, 3]
        elif isinstance(about, str) and about == "trocar" and self.arm.has_rcm:
            point = np.zeros(3)
        elif isinstance(about, str) or np.shape(about) != (3,):
            raise TrocarError(f'about is "tip", "trocar" for arms with a remote centre, or a point (3,), got {about!r}')
        else:
            point = np.asarray(about, dtype=float)
        origin = self.data.xpos[self._part.base]
        found = self._contacts.wrench(
            origin + self._part.to_world(point), None if of is None else self.objects[of].body
        )
        return np.concatenate([self._part.to_base(found[:3]), self._part.to_base(found[3:])])

    def contact_effort(self) -> Array:
        """Joint efforts (n,) [N m, N] that all contacts of objects with the arm amount to, in the step just taken."""
        return self._contacts.effort()

    def friction_effort(self) -> Array:
        """Joint efforts (n,) [N m, N] that friction, stiction included, and offsets take, in the step just taken."""
        return constraint_forces.friction_effort(self._part, self._forces.friction(self._qpos, self._qvel))

    def port_wrench(self) -> Array:
        """Wrench (6,) [N, N m] of the body wall on the cannula in the step just taken, about the remote centre."""
        return self._with_port().wrench.copy()

    def seal_friction(self) -> Array:
        """Force along the shaft [N], positive into the body, and torque about it [N m], of the seal on it."""
        return self._with_port().seal()

    def _with_port(self) -> PortForces:
        if self._forces.port is None:
            raise TrocarError("this simulator has no port: Simulator(..., port=Port(...))")
        return self._forces.port

    def _state(self, values: ArrayLike, what: str) -> Array:
        return self._equations.checked_state(values, what)
