"""State-dependent joint forces applied outside the MuJoCo model: cables, elastic drives, varying friction, memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.arms.parameters import CableTorque
from trocar.errors import TrocarError
from trocar.laws.coulomb import coulomb_friction
from trocar.laws.dahl import dahl_effort, dahl_state
from trocar.laws.law import ScalarLaw
from trocar.laws.sources.function_source import on_arrays
from trocar.mechanics import Mechanism
from trocar.mechanics.cable_drives import at_cables
from trocar.mechanics.drives import cable_effort, check_dissipative
from trocar.mechanics.static_friction import RESOLVED, presliding_frequency
from trocar.simulation.engine import ArmSlice
from trocar.simulation.forces.compiled import TERMS, Bound, compiled, sparse
from trocar.simulation.forces.environment import AppliedWrenches, PortForces
from trocar.simulation.modelling.arm_model import drive_element
from trocar.simulation.modelling.cable_model import MOTOR
from trocar.simulation.scene_arm import Compliance, Mirror, SceneArm
from trocar.spatial import Array

_STATE, _EFFORT, _COULOMB = (on_arrays(ScalarLaw(law)) for law in (dahl_state, dahl_effort, coulomb_friction))


class Hysteresis:
    """The states z of all Dahl elements, driven by the path of the joints.

    A step needs the force before its path is known, so the force is held over the step and z then follows the
    displacement exactly. With the force at the start of the step, the local stiffness 2 F / delta conserves energy with
    an integrator that updates the velocity first (fast, discrete) up to a frequency of 2 / timestep, but gains energy
    with Runge-Kutta; with the force half a step ahead it conserves energy there too. See docs/dynamics.md.

    Args:
        equations: of the arm. D: (n, nv), q = D qpos. timestep: [s].
        kept: elements that act. qpos: (nv,), the view of MuJoCo's data that all methods get.

    Attributes:
        B: (k, nv), positions s = B qpos along which the k elements act. F, slope, rate: (k,), see `trocar.laws.dahl`.
        compiled: moves the states in C; None if NumPy does.
    """

    def __init__(self, equations: Mechanism, D: Array, timestep: float, kept: Array, qpos: Array) -> None:
        check_resolved(equations, timestep)
        drives = equations.drives
        self.B, self.F, self.slope = (drives.A @ D)[drives.owner[kept]], drives.F[kept], drives.slope[kept]
        self.rate = -1.0 / drives.delta[kept]
        self._pull, self._sloped = np.ascontiguousarray(-self.B.T), bool(self.slope.any())
        self._half = 0.5 * timestep
        self._z, self._s, self._path = (np.zeros(len(self.F)) for _ in range(3))
        parameters = {"F": self.F, "slope": self.slope, "rate": self.rate}
        self.compiled = compiled(
            "elements", **parameters, qpos=qpos, path=sparse(self.B), z=self._z, s=self._s, count=len(self.F)
        )

    def reset(self) -> None:
        """Relax all elements to zero effort."""
        self._z[:] = 0.0

    def place(self, qpos: Array) -> None:
        """Note that the joints were placed here without motion: z is kept."""
        self.B.dot(qpos, self._s)

    def states(self, qpos: Array) -> Array:
        """z (k,) at the joints' positions."""
        self._follow(qpos)
        return self._z.copy()

    def set_states(self, z: ArrayLike, qpos: Array) -> None:
        """Start from z (k,), in the order of the drives."""
        z = np.asarray(z, dtype=float)
        if z.shape not in ((), self._z.shape) or not (np.abs(z) <= 1.0).all():
            raise TrocarError(f"hysteresis must be {len(self._z)} states, each in [-1, 1], got {z!r}")
        self._z[:] = z
        self.place(qpos)

    @property
    def memory(self) -> tuple[Array, Array]:
        """State of all elements, for a snapshot. Assign it to restore the snapshot."""
        return self._z.copy(), self._s.copy()

    @memory.setter
    def memory(self, memory: tuple[Array, Array]) -> None:
        self._z[:], self._s[:] = memory

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force (nv,) for the next step."""
        self._follow(qpos)
        return self._effort(self._z, self._s)

    def force_ahead(self, qvel: Array) -> Array:
        """Change of `force` (nv,) over half a step ahead, to add to it for a Runge-Kutta step."""
        path = self._half * self.B.dot(qvel)
        z = _STATE(self._z, path, self.rate)
        return self._effort(z, self._s + path) - self._effort(self._z, self._s)

    def _follow(self, qpos: Array) -> None:
        if self.compiled is not None:
            self.compiled.run()
            return
        path = self._path
        self.B.dot(qpos, path)
        path -= self._s
        self._s += path
        self._z[:] = _STATE(self._z, path, self.rate)

    def _effort(self, z: Array, s: Array) -> Array:
        effort = _EFFORT(z, s, self.F, self.slope) if self._sloped else self.F * z
        return np.asarray(self._pull.dot(effort))


def check_resolved(equations: Mechanism, timestep: float) -> None:
    """Raise an error for elements with a delta too short for the timestep."""
    drives = equations.drives
    fastest, e = presliding_frequency(equations)
    if fastest * timestep > RESOLVED:
        raise TrocarError(
            f"hysteretic friction is too stiff for a timestep of {timestep:.3g} s: it vibrates at {fastest:.4g} "
            f"rad/s, mostly drive '{drives.drives[drives.owner[e]].name}' with delta = {drives.delta[e]:.3g}; use "
            f"{0.99 * RESOLVED / fastest:.2g} s or less, or replace it by Coulomb friction (Fc)"
        )


class VaryingFriction:
    """Fc + Fx s + mu |g_s| of every drive, as dry friction of the joint or tendon that represents it.

    It uses the engine's dry friction, which sticks and slides like constant Coulomb friction. The load at the start
    of the step is that of the equations, less applied wrenches, the port, and the contacts and stops of the last step.

    Attributes:
        touched: efforts (n,) of contacts and stops in a restored snapshot, until the next step; otherwise None.
    """

    def __init__(
        self, equations: Mechanism, arm_slice: ArmSlice, D: Array, wrenches: AppliedWrenches, port: PortForces | None
    ) -> None:
        self._equations, self._D, drives = equations, D, equations.drives
        self._slice, self._wrenches, self._port = arm_slice, wrenches.by_place, port
        self._E, self.touched = equations.arm.E, None  # type: Array, Array | None
        model = arm_slice.engine.model
        elements = [drive_element(equations.arm, drive) for drive in drives.drives]
        on = [(element.on_tendon, element.name) for element in elements]
        varying = sorted({on[i] for i in np.flatnonzero((drives.Fx != 0.0) | (drives.mu != 0.0))})
        places = [
            model.tendon_frictionloss[arm_slice.tendon(name) :][:1]
            if on_tendon
            else model.dof_frictionloss[arm_slice.v.start + arm_slice.dof(name) :][:1]
            for on_tendon, name in varying
        ]
        # drives on the same joint share its friction
        sharing = np.array([i for i, place in enumerate(on) if place in varying], dtype=int)
        place = np.array([varying.index(on[i]) for i in sharing], dtype=int)
        share = np.array([abs(elements[i].weight) for i in sharing])
        self._places, self._share = places, share * (np.arange(len(places))[:, None] == place)
        self._along, self._L = drives.A[sharing] @ D, drives.L[sharing]
        self._gravity = equations.projected_gravity(self._L, D)
        self._terms = {"Fc": drives.Fc[sharing], "Fx": drives.Fx[sharing], "mu": drives.mu[sharing]}
        self._loads, self._load = bool(drives.mu.any()), np.zeros(len(sharing))
        self._none = np.zeros(equations.n)
        self._none.setflags(write=False)
        self._generalised = np.zeros(model.nv)
        self._own = self._generalised[arm_slice.v][: len(self._E)]  # a view
        self._compiled = compiled(
            "friction",
            **self._terms,
            qpos=arm_slice.engine.data.qpos[arm_slice.q],
            load=self._load,
            along=sparse(self._along),
            share=share,
            place=place,
            loss=np.array([entry.ctypes.data for entry in places], dtype=np.uintp),
            drives=len(sharing),
            places=len(places),
        )

    def update(self, qpos: Array) -> None:
        """Set the friction of the next step."""
        if self._loads:
            self._load[:] = self._gravity(qpos)
            external = self.contact_effort()
            if self._wrenches:
                q, external = self._D.dot(qpos), external.copy()
                for place, applied in self._wrenches.items():
                    J = self._equations.jacobian(q, place)
                    external[: J.shape[1]] += J.T.dot(applied.wrench)
            if self._port is not None:
                external = external + self._E.T.dot(self._port.effort[: len(self._E)])
            if external is not self._none:
                self._load -= self._L.dot(external)
        if self._compiled is not None:
            self._compiled.run()
            return
        friction = _COULOMB(self._along.dot(qpos), self._load, **self._terms)
        for value, F in zip(self._places, self._share.dot(friction).tolist(), strict=True):
            value[0] = max(0.0, F)  # beyond its limits a joint can leave the range in which F is positive

    def contact_effort(self) -> Array:
        """Efforts (n,) of contacts and stops on the joints in the last step [N m, N]."""
        if self.touched is not None:
            return self.touched
        data = self._slice.engine.data
        first = data.ne + data.nf
        if data.nefc <= first:  # MuJoCo orders constraints: equalities, dry friction, stops, contacts
            return self._none
        force = data.efc_force.copy()
        force[:first] = 0.0
        mujoco.mj_mulJacTVec(self._slice.engine.model, data, self._generalised, force)
        return np.asarray(self._E.T.dot(self._own))


class CableForces:
    """Evaluates each cable at the driven body of its joint, in scalar arithmetic because it runs at every step.

    Attributes:
        terms: largest number of coefficients of a cable.
    """

    def __init__(self, arm_slice: ArmSlice, cables: Sequence[CableTorque]) -> None:
        arm = arm_slice.arm
        bodies = [arm.body(arm.driven[cable.joint]) for cable in cables]
        self._cables = [
            (arm_slice.dof(body.name), body.coupling[cable.joint], cable)
            for body, cable in zip(bodies, cables, strict=True)
        ]
        self.terms = max((len(cable.coefficients) for cable in cables), default=0)
        self._force = np.zeros(arm_slice.v.stop - arm_slice.v.start)

    @property
    def fields(self) -> dict[str, Any]:
        """Parameters of all cables, for `compiled`."""
        cables = [cable for *_, cable in self._cables]
        ranges = [(c.lower, c.upper, *(0.0,) * (TERMS - len(c.coefficients)), *c.coefficients) for c in cables]
        return {
            "dof": np.array([dof for dof, *_ in self._cables], dtype=int),
            "ratio": np.array([ratio for _, ratio, _ in self._cables], dtype=float),
            "amplitude": np.array([cable.amplitude for cable in cables], dtype=float),
            "range": np.array(ranges, dtype=float),
        }

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force on the arm's joints."""
        for dof, ratio, cable in self._cables:
            self._force[dof] = -cable.amplitude * cable_effort(cable, qpos.item(dof) / ratio) / ratio
        return self._force


