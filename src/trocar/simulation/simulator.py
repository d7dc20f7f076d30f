"""The engine: one arm as an explicit closed chain in MuJoCo, stepped by joint efforts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import gravity_vector
from trocar.arms.elastics import CableTorque
from trocar.errors import TrocarError, UnknownName
from trocar.mechanics import Mechanism
from trocar.mechanics.drives import check_dissipative
from trocar.mechanics.mechanism import load_set
from trocar.simulation import constraint_forces
from trocar.simulation.cables import CableForces
from trocar.simulation.compliance import Compliance, ElasticDrives
from trocar.simulation.contact import InstrumentContacts
from trocar.simulation.divergence import Diverged, save_states
from trocar.simulation.hysteresis import Hysteresis
from trocar.simulation.mirrored import MirroredCounterweight
from trocar.simulation.model import INTEGRATORS, Cable, build, lean
from trocar.simulation.surroundings import Object, PlacedObject, add_objects, set_stiffness
from trocar.simulation.trocar_port import Port, PortForces, add_seal
from trocar.simulation.varying_friction import VaryingFriction
from trocar.spatial import Array

LIMIT_TOLERANCE = 1e-3  # [rad, m]
# Constraints this much softer than MuJoCo's hardest would still be; smaller is stiffer. Measured: below 1e-2 dry
# friction and the implicit integrator no longer go together.
STIFFENING = {"fast": 1e-1, "exact": 1e-2, "discrete": 1e-1}
# An acceleration beyond this, squared and summed, is a simulation that has blown up [(rad/s^2)^2].
RUNAWAY = 1e18


@dataclass(frozen=True)
class Snapshot:
    """Everything that decides the future of a simulation."""

    state: Array
    tau: Array
    ddq: Array
    wrenches: dict[int, Array]
    memory: Any
    held: Array  # where the brakes hold, engaged or not
    hysteresis: tuple[Array, Array] | None = None


class Simulator:
    """Dynamics of one arm with its real mechanism, in MuJoCo.

    Args:
        name: arm. parameters: consistent set or parameter file; None for the arm's best.
        counterweight: False removes that body's mass and inertia and nothing else.
        friction: False leaves viscous and Coulomb friction, friction with memory and offsets out.
        timestep: [s].
        accuracy: "fast" (implicit, first order), "exact" (Runge-Kutta 4, loops 100 times stiffer, about 3.5 times
            the cost) or "discrete" (MuJoCo's integrator for models with soft bodies).
        transmission: how the counterweight follows the insertion: "rigid", a `Cable`, or "mirrored" (a PID makes it
            follow and its force acts on the tool, as in Ferro et al. 2022).
        compliance: elastic drives of yaw and pitch with motors of their own; `measured_q` is then the encoders'.
        objects: what the instrument can touch, such as a `Solid` or a `SoftSlab`; `objects` has them by name.
        port: body wall and seal around the instrument.
        contacts: False switches contact off. limits: joint limits as constraints.
        motor_limits: clamp efforts to what the motors can give.
        instrument, gravity, mounting, rotor_inertia, endoscope, added_mass: as for `load_mechanism`.

    Attributes:
        model, data: MuJoCo's. spec: what the model was compiled from, with all visual shapes (`model` has none).
    """

    def __init__(
        self,
        name: str,
        parameters: str | Path | None = None,
        counterweight: bool = True,
        friction: bool = True,
        timestep: float = 1e-3,
        *,
        accuracy: str = "fast",
        transmission: str | Cable = "rigid",
        compliance: Compliance | None = None,
        objects: Sequence[Object] = (),
        port: Port | None = None,
        contacts: bool = True,
        limits: bool = True,
        motor_limits: bool = False,
        instrument: str | Path | None = None,
        gravity: ArrayLike | None = None,
        mounting: float | None = None,
        rotor_inertia: float | None = None,
        endoscope: str | float | None = None,
        added_mass: float = 0.0,
    ) -> None:
        if accuracy not in INTEGRATORS:
            raise UnknownName("accuracy", accuracy, INTEGRATORS)
        if not (np.isfinite(timestep) and 0 < timestep <= 0.02):
            raise TrocarError(f"timestep must be in (0, 0.02] s, got {timestep!r}")
        if transmission not in ("rigid", "mirrored") and not isinstance(transmission, Cable):
            raise UnknownName("transmission", transmission, ("rigid", "mirrored", "Cable(stiffness=, damping=)"))
        arm, found = load_set(name, parameters, instrument, rotor_inertia, endoscope, added_mass)
        if found is None:
            raise TrocarError(f"{name} has no dynamic parameters to simulate yet")
        if not counterweight and arm.counterweight is None:
            raise TrocarError(f"{name} has no counterweight; leave counterweight out")
        if transmission != "rigid" and arm.counterweight is None:
            raise TrocarError(f"{name} has no counterweight for transmission={transmission!r}")
        if compliance is not None and arm.name != "PSM":
            raise TrocarError(f"drive compliance was measured on the Classic PSM, not on {name}")
        if port is not None and not arm.has_rcm:
            raise TrocarError(f"{name} has no remote centre of motion for a port to be near")
        self.arm, self.parameters, self.accuracy = arm, found, accuracy
        self.friction, self.counterweight, self.limits = friction, counterweight, limits
        self.gravity_vector = gravity_vector(arm, gravity, mounting)
        self.spec = build(
            arm,
            found,
            gravity=self.gravity_vector,
            timestep=timestep,
            accuracy=accuracy,
            friction=friction,
            limits=limits,
            counterweight=counterweight,
            transmission=transmission,
            compliance=compliance,
        )
        if port is not None:
            add_seal(self.spec, arm, port)
        add_objects(self.spec, arm, objects, accuracy)
        if not contacts:
            self.spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.model = lean(self.spec).compile()
        self.data = mujoco.MjData(self.model)
        _stiffen(self.model, STIFFENING[accuracy])
        set_stiffness(self.model, objects, arm.tip_body)
        self.motor_limits = arm.motors.effort if motor_limits else None
        # the model's joints are those of the tree, then the motors of elastic drives, then those of objects
        motors = 0 if compliance is None else len(compliance.compliance)
        self._own = len(arm.bodies) + motors
        # attributes of MjData cost a look-up each; these are views that stay valid
        self._ctrl, self._qacc_view = self.data.ctrl, self.data.qacc
        self._qpos, self._qvel = self.data.qpos[: self._own], self.data.qvel[: self._own]
        self._applied = self.data.qfrc_applied[: self._own]
        self._equations = Mechanism(arm, found, counterweight=counterweight, gravity=self.gravity_vector)
        self._D, self._E = np.pad(arm.D, ((0, 0), (0, motors))), np.pad(arm.E, ((0, motors), (0, 0)))
        self._D_measured = self._D.copy()
        self._elastic = None if compliance is None else ElasticDrives(arm, self.model, compliance)
        if self._elastic is not None:
            for joint, motor in zip(self._elastic.joints, self._elastic.motors, strict=True):
                self._E[motor, joint] = 1.0
                self._D_measured[joint] = np.eye(self._own)[motor]
        self._motor_from_joint = np.ascontiguousarray(arm.motors.coupling.T)
        self._joint_from_motor = np.linalg.inv(self._motor_from_joint)
        drives = self._equations.drives
        self._offset = -(drives.Fo @ drives.A) @ self._D if friction else np.zeros(self._own)
        self._hysteresis = Hysteresis(self._equations, self._D, timestep) if friction and drives.owner.size else None
        varying = friction and (drives.mu.any() or drives.Fx.any())
        self._varying = VaryingFriction(self._equations, self.model, self._D) if varying else None
        if friction:
            check_dissipative(drives, arm)
        self._mirror = MirroredCounterweight(arm, self.model, timestep) if transmission == "mirrored" else None
        # generalised forces on the arm's joints that depend on the state, beside the constant offset
        self._forces: list[Callable[[Array, Array], Array]] = []
        # springs are in the model; the torque of cables is a force from here
        cables = [element for element in found.elastics if isinstance(element, CableTorque)]
        if cables:
            self._forces.append(CableForces(arm, self.model, cables).force)
        if self._mirror is not None:
            self._forces.append(self._mirror.force)
        if self._elastic is not None:
            self._forces.append(self._elastic.force)
        if self._hysteresis is not None:
            self._forces.append(self._hysteresis.force)
        self._port = None if port is None else PortForces(arm, port, self.model, self.data)
        if self._port is not None:
            self._forces.append(self._port.force)
        self.objects = {thing.name: PlacedObject(thing, self.model, self.data) for thing in objects}
        self._contacts = InstrumentContacts(arm, self.model, self.data)
        self._wrenches: dict[int, Array] = {}
        self._gripper = 0.0
        self._insertion = self.model.body("insertion").id if arm.has_rcm else None
        self._sites = [tuple(self.model.site(f"{p.name}_{side}").id for side in "ab") for p in arm.loops]
        self._pair_margin = self.model.pair_margin.copy()
        self._brakes = [self.model.equality(f"brake_{joint}").id for joint in arm.brakes]
        self._braked = [self.model.joint(arm.driven[joint]).qposadr[0] for joint in arm.brakes]
        self.reset(np.array(arm.home))

    # -- state ---------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of independent joints."""
        return self.arm.n

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
        return self._D.dot(self._qacc[: self._own])

    @property
    def tau(self) -> Array:
        """Joint efforts (n,) that acted in the step just taken [N m, N]."""
        return self._joint_from_motor.dot(self._ctrl)

    @property
    def hysteresis(self) -> Array:
        """State z (k,) of every Dahl element, in the order of the drives, each in [-1, 1]. Set it to start from it.

        `reset` relaxes them all to 0. Empty where no friction has memory.
        """
        return np.zeros(0) if self._hysteresis is None else self._hysteresis.states(self._qpos)

    @hysteresis.setter
    def hysteresis(self, z: ArrayLike) -> None:
        if self._hysteresis is None:
            raise TrocarError(f"no friction of this {self.arm.name} has memory")
        self._hysteresis.set_states(z, self._qpos)

    @property
    def tree_positions(self) -> dict[str, float]:
        """Position of every link's joint, passive ones included [rad, m]."""
        return {body.name: float(self.data.qpos[i]) for i, body in enumerate(self.arm.bodies)}

    @property
    def brakes(self) -> bool:
        """Whether the brakes are engaged. Set it to engage or release them; an arm without brakes refuses.

        Engaged, they hold their joints where these are, whatever the load: how much a real one bears is not published.
        Efforts go on acting. `reset` releases them.
        """
        return bool(self._brakes) and bool(self.data.eq_active[self._brakes].all())

    @brakes.setter
    def brakes(self, engaged: bool) -> None:
        if not self._brakes:
            raise TrocarError(f"{self.arm.name} has no brakes")
        if engaged and not self.brakes:
            self.model.eq_data[self._brakes, 0] = self._qpos[self._braked]
        self.data.eq_active[self._brakes] = engaged

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

    def reset(self, q: ArrayLike, dq: ArrayLike | None = None) -> None:
        """Start at q (n,) with rates dq (n,), time 0; every link is put where the closed mechanism has it."""
        q, dq = self._state(q, "q"), np.zeros(self.n) if dq is None else self._state(dq, "dq")
        low, high = self.arm.lower - LIMIT_TOLERANCE, self.arm.upper + LIMIT_TOLERANCE
        outside = np.flatnonzero((q < low) | (q > high))
        if outside.size:
            j = outside[0]
            joint = self.arm.joints[j]
            raise TrocarError(f"joint {j + 1} ({joint.name}) violates {joint.lower:g} <= {q[j]:.6g} <= {joint.upper:g}")
        mujoco.mj_resetData(self.model, self.data)
        self._wrenches.clear()
        if self._mirror is not None:
            self._mirror.reset()
        if self._port is not None:
            self._port.wrench = np.zeros(6)
        if self._hysteresis is not None:
            self._hysteresis.reset()
        self._applied[:] = self._offset
        self.place(q, dq)

    def place(self, q: ArrayLike, dq: ArrayLike | None = None) -> None:
        """Set joint positions directly, without dynamics and without resetting time (kinematic mode).

        Fingers put into each other (jaw below 0) pass through each other until they are placed apart.
        """
        q = self._state(q, "q")
        overlapping = "jaw" in self.arm.joint_names and q[self.arm.joint_names.index("jaw")] < 0
        self.model.pair_margin[:] = -1.0 if overlapping else self._pair_margin
        self._qpos[:] = self._E @ q
        self.model.eq_data[self._brakes, 0] = self._qpos[self._braked]
        self._qvel[:] = 0.0 if dq is None else self._E @ self._state(dq, "dq")
        residual = self._equations.loop_residual(q)
        if residual.max() > 1e-9:
            loop = self.arm.loops[int(residual.argmax())]
            raise TrocarError(f"loop {loop.name} is open by {residual.max():.3g} m at q = {q}")
        self._qacc = np.zeros(self.model.nv)
        if self._hysteresis is not None:
            self._hysteresis.place(self._qpos)
        if self._varying is not None:
            self._varying.update(self._qpos)
        mujoco.mj_forward(self.model, self.data)
        self._posed = True

    def snapshot(self) -> Snapshot:
        """A copy of the whole state, to come back to with `restore`."""
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data, state, kind)
        memory = None if self._mirror is None else self._mirror.memory
        wrenches = {body: wrench.copy() for body, wrench in self._wrenches.items()}
        held = self.model.eq_data[self._brakes, 0]
        hysteresis = None if self._hysteresis is None else self._hysteresis.memory
        return Snapshot(state, self.data.ctrl.copy(), self._qacc.copy(), wrenches, memory, held, hysteresis)

    def restore(self, snapshot: Snapshot) -> None:
        """Back to a snapshot of this simulator: what follows is the same to the last bit."""
        mujoco.mj_setState(self.model, self.data, snapshot.state, mujoco.mjtState.mjSTATE_INTEGRATION)
        self.data.ctrl[:], self._qacc = snapshot.tau, snapshot.ddq.copy()
        self.model.eq_data[self._brakes, 0] = snapshot.held
        self._wrenches = {body: wrench.copy() for body, wrench in snapshot.wrenches.items()}
        if self._mirror is not None:
            self._mirror.memory = snapshot.memory
        if self._hysteresis is not None and snapshot.hysteresis is not None:
            self._hysteresis.memory = snapshot.hysteresis
        if self._varying is not None:
            self._varying.update(self._qpos)
        mujoco.mj_forward(self.model, self.data)
        self._posed = True

    # -- stepping ------------------------------------------------------------------------------------------------

    def step(self, tau: ArrayLike) -> None:
        """Advance one timestep under joint efforts tau (n,) [N m, N], held constant over the step."""
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
        model, data = self.model, self.data
        if self.motor_limits is not None:
            np.clip(ctrl, -self.motor_limits, self.motor_limits, out=ctrl)
        if self._wrenches:
            self._load()
        if self._forces:
            self._applied[:] = self._offset
            for force in self._forces:
                self._applied += force(self._qpos, self._qvel)[: self._own]
        if self._varying is not None:
            self._varying.update(self._qpos)
        if self.accuracy == "exact":
            mujoco.mj_forward(model, data)
            self._qacc = data.qacc.copy()
            if self._hysteresis is not None:
                self._applied += self._hysteresis.force_ahead(self._qvel)
                mujoco.mj_forward(model, data)
            mujoco.mj_RungeKutta(model, data, 4)
        else:
            mujoco.mj_step(model, data)
            self._qacc = self._qacc_view
        self._posed = False
        if not self._qacc.dot(self._qacc) < RUNAWAY:
            self._raise_diverged()

    # -- what the mechanism does -----------------------------------------------------------------------------------

    def tip_pose(self) -> Array:
        """Tip pose (4, 4) in the base, of the simulated closed chain."""
        self._update()
        site = self.data.site("tip")
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = site.xmat.reshape(3, 3), site.xpos
        return T

    def body_pose(self, body: str) -> Array:
        """Pose (4, 4) of a link in the base, of the simulated closed chain."""
        names = [b.name for b in self.arm.bodies]
        if body not in names:
            raise UnknownName(f"body of {self.arm.name}", body, names)
        self._update()
        view = self.data.body(body)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = view.xmat.reshape(3, 3), view.xpos
        return T

    def rcm_error(self) -> float:
        """Distance of the insertion axis from the remote centre of motion [m]."""
        if not self.arm.has_rcm:
            raise TrocarError(f"{self.arm.name} has no remote centre of motion")
        self._update()
        x, y, z = self.data.xpos[self._insertion].tolist()
        R = self.data.xmat[self._insertion].tolist()
        a, b, c = R[2], R[5], R[8]  # the insertion axis; |axis x position| without numpy's overhead on three numbers
        return math.hypot(b * z - c * y, c * x - a * z, a * y - b * x)

    def loop_error(self) -> float:
        """Largest gap of the loop closures [m]."""
        self._update()
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
        index = self.model.body(self.arm.tip_body if body == "tip" else body).id
        if wrench.any():
            self._wrenches[index] = wrench.copy()
        else:
            self._wrenches.pop(index, None)
            self.data.xfrc_applied[index] = 0.0

    def loop_forces(self) -> dict[str, Array]:
        """Force (3,) [N], base axes, that each loop closure puts on its second body, in the step just taken.

        In the plane of the linkage: the component along the pitch axis is not determined by a planar mechanism.
        """
        return constraint_forces.loop_forces(self.arm, self.model, self.data)

    def cannula_wrench(self) -> Array:
        """Wrench (6,) [N, N m] of the end link on the instrument's carriage through its guide, in the step just taken.

        Base axes, moment about the remote centre of motion. The motor's and the counterweight's pull along the guide
        is part of it.
        """
        if not self.arm.has_rcm:
            raise TrocarError(f"{self.arm.name} has no remote centre of motion")
        return constraint_forces.guide_wrench(self.model, self.data)

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
        return self._contacts.wrench(point, None if of is None else self.objects[of].body)

    def contact_effort(self) -> Array:
        """Joint efforts (n,) [N m, N] that all contacts of objects with the arm amount to, in the step just taken."""
        return self._contacts.effort()

    def friction_effort(self) -> Array:
        """Joint efforts (n,) [N m, N] that friction, stiction included, and offsets take, in the step just taken."""
        applied = self._offset
        if self._hysteresis is not None:
            applied = applied + self._hysteresis.force(self._qpos, self._qvel)
        return constraint_forces.friction_effort(self.arm, self.model, self.data, applied)

    def port_wrench(self) -> Array:
        """Wrench (6,) [N, N m] of the body wall on the cannula in the step just taken, about the remote centre."""
        return self._with_port().wrench.copy()

    def seal_friction(self) -> Array:
        """Force along the shaft [N], positive into the body, and torque about it [N m], of the seal on it."""
        return self._with_port().seal()

    def _with_port(self) -> PortForces:
        if self._port is None:
            raise TrocarError("this simulator has no port: Simulator(..., port=Port(...))")
        return self._port

    def _load(self) -> None:
        """Wrenches at body origins as MuJoCo wants them, about the centre of mass."""
        self._update()
        for index, wrench in self._wrenches.items():
            arm = self.data.xpos[index] - self.data.xipos[index]
            self.data.xfrc_applied[index, :3] = wrench[:3]
            self.data.xfrc_applied[index, 3:] = wrench[3:] + np.cross(arm, wrench[:3])

    def _update(self) -> None:
        """Bring poses up to the state: after a step MuJoCo's are those at its start."""
        if not self._posed:
            mujoco.mj_kinematics(self.model, self.data)
            self._posed = True

    def _state(self, values: ArrayLike, what: str) -> Array:
        return self._equations.checked_state(values, what)

    def _raise_diverged(self) -> None:
        path = save_states(self)
        raise Diverged(
            f"the simulation of {self.arm.name} diverged at t = {self.time:.4f} s; the last state is in {path}. "
            "Efforts too large for the step, or a controller that is unstable at it, are the usual causes"
        )


def _stiffen(model: mujoco.MjModel, scale: float) -> None:
    """Make constraints stiffer than MuJoCo's impedance allows, by scaling the inverse weights they are relative to."""
    model.body_invweight0[:] *= scale
    model.dof_invweight0[:] *= scale
    model.tendon_invweight0[:] *= scale
