"""Forces of the surroundings on an arm: brakes, applied wrenches, the port, an elastic mount, and contacts."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from trocar.errors import TrocarError
from trocar.simulation.engine import ArmSlice
from trocar.simulation.modelling.arm_model import SEAL
from trocar.simulation.scene_arm import ElasticMount, Port
from trocar.spatial import Array

TIP = "tip"


class _Applied(NamedTuple):
    wrench: Array
    force: Array  # (3,) in base axes [N]
    moment: Array
    point: tuple[float, float, float]  # in the frame of the body [m]
    # views of MuJoCo's data: position and orientation of the body, its centre of mass, the wrench on it
    position: Array
    orientation: Array
    centre: Array
    applied: Array


class AppliedWrenches:
    """Force [N] and moment [N m] (6,) in base axes, at the origin of a link or at the tip."""

    def __init__(self, arm_slice: ArmSlice) -> None:
        self._slice, self._engine, self._data = arm_slice, arm_slice.engine, arm_slice.engine.data
        self.by_place: dict[str, _Applied] = {}

    def set(self, place: str, wrench: Array) -> None:
        """Apply a wrench at "tip" or at the origin of a link from the next step on; zeros remove it."""
        arm, data = self._slice.arm, self._data
        body = self._slice.body(arm.tip_body if place == TIP else place)
        data.xfrc_applied[body] = 0.0
        if wrench.any():
            x, y, z = arm.T_body_tip[:3, 3].tolist() if place == TIP else (0.0, 0.0, 0.0)
            own = wrench.copy()
            views = data.xpos[body], data.xmat[body], data.xipos[body], data.xfrc_applied[body]
            self.by_place[place] = _Applied(own, own[:3], own[3:], (x, y, z), *views)
        else:
            self.by_place.pop(place, None)

    def clear(self) -> None:
        """Remove all wrenches; MuJoCo's data were reset."""
        self.by_place.clear()

    def act(self) -> None:
        """Write the wrenches into MuJoCo's data, about the centres of mass, for the next step."""
        self._engine.update()
        to_world = self._slice.to_world
        for each in self.by_place.values():
            each.applied[:] = 0.0
        for _, force, moment, (u, v, w), position, orientation, centre, applied in self.by_place.values():
            # plain numbers: arrays this small take longer
            (px, py, pz), (cx, cy, cz) = position.tolist(), centre.tolist()
            a, b, c, d, e, f, g, h, i = orientation.tolist()
            x, y = px + (a * u + b * v + c * w) - cx, py + (d * u + e * v + f * w) - cy
            z = pz + (g * u + h * v + i * w) - cz
            fx, fy, fz = to_world(force).tolist()
            mx, my, mz = to_world(moment).tolist()
            # the tip and the link that carries it add up
            applied += (fx, fy, fz, mx + (y * fz - z * fy), my + (z * fx - x * fz), mz + (x * fy - y * fx))

    @property
    def memory(self) -> dict[str, Array]:
        """Every wrench by its place, for a snapshot. Assign it to restore the snapshot."""
        return {place: applied.wrench.copy() for place, applied in self.by_place.items()}

    @memory.setter
    def memory(self, memory: dict[str, Array]) -> None:
        self.by_place.clear()
        for place, wrench in memory.items():
            self.set(place, wrench)


class Brakes:
    """All brakes of an arm, engaged and released together; falsy if it has none."""

    def __init__(self, arm_slice: ArmSlice) -> None:
        self._model, self._data, arm = arm_slice.engine.model, arm_slice.engine.data, arm_slice.arm
        self._constraints = np.array([arm_slice.equality(f"brake_{joint}") for joint in arm.brakes], dtype=int)
        self._joints = np.array([arm_slice.dof(arm.driven[joint]) for joint in arm.brakes], dtype=int)

    def __bool__(self) -> bool:
        return self._constraints.size > 0

    @property
    def engaged(self) -> bool:
        """True if the brakes are engaged."""
        return bool(self) and bool(self._data.eq_active[self._constraints].all())

    @property
    def held(self) -> Array:
        """Holding position of each brake, engaged or not [rad, m]."""
        return np.array(self._model.eq_data[self._constraints, 0])

    @held.setter
    def held(self, positions: Array) -> None:
        self._model.eq_data[self._constraints, 0] = positions

    def place(self, qpos: Array) -> None:
        """Set the holding positions to qpos, engaged or not."""
        self.held = qpos[self._joints]

    def engage(self, qpos: Array) -> None:
        """Engage at qpos; brakes that are already engaged keep their position."""
        if not self.engaged:
            self.place(qpos)
        self._data.eq_active[self._constraints] = True

    def release(self) -> None:
        """Hold nothing."""
        self._data.eq_active[self._constraints] = False