class ElasticDrives:
    """Springs between motors and links: the encoder is on the motor, so the link deviates from the measured position.

    The deflection depends on the insertion q3, `q_link = q_motor - c(q3) (tau - tau_0(q3))` (`Arm.deflections`). With
    the twist x = q_motor - q_link, less the backlash in the first term, a spring is the gradient of

        V = x^2 / (2 c(q3)) + tau_0(q3) x,

    so it also pushes the insertion, by -dV/dq3: otherwise a closed path could do work.
    """

    def __init__(self, arm_slice: ArmSlice, compliance: Compliance) -> None:
        arm, self._compliance = arm_slice.arm, compliance
        self._motors = [arm_slice.dof(MOTOR + name) for name in compliance.deflections]
        self._links = [arm_slice.dof(arm.driven[name]) for name in compliance.deflections]
        self._insertion = arm_slice.dof(arm.driven["insertion"])
        self._polynomials = [
            (d.compliance, np.polyder(d.compliance), d.offset, np.polyder(d.offset))
            for d in compliance.deflections.values()
        ]
        self._force = np.zeros(arm_slice.v.stop - arm_slice.v.start)

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force on the arm's joints for the next step."""
        spec, q3, push = self._compliance, qpos[self._insertion], 0.0
        for polynomials, motor, link in zip(self._polynomials, self._motors, self._links, strict=True):
            c, dc, offset, d_offset = (np.polyval(p, q3) for p in polynomials)
            twist, slack = qpos[motor] - qpos[link], 0.5 * spec.backlash
            tension = (twist - min(max(twist, -slack), slack)) / c
            push += 0.5 * tension**2 * dc - d_offset * twist
            f = tension + offset + spec.damping * (qvel[motor] - qvel[link])
            self._force[motor], self._force[link] = -f, f
        self._force[self._insertion] = push
        return self._force


