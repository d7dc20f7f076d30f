"""Contacts: touching pairs, and the forces of objects on an instrument, read from the engine after a step."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array


@dataclass(frozen=True)
class Contact:
    """The nearest pair of shapes: names, and their distance [m], negative if they overlap."""

    first: str
    second: str
    distance: float

    def __str__(self) -> str:
        if self.distance >= 0:
            return f"{self.first} is {1e3 * self.distance:.3g} mm from {self.second}"
        return f"{self.first} overlaps {self.second} by {-1e3 * self.distance:.3g} mm"


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
            owner = np.where(geom >= 0, self._model.geom_bodyid[geom], _flex_owner(self._model, flex))
            active &= owner == body
        return np.flatnonzero(active), side[active]


def _flex_owner(model: mujoco.MjModel, flex: Array) -> Array:
    """Body that carries the nodes of a flex; -1 if there is none."""
    if not model.nflex:
        return np.full(flex.shape, -1)
    first = model.flex_vertbodyid[model.flex_vertadr]
    return np.where(flex >= 0, model.body_parentid[first][flex], -1)