class PortForces:
    """Generalised forces of the wall on the cannula; those of the seal are in the model.

    The cannula is fixed to the arm's last link before the insertion and pivots with it. The wall holds it by a spring
    and a damper across its axis, at a point that is the remote centre only if the arm was set up well.
    """

    def __init__(self, arm_slice: ArmSlice, port: Port) -> None:
        self.port, self._slice, arm = port, arm_slice, arm_slice.arm
        self._model, self._data = arm_slice.engine.model, arm_slice.engine.data
        self._offset = np.asarray(port.offset, dtype=float)
        self._insertion = arm_slice.body("insertion")
        link = arm.body("insertion")
        while link.parent is not None and link.kind == "prismatic":
            link = arm.body(link.parent)
        self._cannula = arm_slice.body(link.name)
        self._J = np.zeros((3, self._model.nv))
        self._tendons = [arm_slice.tendon(name) for name, joint in SEAL.items() if joint in arm.joint_names]
        self.wrench, self.effort = np.zeros(6), np.zeros(arm_slice.v.stop - arm_slice.v.start)

    def force(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force on the arm's joints for the next step."""
        model, data, port = self._model, self._data, self.port
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        axis = data.xmat[self._insertion].reshape(3, 3)[:, 2]
        on_axis, centre = data.xpos[self._insertion], data.xpos[self._slice.base]
        hole = centre + self._slice.to_world(self._offset)
        point = on_axis + axis * (axis @ (hole - on_axis))  # point of the cannula's axis nearest to the hole
        mujoco.mj_jac(model, data, self._J, None, point, self._cannula)
        v = self._J @ data.qvel
        F = port.stiffness * (hole - point) - port.damping * (v - axis * (axis @ v))
        # the base's origin is the remote centre
        turn = self._slice.to_base
        self.wrench = np.concatenate([turn(F), turn(np.cross(point - centre, F))])
        self.effort = np.asarray(self._J.T @ F)[self._slice.v]
        return self.effort

    def seal(self) -> Array:
        """Force along the shaft [N], positive into the body, and torque about it [N m], on the instrument."""
        data, result = self._data, np.zeros(2)
        friction = data.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON
        for k, tendon in enumerate(self._tendons):
            rows = friction & (data.efc_id == tendon)
            damping = np.ravel(self._model.tendon_damping[tendon])[0]
            result[k] = data.efc_force[rows].sum() - damping * data.ten_velocity[tendon]
        return result


SETTLED = 1e-12  # change of the deflection at convergence [rad, m]
MAX_DEFLECTION = 0.2  # largest deflection [rad, m]
# To the static deflection: each iteration reduces the error by the ratio of weight to stiffness, about a tenth.
MAX_ITERATIONS = 100


class MountDeflection:
    """The state of an elastic mount: preloaded to carry the arm at home, placed at its rest position."""

    def __init__(self, arm_slice: ArmSlice, mount: ElasticMount) -> None:
        self._engine, self._arm = arm_slice.engine, arm_slice.arm
        joints = [self._engine.model.joint(arm_slice.prefix + name) for name in mount.joints]
        self._q = np.array([joint.qposadr[0] for joint in joints])
        self._v = np.array([joint.dofadr[0] for joint in joints])
        self._links = slice(arm_slice.q.start, arm_slice.q.start + len(self._arm.bodies))
        self._stiffness = np.array([stiffness for *_, stiffness in mount.joints.values()])
        self.preload()

    def preload(self) -> None:
        """Set the springs so that the mount is not deflected while the arm rests at home."""
        data = mujoco.MjData(self._engine.model)
        data.qpos[self._links] = self._arm.E @ np.array(self._arm.home)
        self._engine.model.qpos_spring[self._q] = self._load(data) / self._stiffness

    def settle(self) -> None:
        """Place the mount at its static deflection, for the arm as it stands in the engine's data."""
        data, model = mujoco.MjData(self._engine.model), self._engine.model
        data.qpos[:] = self._engine.data.qpos
        deflection, change = np.zeros(len(self._q)), np.inf
        for _ in range(MAX_ITERATIONS):
            data.qpos[self._q] = deflection
            before, deflection = deflection, model.qpos_spring[self._q] - self._load(data) / self._stiffness
            change = np.abs(deflection - before).max()
            if change < SETTLED:
                break
        if change >= SETTLED or np.abs(deflection).max() > MAX_DEFLECTION:
            raise TrocarError(
                f"the elastic mount of {self._arm.name} is too soft: it deflects by more than {MAX_DEFLECTION} rad or m"
            )
        self._engine.data.qpos[self._q] = deflection
        self._engine.data.qvel[self._v] = 0.0

    def _load(self, data: mujoco.MjData) -> Array:
        """Effort of the mount against gravity, with the arm at rest [N, N m]."""
        mujoco.mj_forward(self._engine.model, data)
        return np.array(data.qfrc_bias[self._v])


class InstrumentContacts:
    """Contacts of objects with an arm. The instrument is every body that turns with the shaft, from the roll on.

    An arm without a shaft has its last body instead.
    """

    def __init__(self, arm_slice: ArmSlice) -> None:
        self._slice, arm = arm_slice, arm_slice.arm
        self._model, self._data = arm_slice.engine.model, arm_slice.engine.data
        model = self._model
        first = "roll" if "roll" in arm.joint_names else arm.tip_body
        # 1 for the links of the arm, 2 for those of the instrument; one extra entry, at -1, for non-geoms
        self._member = np.zeros(model.ngeom + 1, dtype=int)
        for body in arm.bodies:
            geoms = np.flatnonzero(model.geom_bodyid == arm_slice.body(body.name))
            self._member[geoms] = 2 if first in arm.carriers(body.name) else 1
        self._members, self._row = self._member.tolist(), np.zeros(6)
        self._E = arm.E

    def wrench(self, point: Array, body: int | None = None) -> Array:
        """Force and moment (6,) about `point` (3,) on the instrument, world axes [N, N m]; of one body if given."""
        which, R, local = self._local(body)
        force, moment = ((R @ part[..., None])[..., 0] for part in (local[:, :3], local[:, 3:]))
        arm = self._data.contact.pos[which] - point
        return np.concatenate([force.sum(0), (moment + np.cross(arm, force)).sum(0)])

    def force(self) -> Array:
        """Force (3,) of all objects on the instrument, world axes [N]; faster than `wrench`."""
        total, data, member, row = np.zeros(3), self._data, self._members, self._row
        if not data.ncon:
            return total
        contacts = data.contact
        frames = contacts.frame
        # plain numbers: a few contacts in arrays take longer
        for k, ((first, second), address) in enumerate(
            zip(contacts.geom.tolist(), contacts.efc_address.tolist(), strict=True)
        ):
            one, two = member[first], member[second]
            if address < 0 or (one > 0) == (two > 0) or max(one, two) < 2:
                continue
            mujoco.mj_contactForce(self._model, data, k, row)
            push = row[:3].dot(frames[k].reshape(3, 3))  # on the second geom
            total += push if two else -push
        return total

    def _local(self, body: int | None = None) -> tuple[Array, Array, Array]:
        """Active contacts (k,) of the instrument, their axes (k, 3, 3) and the wrenches (k, 6) on it along them."""
        which, side = self._with_objects(at_least=2, body=body)
        local = np.zeros((len(which), 6))
        for k, row in zip(which.tolist(), local, strict=True):
            mujoco.mj_contactForce(self._model, self._data, k, row)
        # the rows of the frame are the axes, the first the normal from the first geom to the second, and the force is
        # on the second
        frame = self._data.contact.frame[which].reshape(-1, 3, 3).swapaxes(1, 2)
        return which, frame * np.where(side == 1, 1.0, -1.0)[:, None, None], local

    def effort(self) -> Array:
        """Efforts (n,) [N m, N] of objects on the joints, through the links that they touch."""
        data = self._data
        force, generalised = np.zeros(data.nefc), np.zeros(self._model.nv)
        which, _ = self._with_objects(at_least=1)
        for first, count in zip(data.contact.efc_address[which], data.contact.dim[which], strict=True):
            rows = slice(first, first + count)  # of an elliptic cone
            force[rows] = data.efc_force[rows]
        if data.nefc:
            mujoco.mj_mulJacTVec(self._model, data, generalised, force)
        return np.asarray(self._E.T @ generalised[self._slice.v][: len(self._E)])

    def _with_objects(self, at_least: int, body: int | None = None) -> tuple[Array, Array]:
        """Active contacts (k,) of the arm with other objects, and the side (k,) of the arm in each: 0 or 1."""
        contacts = self._data.contact
        member = self._member[contacts.geom]
        active = (contacts.efc_address >= 0) & ((member > 0).sum(1) == 1) & (member.max(1) >= at_least)
        side = member.argmax(1)
        if body is not None:
            other = np.arange(len(side)), 1 - side
            geom, flex = contacts.geom[other], contacts.flex[other]
            owner = np.where(geom >= 0, self._model.geom_bodyid[geom], -1)
            if self._model.nflex:  # the body that carries the nodes of a flex
                nodes = self._model.flex_vertbodyid[self._model.flex_vertadr]
                owner = np.where(flex >= 0, self._model.body_parentid[nodes][flex], owner)
            active &= owner == body
        return np.flatnonzero(active), side[active]
