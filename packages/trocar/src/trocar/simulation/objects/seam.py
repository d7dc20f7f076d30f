"""A seam: two tissues joined face to face by ties that a blade cuts and that tear at a stated strength."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError
from trocar.simulation.objects.cutting import checked_path, swept
from trocar.simulation.objects.scene_object import OBJECT, PlacedObject, SceneObject, check_name
from trocar.simulation.objects.solid import GRIP_SOLIMP, HARD_SOLREF
from trocar.simulation.objects.tissue import PlacedTissue, TissueEvent
from trocar.spatial import Array

MAX_GAP = 1e-3  # between the two faces [m]
ALIGNED = 1e-6  # accuracy with which the nodes of both faces must face each other [m]


@dataclass(frozen=True)
class Seam(SceneObject):
    """Joins two tissues, which precede it in the list of objects, at faces with opposite nodes.

    A cut along a planned line without loss of material: each pair of opposite nodes is tied until a blade passes it or
    the force exceeds its area times `strength`. Leave a gap of about 0.1 mm between the tissues; without it they are
    in contact everywhere, which is slow.

    Attributes:
        name: unique name. first, second: names of the tissues, with the same orientation.
        strength: force per area at which it tears [Pa]. Default: it does not tear. The load at which a crack grows
            depends on the distance of the nodes.
    """

    name: str
    first: str
    second: str
    strength: float | None = None
    pose: ArrayLike = field(default_factory=lambda: np.eye(4), init=False, repr=False)

    def __post_init__(self) -> None:
        for name in (self.name, self.first, self.second):
            check_name(name)
        if self.first == self.second:
            raise TrocarError(f"{self.name} joins two tissues, got {self.first} twice")
        if self.strength is not None:
            checks.positive(f"strength of {self.name}", self.strength, "Pa")

    def tie(self, k: int, axis: str) -> str:
        """Name of one of the three equalities of a pair of nodes."""
        return f"{OBJECT}{self.name}/{k}/{axis}"

    def add_to(self, spec: mujoco.MjSpec) -> None:
        spec.worldbody.add_body(name=OBJECT + self.name)
        (left, places), (right, others) = (self._free_nodes(spec, name) for name in (self.first, self.second))
        k = 0
        for i, place in enumerate(places):
            gaps = np.abs(others - place)
            for j in np.flatnonzero((gaps.max(axis=1) <= MAX_GAP) & (np.sort(gaps, axis=1)[:, 1] < ALIGNED)).tolist():
                for axis in "xyz":
                    spec.add_equality(
                        name=self.tie(k, axis),
                        type=mujoco.mjtEq.mjEQ_JOINT,
                        objtype=mujoco.mjtObj.mjOBJ_JOINT,
                        name1=f"{left[i]}/{axis}",
                        name2=f"{right[j]}/{axis}",
                        solref=HARD_SOLREF,
                        solimp=GRIP_SOLIMP,
                        data=[0.0, 1.0, *np.zeros(10)],
                    )
                k += 1
        if k == 0:
            raise TrocarError(
                f"{self.name}: no free nodes of {self.first} and {self.second} face each other within "
                f"{1e3 * MAX_GAP:g} mm; give their touching faces the same size, place and cells"
            )

    def _free_nodes(self, spec: mujoco.MjSpec, name: str) -> tuple[list[str], Array]:
        """Names of the free nodes of a tissue and their places (n, 3) in its axes, from the world's origin."""
        base = spec.body(OBJECT + name)
        if base is None or not base.bodies:
            raise TrocarError(f"{self.name} needs the tissue {name!r} before it in the list of objects")
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, base.quat)
        nodes = [body for body in base.bodies if body.joints and not body.name.startswith(f"{OBJECT}{name}/")]
        return [node.name for node in nodes], np.array([node.pos for node in nodes]) + base.pos @ R.reshape(3, 3)

    def placed(self, model: mujoco.MjModel, data: mujoco.MjData) -> PlacedSeam:
        return PlacedSeam(self, model, data)


