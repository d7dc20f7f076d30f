"""One simulated arm: state, measurements, applied forces and mechanism."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError, UnknownName, check_known
from trocar.mechanics import Mechanism
from trocar.simulation.forces.environment import TIP, InstrumentContacts, PortForces
from trocar.simulation.forces.faults import Fault
from trocar.simulation.objects.scene_object import PlacedObject
from trocar.simulation.stepped_arm import SteppedArm
from trocar.spatial import Array


class SimulatedArm:
    """An arm with its real mechanism in a MuJoCo model. Poses and wrenches are in its base.

    It is an arm of a `Scene`, or a `Simulator`.

    Attributes:
        arm, parameters, options: its data, dynamic parameters and `SceneArm` options.
        model, data: MuJoCo's model and data of the whole simulation. objects: objects that can be touched, by name.
        accuracy: see `Scene`.
    """

    def __init__(self, stepped: SteppedArm, objects: Mapping[str, PlacedObject]) -> None:
        engine = stepped.engine
        self.arm, self.parameters, self.options = stepped.arm, stepped.parameters, stepped.options
        self.model, self.data, self.accuracy, self.objects = engine.model, engine.data, engine.accuracy, objects
        self._stepped, self._engine = stepped, engine
        # cached, because they are read at every step
        self._D, self._qpos, self._qvel, self._rows = stepped.D, stepped.qpos, stepped.qvel, stepped.joint_rows
        self._contacts = InstrumentContacts(stepped)
        self._tip = stepped.site("tip")
        self._insertion = stepped.body("insertion") if self.arm.has_rcm else None
        self._sites = [tuple(stepped.site(f"{loop.name}_{side}") for side in "ab") for loop in self.arm.loops]

    def __getstate__(self) -> Any:
        raise TrocarError("an arm of a scene cannot be pickled or copied alone; pickle or copy its scene")

    @property
    def mechanism(self) -> Mechanism:
        """The equations of this arm, with the parameters, instrument and gravity that are simulated."""
        return self._stepped.mechanism

    @property
    def gravity_vector(self) -> Array:
        """Gravity (3,) in base axes [m/s^2]."""
        return self._stepped.mechanism.gravity_vector

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
        return self._engine.time

    @property
    def q(self) -> Array:
        """Joint positions (n,) at `time` [rad, m]."""
        return self._D.dot(self._qpos) if self._rows is None else self._qpos[self._rows]

    @property
    def dq(self) -> Array:
        """Joint velocities (n,) at `time` [rad/s, m/s]."""
        return self._D.dot(self._qvel) if self._rows is None else self._qvel[self._rows]

    @property
    def measured_q(self) -> Array:
        """Joint positions (n,) as the encoders report them: `q`, unless drives are elastic or faulty [rad, m]."""
        return self._stepped.measured()[0]

    @property
    def measured_dq(self) -> Array:
        """Joint velocities (n,) as the encoders report them [rad/s, m/s]."""
        return self._stepped.measured()[1]

    @property
    def ddq(self) -> Array:
        """Joint accelerations (n,) at the start of the last step [rad/s^2, m/s^2]."""
        return self._D.dot(self._engine.qacc[self._stepped.v])

    @property
    def tau(self) -> Array:
        """Joint efforts (n,) of the last step, as the amplifiers report them [N m, N]."""
        return self._stepped.joint_from_motor.dot(self._stepped.reported)

    @property
    def measured_tau(self) -> Array:
        """Joint efforts (n,) of the last step, as the robot reports them: `tau` + `mechanism.effort_bias`."""
        return self.tau + self.mechanism.effort_bias

    @property
    def delivered(self) -> Array:
        """Joint efforts (n,) that acted in the last step [N m, N]: `tau`, unless a motor is faulty."""
        return self._stepped.joint_from_motor.dot(self._stepped.ctrl)

    def inject(self, *faults: Fault) -> None:
        """Inject these faults from now on, replacing earlier ones; no argument removes all.

        `measured_q`, `measured_dq` and `tau` are then the reported values, and `q`, `dq` and `delivered`
        the true ones. `reset` restarts the faults.
        """
        self._stepped.inject(faults)

    @property
    def hysteresis(self) -> Array:
        """State z (k,) of every Dahl element, in the order of the drives, each in [-1, 1]. Can be set.

        `reset` relaxes them all to 0. Empty if the arm has no Dahl friction.
        """
        memory = self._stepped.forces.hysteresis
        return np.zeros(0) if memory is None else memory.states(self._qpos)

    @hysteresis.setter
    def hysteresis(self, z: ArrayLike) -> None:
        memory = self._stepped.forces.hysteresis
        if memory is None:
            raise TrocarError(f"this {self.arm.name} has no hysteretic friction")
        memory.set_states(z, self._qpos)

    @property
    def tree_positions(self) -> dict[str, float]:
        """Position of every link's joint, passive ones included [rad, m]."""
        return {body.name: float(self._qpos[i]) for i, body in enumerate(self.arm.bodies)}

    @property
    def brakes(self) -> bool:
        """True if the brakes are engaged. Set it to engage or release them; raises an error for an arm without brakes.

        Engaged brakes hold their joints in place under any load: the limit of a real brake is not published.
        Efforts keep acting. `reset` releases the brakes.
        """
        return self._stepped.brakes.engaged

    @brakes.setter
    def brakes(self, engaged: bool) -> None:
        if not self._stepped.brakes:
            raise TrocarError(f"{self.arm.name} has no brakes")
        if engaged:
            self._stepped.brakes.engage(self._qpos)
        else:
            self._stepped.brakes.release()

    @property
    def gripper(self) -> float:
        """Opening of a master's gripper [rad]: set by the surgeon's fingers, not by a motor. Other arms raise."""
        return self._gripper_checked(self._stepped.gripper)

    @gripper.setter
    def gripper(self, opening: float) -> None:
        self._stepped.gripper = self._gripper_checked(float(opening))

    def _gripper_checked(self, opening: float) -> float:
        if self.arm.gripper is None:
            raise TrocarError(f"{self.arm.name} has no gripper; an instrument's jaw is the last joint of q")
        lower, upper = self.arm.gripper
        if not lower <= opening <= upper:
            raise TrocarError(f"the opening of the gripper must be {lower:g} to {upper:.4g} rad, got {opening!r}")
        return opening

    def place(self, q: ArrayLike, dq: ArrayLike | None = None) -> None:
        """Set joint positions within limits directly, without dynamics and without resetting time (kinematic mode).

        Overlapping fingers (jaw below 0) do not collide until they are placed apart.
        """
        mechanism = self.mechanism
        q = mechanism.checked_joints(q)
        if self.options.limits:
            self.arm.check_within_limits(q, "place")
        self._stepped.put(q, np.zeros(self.n) if dq is None else mechanism.checked_joints(dq, "dq"))
        self._engine.forward()

    def tip_pose(self) -> Array:
        """Tip pose (4, 4) in the base, of the simulated closed chain."""
        self._engine.update()
        return self._stepped.in_base(self.data.site_xmat[self._tip], self.data.site_xpos[self._tip])

    def body_pose(self, body: str) -> Array:
        """Pose (4, 4) of a link in the base, of the simulated closed chain."""
        self._check_body(body)
        self._engine.update()
        index = self._stepped.body(body)
        return self._stepped.in_base(self.data.xmat[index], self.data.xpos[index])

    def rcm_error(self) -> float:
        """Distance of the insertion axis from the remote centre of motion [m]."""
        insertion = self._check_rcm()
        self._engine.update()
        x, y, z = (self.data.xpos[insertion] - self.data.xpos[self._stepped.base]).tolist()
        R = self.data.xmat[insertion].tolist()
        a, b, c = R[2], R[5], R[8]  # the insertion axis; |axis x position| without numpy's overhead on three numbers
        return math.hypot(b * z - c * y, c * x - a * z, a * y - b * x)

    def _check_rcm(self) -> int:
        """The body that slides through the remote centre."""
        if self._insertion is None:
            raise TrocarError(f"{self.arm.name} has no remote centre of motion")
        return self._insertion

    def loop_error(self) -> float:
        """Largest gap of the loop closures [m]."""
        self._engine.update()
        places = self.data.site_xpos
        return max((math.dist(places[a].tolist(), places[b].tolist()) for a, b in self._sites), default=0.0)

    def apply_wrench(self, wrench: ArrayLike, body: str = "tip") -> None:
        """Apply a force [N] and moment [N m] (6,), base axes, until it is changed; zeros remove it.

        It acts at the tip (the origin of `tip_pose`), or at the origin of the named link.
        """
        wrench = checks.finite("a wrench", wrench, (6,), "six finite numbers, force then moment")
        self._check_body(body, TIP)
        self._stepped.wrenches.set(body, wrench)

    def _check_body(self, body: str, *also: str) -> None:
        known = (*also, *(b.name for b in self.arm.bodies))
        check_known(f"body of {self.arm.name}", known, body)

    def loop_forces(self) -> dict[str, Array]:
        """Force (3,) [N], base axes, of each loop closure on its second body, in the last step.

        It lies in the plane of the linkage: a planar mechanism does not determine the component along the pitch axis.
        """
        stepped, data, forces = self._stepped, self.data, {}
        equality = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        for loop in self.arm.loops:
            axis = data.xmat[stepped.body(loop.body_a)].reshape(3, 3)[:, 2]  # the joints of a loop are parallel
            # the rows of a connect are the gap a - b along the world axes; the force on b opposes it
            force = -data.efc_force[equality & (data.efc_id == stepped.equality(loop.name))]
            forces[loop.name] = stepped.to_base(force - axis * (axis @ force))
        return forces

    def cannula_wrench(self) -> Array:
        """Wrench (6,) [N, N m] of the end link on the instrument's carriage through its guide, in the last step.

        Base axes, moment about the remote centre of motion. The motor's and the counterweight's pull along the guide
        is part of it.
        """
        body, data, to_base = self._check_rcm(), self.data, self._stepped.to_base
        mujoco.mj_rnePostConstraint(self.model, data)
        moment, force = np.split(data.cfrc_int[body], 2)
        # MuJoCo gives the moment about the centre of mass of the whole arm
        lever = data.subtree_com[self.model.body_rootid[body]] - data.xpos[self._stepped.base]
        return np.concatenate([to_base(force), to_base(moment + np.cross(lever, force))])

    def contact_wrench(self, about: str | ArrayLike = "tip", of: str | None = None) -> Array:
        """Wrench (6,) [N, N m] of all objects, or of the named one, on the instrument, in the last step.

        Base axes, moment about the "tip", the "trocar" (the remote centre) or a point (3,) of the base [m]. It
        corresponds to a sensor between the instrument and the touched object: contacts of shaft, wrist and jaws are
        included, those of the rest of the arm are not.
        """
        if of is not None and of not in self.objects:
            raise UnknownName("object", of, self.objects)
        if isinstance(about, str) and about == "trocar" and self.arm.has_rcm:
            about = np.zeros(3)
        point = self.tip_pose()[:3, 3] if isinstance(about, str) and about == "tip" else about
        if np.shape(point) != (3,):
            allowed = '"tip", "trocar" for arms with a remote centre, or a point (3,)'
            raise TrocarError(f"about must be {allowed}, got {about!r}")
        point = self.data.xpos[self._stepped.base] + self._stepped.to_world(np.asarray(point, dtype=float))
        wrench = self._contacts.wrench(point, None if of is None else self.objects[of].body)
        return np.concatenate([self._stepped.to_base(wrench[:3]), self._stepped.to_base(wrench[3:])])

    def contact_force(self) -> float:
        """Magnitude of the force of all objects on the instrument in the last step [N]."""
        return math.sqrt(sum(part * part for part in self._contacts.force().tolist()))

    def contact_effort(self) -> Array:
        """Joint efforts (n,) [N m, N] of all contacts of objects with the arm, in the last step."""
        return self._contacts.effort()

    def friction_effort(self) -> Array:
        """Joint efforts (n,) [N m, N] of friction, including stiction, in the last step."""
        data, dahl, m = self.data, self._stepped.forces.hysteresis, len(self.arm.bodies)
        dry, applied = np.zeros(self.model.nv), 0.0 if dahl is None else dahl.force(self._qpos, self._qvel)[:m]
        if data.nf:
            rows = slice(data.ne, data.ne + data.nf)  # MuJoCo orders constraints: equalities, dry friction, the rest
            force = np.zeros(data.nefc)
            force[rows] = data.efc_force[rows]
            mujoco.mj_mulJacTVec(self.model, data, dry, force)
        return -np.asarray(self.arm.E.T @ ((dry + data.qfrc_damper)[self._stepped.v][:m] + applied))

    def port_wrench(self) -> Array:
        """Wrench (6,) [N, N m] of the body wall on the cannula in the last step, about the remote centre."""
        return self._with_port().wrench.copy()

    def seal_friction(self) -> Array:
        """Force along the shaft [N], positive into the body, and torque about it [N m], of the seal on it."""
        return self._with_port().seal()

    def _with_port(self) -> PortForces:
        port = self._stepped.forces.port
        if port is None:
            raise TrocarError("this simulator has no port; create it with Simulator(..., port=Port(...))")
        return port