class Mirrored(NamedTuple):
    """State of the motor.

    Attributes:
        steps: number of steps taken. force: motor force of the last step [N].
        total: sum of the forces in this period [N]. passed: force on the tool [N].
        target: position that the script demanded in this period [m].
    """

    steps: int = 0
    force: float = 0.0
    total: float = 0.0
    passed: float = 0.0
    target: float = 0.0


class MirroredCounterweight:
    """A motor that follows the insertion, and whose force acts on the tool one simulation step later.

    At the start of each period the script reads the insertion and sets the motor's target, and applies the mean motor
    force of the last period to the tool. So the counterweight's inertia acts on the tool delayed and filtered: joint 3
    oscillates after every jump. The motor reaches its velocity under the load of the same physics step, as in an engine
    that solves for motors and loads together; a trial evaluation of the accelerations provides the load.
    """

    def __init__(self, arm_slice: ArmSlice, timestep: float, mirror: Mirror) -> None:
        arm = arm_slice.arm
        follower = str(arm.counterweight)
        leader = arm.transmissions[follower]
        self._follower, self._leader = (arm_slice.dof(name) for name in (follower, leader))
        self._ratio = arm.body(follower).coupling["insertion"] / arm.body(leader).coupling["insertion"]
        self._engine, self._dof = arm_slice.engine, arm_slice.v.start + self._follower
        self._applied = arm_slice.engine.data.qfrc_applied[arm_slice.v]
        mass = float(self._engine.model.dof_M0[self._dof])
        self._mass, self._timestep = mass, timestep
        self._reached = 1.0 / (1.0 + mass * mirror.cfm / mirror.physics)  # share of a velocity step, by the softness
        self._mirror, self._rate = mirror, mirror.gain / mirror.physics
        self._every = max(1, round(mirror.period / timestep))
        self._force = np.zeros(arm_slice.v.stop - arm_slice.v.start)
        self.memory = Mirrored()

    def reset(self) -> None:
        self.memory = Mirrored()

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force on the arm's joints for the next step."""
        i, j, ratio, last, mirror = self._follower, self._leader, self._ratio, self.memory, self._mirror
        begins = last.steps % self._every == 0
        passed = last.total / self._every if begins else last.passed
        target, total = (float(ratio * qpos[j]), 0.0) if begins else (last.target, last.total)
        if last.steps:
            tried = last.force
        else:
            tried = float(self._engine.data.qfrc_bias[self._dof])
            passed = tried if mirror.settled else 0.0
        load = tried - self._mass * self._acceleration(tried, passed)
        speed = min(max(self._rate * (target - qpos[i]), -mirror.speed), mirror.speed)
        force = self._reached * self._mass / self._timestep * (speed - float(qvel[i])) + load
        force = min(max(force, -mirror.force), mirror.force)
        self.memory = Mirrored(last.steps + 1, force, total + force, passed, target)
        self._force[i], self._force[j] = force, -ratio * passed
        return self._force

    def _acceleration(self, force: float, passed: float) -> float:
        """Acceleration [m/s^2] of the counterweight under a motor force, with the other forces of this step."""
        self._force[self._follower], self._force[self._leader] = force, -self._ratio * passed
        self._applied += self._force
        self._engine.forward()
        self._applied -= self._force
        return float(self._engine.data.qacc[self._dof])