class PlacedSeam(PlacedObject):
    """A seam in the state of a simulation.

    Attributes:
        intact: (n,) True for pairs of nodes that are tied. areas: (n,) of the pairs [m^2].
        events: "cut" and "torn" since the last reset, with the largest force [N] and place in the base [m].
    """

    thing: Seam

    def __init__(self, thing: Seam, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(thing, model, data)
        self._rows: list[list[int]] = []
        while mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_EQUALITY, thing.tie(len(self._rows), "x")) >= 0:
            self._rows.append([int(model.equality(thing.tie(len(self._rows), axis)).id) for axis in "xyz"])
        first = [rows[0] for rows in self._rows]
        self._nodes = np.stack([model.jnt_bodyid[model.eq_obj1id[first]], model.jnt_bodyid[model.eq_obj2id[first]]])
        self._R = np.empty((3, 3))
        mujoco.mju_quat2Mat(self._R.reshape(-1), model.body_quat[model.body_parentid[self._nodes[0, 0]]])
        self._reach, self.areas = np.full(3, MAX_GAP), np.ones(len(self._rows))
        self.intact = np.ones(len(self._rows), dtype=bool)
        self.events: list[TissueEvent] = []

    def meet(self, objects: Mapping[str, PlacedObject]) -> None:
        for name in (self.thing.first, self.thing.second):
            if not isinstance(objects[name], PlacedTissue):
                raise TrocarError(f"{name} is not a tissue: {self.thing.name} cannot join it")
        tissue = objects[self.thing.first]
        assert isinstance(tissue, PlacedTissue)
        grid, rest = tissue.grid, self._model.body_pos[self._nodes[0]]
        normal = int(np.argmin(np.minimum(np.abs(rest - grid.low), np.abs(rest - grid.high)).max(axis=0)))
        for axis in (k for k in range(3) if k != normal):
            edge = np.isclose(rest[:, axis], grid.low[axis]) | np.isclose(rest[:, axis], grid.high[axis])
            # a pair stands for half the distance to its neighbours
            self._reach[axis] = grid.step[axis] / 2
            self.areas *= np.where(edge, grid.step[axis] / 2, grid.step[axis])

    @property
    def places(self) -> Array:
        """Middles (n, 3) of all pairs of nodes in the base [m]."""
        return np.asarray(self._data.xpos[self._nodes].mean(axis=0))

    @property
    def forces(self) -> Array:
        """Force (n,) that every pair carried in the last step [N]; 0 where it is cut."""
        rows, forces = self._data.efc_id[: self._data.ne], np.zeros(len(self._rows))
        order = np.full(self._model.neq, -1)
        order[rows[::-1]] = np.arange(len(rows))[::-1]
        for k in np.flatnonzero(self.intact):
            at = order[self._rows[k]]
            forces[k] = np.linalg.norm(self._data.efc_force[at]) if (at >= 0).all() else 0.0
        return forces

    def cut(self, path: ArrayLike) -> int:
        """Cut the ties of all pairs of nodes that a blade passes, and return their number.

        path: successive places (n, 2, 3) of the two ends of the blade's edge in the base [m].
        """
        points = swept(checked_path(path), float(self._reach.min()))
        mujoco.mj_kinematics(self._model, self._data)
        gaps = np.abs((points[:, None] - self.places) @ self._R)
        return self._sever(np.asarray((gaps <= self._reach).all(axis=2).any(axis=0)), "cut")

    def _sever(self, pairs: Array, what: str) -> int:
        lost = pairs & self.intact
        if lost.any():
            x, y, z = self.places[lost].mean(axis=0).tolist()
            event = TissueEvent(float(self._data.time), what, float(self.forces[lost].max()), (x, y, z))
            self.events.append(event)
            self._set_intact(self.intact & ~lost)
        return int(lost.sum())

    def _set_intact(self, intact: Array) -> None:
        self.intact = intact.copy()
        for rows, whole in zip(self._rows, intact.tolist(), strict=True):
            self._data.eq_active[rows] = int(whole)

    def reset(self) -> None:
        self.events = []
        self._set_intact(np.ones_like(self.intact))

    def after_step(self) -> None:
        strength = self.thing.strength
        if strength is not None and self.intact.any():
            torn = self.forces > strength * self.areas
            if torn.any():
                self._sever(torn, "torn")

    @property
    def memory(self) -> Any:
        return self.intact.copy(), tuple(self.events)

    @memory.setter
    def memory(self, memory: Any) -> None:
        intact, events = memory
        self._set_intact(intact)
        self.events = list(events)
