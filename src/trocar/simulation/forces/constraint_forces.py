"""Forces read from the engine after a step: in the joints of the mechanism, and of objects on an instrument."""

from __future__ import annotations

import mujoco
import numpy as np

from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array


def loop_forces(arm_slice: ArmSlice) -> dict[str, Array]:
    """Force (3,) [N], base axes, of each loop closure on its second body, in the plane of the linkage."""
    arm, data = arm_slice.arm, arm_slice.engine.data
    equality = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    forces = {}
    for loop in arm.loops:
        axis = data.xmat[arm_slice.body(loop.body_a)].reshape(3, 3)[:, 2]  # the joints of a loop are parallel
        # the rows of a connect are the gap a - b along the world axes; the force on b opposes it
        force = -data.efc_force[equality & (data.efc_id == arm_slice.equality(loop.name))]
        forces[loop.name] = arm_slice.to_base(force - axis * (axis @ force))
    return forces


def guide_wrench(arm_slice: ArmSlice) -> Array:
    """Wrench (6,) [N, N m] on the insertion carriage from the link that guides it, about the base origin."""
    model, data = arm_slice.engine.model, arm_slice.engine.data
    mujoco.mj_rnePostConstraint(model, data)
    body = arm_slice.body("insertion")
    moment, force = np.split(data.cfrc_int[body], 2)
    # MuJoCo gives the moment about the centre of mass of the whole arm
    lever = data.subtree_com[model.body_rootid[body]] - data.xpos[arm_slice.base]
    return np.concatenate([arm_slice.to_base(force), arm_slice.to_base(moment + np.cross(lever, force))])


def friction_effort(arm_slice: ArmSlice, applied: Array) -> Array:
    """Joint efforts (n,) [N m, N] of friction: dry, viscous, and applied by the simulator."""
    model, data, E = arm_slice.engine.model, arm_slice.engine.data, arm_slice.arm.E
    dry = np.zeros(model.nv)
    if data.nf:
        rows = slice(data.ne, data.ne + data.nf)  # MuJoCo orders constraints: equalities, dry friction, the rest
        force = np.zeros(data.nefc)
        force[rows] = data.efc_force[rows]
        mujoco.mj_mulJacTVec(model, data, dry, force)
    m = len(E)
    return -np.asarray(E.T @ ((dry + data.qfrc_damper)[arm_slice.v][:m] + applied[:m]))


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
        self._E = arm.E

    def wrench(self, point: Array, body: int | None = None) -> Array:
        """Force and moment (6,) about `point` (3,) on the instrument, world axes [N, N m]; of one body if given."""
        which, side = self._with_objects(at_least=2, body=body)
        local = np.zeros((len(which), 6))
        for k, row in zip(which, local, strict=True):
            mujoco.mj_contactForce(self._model, self._data, k, row)
        contact = self._data.contact
        # the rows of the frame are the axes, the first the normal from the first geom to the second, and the force is
        # on the second
        R = contact.frame[which].reshape(-1, 3, 3).swapaxes(1, 2) * np.where(side == 1, 1.0, -1.0)[:, None, None]
        force, moment = ((R @ part[..., None])[..., 0] for part in (local[:, :3], local[:, 3:]))
        return np.concatenate([force.sum(0), (moment + np.cross(contact.pos[which] - point, force)).sum(0)])

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