class ArmForces:
    """Generalised forces of constant forces, cables, mirrored counterweight, elastic drives, Dahl friction and port.

    Friction that varies with position or load is set in the model instead, where it sticks and slides.

    Args:
        arm_slice: the arm's rows of the MuJoCo model. options: of the arm. equations: of the arm.
        D: (n, nv), q = D qpos. D_drives: the same, with the positions of the motors behind wrist cables.
        elastic: its elastic drives, if any. wrenches: applied to it.

    Attributes:
        constant: (nv,) forces that act in every state [N m, N]. acts: True if any force depends on the state.
        hysteresis: Dahl friction, or None. port: body wall and seal, or None.
        smooth: forces of cables, elastic drives and port, which depend on the state alone.
    """

    def __init__(
        self,
        arm_slice: ArmSlice,
        options: SceneArm,
        equations: Mechanism,
        D: Array,
        D_drives: Array,
        elastic: ElasticDrives | None,
        wrenches: AppliedWrenches,
    ) -> None:
        self._friction, self._slice, self._D, self._wrenches = options.friction, arm_slice, D, wrenches
        timestep = float(arm_slice.engine.model.opt.timestep)
        self._varying: VaryingFriction | None = None
        self.port = None if options.port is None else PortForces(arm_slice, options.port)
        self.take(equations)
        drives = equations.drives
        self.constant = -drives.constant @ D
        cables = options.cables is not None
        kept = np.array([not (cables and at_cables(equations.arm, drives.drives[i])) for i in drives.owner], dtype=bool)
        memory = options.friction and kept.any()
        qpos = arm_slice.engine.data.qpos[arm_slice.q]
        self.hysteresis = Hysteresis(equations, D_drives, timestep, kept, qpos) if memory else None
        if options.friction:
            check_dissipative(drives, equations.arm)
        motor = Mirror() if options.transmission == "mirrored" else options.transmission
        mirror = MirroredCounterweight(arm_slice, timestep, motor) if isinstance(motor, Mirror) else None
        # springs are in the model; cable torques are applied here
        torques = [element for element in equations.elastics.elements if isinstance(element, CableTorque)]
        pull = CableForces(arm_slice, torques) if torques else None
        smooth = pull, elastic, self.port
        self.smooth: list[CableForces | ElasticDrives | PortForces] = [s for s in smooth if s is not None]
        # the motor of the counterweight comes last: its load depends on all other forces
        sources = [s for s in (pull, self.hysteresis, elastic, self.port, mirror) if s is not None]
        self._compiled = self._in_c(pull)
        called = [s for s in sources if self._compiled is None or not isinstance(s, CableForces | Hysteresis)]
        self._forces: list[Callable[[Array, Array], Array]] = [source.force for source in called]
        self._remembering = [s for s in sources if isinstance(s, MirroredCounterweight | Hysteresis)]
        self.acts = bool(sources) or self._varying is not None

    def _in_c(self, pull: CableForces | None) -> Bound | None:
        """Constant forces, cables and Dahl friction in one call; None for NumPy, or if there is neither of the two."""
        if (pull is None and self.hysteresis is None) or (pull is not None and pull.terms > TERMS):
            return None
        rows, data = self._slice, self._slice.engine.data
        cables = (CableForces(rows, ()) if pull is None else pull).fields
        return compiled(
            "forces",
            **cables,
            elements=None if self.hysteresis is None else self.hysteresis.compiled,
            qpos=data.qpos[rows.q],
            applied=data.qfrc_applied[rows.v],
            constant=self.constant,
            dofs=len(self.constant),
            cables=len(cables["dof"]),
        )

    def take(self, equations: Mechanism) -> None:
        """The equations of the arm, replaced when gravity changes; load-dependent friction needs them."""
        drives = equations.drives
        if self._friction and (drives.mu.any() or drives.Fx.any()):
            self._varying = VaryingFriction(equations, self._slice, self._D, self._wrenches, self.port)

    def act(self, qpos: Array, qvel: Array, applied: Array) -> None:
        """Write forces to `applied` (nv,) and friction to the model, for the next step."""
        if self._compiled is not None:
            self._compiled.run()
        elif self._forces:
            applied[:] = self.constant
        for force in self._forces:
            applied += force(qpos, qvel)
        if self._varying is not None:
            self._varying.update(qpos)
            self._varying.touched = None

    def place(self, qpos: Array) -> None:
        """Note that the joints were placed here without motion."""
        if self.hysteresis is not None:
            self.hysteresis.place(qpos)
        if self._varying is not None:
            self._varying.update(qpos)

    def reset(self) -> None:
        """Clear all memory."""
        if self.port is not None:
            self.port.wrench = np.zeros(6)
        if self._varying is not None:
            self._varying.touched = None
        for force in self._remembering:
            force.reset()

    @property
    def memory(self) -> tuple[Any, ...]:
        """Load of the contacts, state of the mirrored counterweight and of Dahl friction, for a snapshot."""
        touched = None if self._varying is None else self._varying.contact_effort()
        return touched, *(force.memory for force in self._remembering)

    def recall(self, memory: tuple[Any, ...], qpos: Array) -> None:
        """Restore a memory, with the joints at qpos."""
        touched, *memories = memory
        for force, remembered in zip(self._remembering, memories, strict=True):
            force.memory = remembered
        if self._varying is not None:
            self._varying.touched = touched
            self._varying.update(qpos)
