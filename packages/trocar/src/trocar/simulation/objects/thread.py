"""A suture thread: a chain of capsules on universal joints, swaged to the tail of a needle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import hypot
from typing import Any

import mujoco
import numpy as np
import scipy
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError
from trocar.simulation.objects.cutting import checked_path, crosses
from trocar.simulation.objects.scene_object import (
    ANYTHING,
    FIXED_PRIORITY,
    OBJECT,
    OBJECT_GROUP,
    PlacedObject,
    SceneObject,
    check_name,
)
from trocar.simulation.objects.solid import GRIP_SOLIMP, HARD_SOLREF, Needle
from trocar.spatial import Array, quaternion

MAX_RODS = 100  # the cost of a step grows with the square of this number or faster
# Allowed values of a thread and their units.
THREAD_RANGES = {
    "length": (1e-3, 10.0, "m"),
    "diameter": (1e-5, 1e-2, "m"),
    "density": (1.0, 1e5, "kg/m^3"),
    "young": (1.0, 1e12, "Pa"),
    "strength": (1e-3, 1e3, "N"),
}
# A thread of 8 mg under 1 N would need steps of 20 us. Its mass is therefore scaled; its weight is not.
MASS_SCALE = 100.0
STABLE = 1.2  # largest natural frequency of the tensioned chain times the timestep; explicit integration allows 2
RUPTURE = 5e-3  # a thread breaks when its tension, averaged over this time, exceeds its strength [s]
SETTLING = 0.05  # time constant of the joints' damping [s]


def armature(rods: int, length: float, mass: float, tension: float, timestep: float) -> float:
    """Smallest joint armature [kg m^2] with which a chain of rods is stable under tension.

    Tension T gives the chain the stiffness T l, which MuJoCo integrates explicitly: T l phi = lambda (m l^2 G + A D'D)
    phi must have sqrt(lambda) h < STABLE, with the mass matrix G of the rods' directions and the differences D.

    Args:
        length, mass: of one rod [m, kg]. tension: [N]. timestep: [s].
    """
    i = np.arange(1, rods + 1)
    G = rods - np.maximum.outer(i, i) + 0.5 - np.eye(rods) / 6
    D = np.eye(rods) - np.eye(rods, k=-1)

    def frequency(A: float) -> float:
        inertia = mass * length**2 * G + A * D.T @ D
        return float(np.sqrt(scipy.linalg.eigh(tension * length * np.eye(rods), inertia, eigvals_only=True)[-1]))

    low, high = 1e-14, 1e-2
    while high > 1.01 * low:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if frequency(middle) * timestep < STABLE else (middle, high)
    return high


@dataclass(frozen=True)
class Thread(SceneObject):
    """A thread of constant length whose first rod is swaged to a needle, which precedes it in the list of objects.

    It bends and twists at the joints between its rods and is touched by arms and solids. It does not touch itself,
    needles or the surface of tissue, so it cannot be knotted. It breaks when the tension reaches `strength`; up to that
    tension the chain is stable. It can part at the needle and at `cuts` joints, evenly spaced: there it breaks, and a
    blade that crosses it elsewhere cuts it at the nearest of them.

    Attributes:
        name: unique name. needle: name of its needle.
        length: [m]. segments: number of rods. diameter: [m]. density: [kg/m^3]. young: [Pa], of bending.
        strength: tension at which it breaks [N]. friction: coefficient of Coulomb friction.
        cuts: number of joints at which it can part, besides the needle; each costs three degrees of freedom.
        knot: a stopper at its free end, which does not enter tissue.
        colour: (red, green, blue).
    """

    name: str
    needle: str
    length: float = 0.14
    segments: int = 24
    diameter: float = 0.25e-3
    density: float = 1100.0
    young: float = 5e8
    strength: float = 5.0
    friction: float = 0.3
    cuts: int = 0
    knot: bool = False
    colour: tuple[float, float, float] = (0.15, 0.20, 0.55)
    pose: ArrayLike = field(default_factory=lambda: np.eye(4), init=False, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_name(self.needle)
        for key, (low, high, unit) in THREAD_RANGES.items():
            checks.number(f"{key} of {self.name}", getattr(self, key), low, high, unit)
        checks.attributes(self, self.name, not_negative=("friction",))
        checks.count(f"segments of {self.name}", self.segments, low=2, high=MAX_RODS)
        checks.count(f"cuts of {self.name}", self.cuts, low=0, high=self.segments - 1)

    @property
    def rod(self) -> float:
        """Length of a rod [m]."""
        return self.length / self.segments

    def body(self, rod: int) -> str:
        """Name of a rod in the model."""
        return OBJECT + self.name if rod == 0 else f"{OBJECT}{self.name}/{rod}"

    @property
    def parts(self) -> tuple[int, ...]:
        """Rods before which it can part: the first, at the needle, and those of `cuts`."""
        return (0, *(round(k * self.segments / (self.cuts + 1)) for k in range(1, self.cuts + 1)))

    def slide(self, rod: int, axis: str) -> str:
        """Name of a slide of a rod, which is locked until the thread parts before it."""
        return f"{OBJECT}{self.name}/part{rod}/{axis}"

    def add_to(self, spec: mujoco.MjSpec) -> None:
        body = spec.body(OBJECT + self.needle)
        if body is None or not body.geoms:
            raise TrocarError(f"{self.name} needs the needle {self.needle!r} before it in the list of objects")
        # x of the rods continues the wire at its tail, where the first capsule starts
        point, z = np.array(body.geoms[0].fromto[:3]), np.array([0.0, 0.0, 1.0])
        x = np.cross(point / np.linalg.norm(point), z)
        turn = quaternion(np.stack([x, np.cross(z, x), z], axis=1))
        r, l = self.diameter / 2, self.rod
        mass = MASS_SCALE * self.density * np.pi * r**2 * l
        A = armature(self.segments, l, mass, self.strength, spec.option.timestep)
        k = self.young * np.pi * r**4 / 4 / l
        for i in range(self.segments):
            start = {"pos": point, "quat": turn} if i == 0 else {"pos": [l, 0.0, 0.0]}
            body = body.add_body(name=self.body(i), gravcomp=1.0 - 1.0 / MASS_SCALE, **start)
            for axis, along in zip("xyz", np.eye(3), strict=True) if i in self.parts else ():
                joint = body.add_joint(name=self.slide(i, axis), type=mujoco.mjtJoint.mjJNT_SLIDE, axis=along)
                spec.add_equality(
                    name=joint.name,
                    type=mujoco.mjtEq.mjEQ_JOINT,
                    objtype=mujoco.mjtObj.mjOBJ_JOINT,
                    name1=joint.name,
                    solref=HARD_SOLREF,
                    solimp=GRIP_SOLIMP,
                    data=np.zeros(12),
                )
            for hinge in np.eye(3)[1:]:
                joint = body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=hinge, armature=A)
                joint.stiffness, joint.damping = [k, 0.0, 0.0], [2.0 * A / SETTLING, 0.0, 0.0]
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CAPSULE,
                fromto=[0.0, 0.0, 0.0, l, 0.0, 0.0],
                size=[r, 0.0, 0.0],
                mass=mass,
                group=OBJECT_GROUP,
                rgba=[*self.colour, 1.0],
                contype=0,
                conaffinity=ANYTHING,
                priority=FIXED_PRIORITY,
                condim=3,
                friction=[self.friction, 0.0, 0.0],
                solref=HARD_SOLREF,
                solimp=GRIP_SOLIMP,
            )

    def placed(self, model: mujoco.MjModel, data: mujoco.MjData) -> PlacedThread:
        return PlacedThread(self, model, data)


class PlacedThread(PlacedObject):
    """A thread in the state of a simulation.

    Attributes:
        tension: force between needle and thread in the last step [N]. rods: ids of its bodies.
        parted: rods before which it has parted; 0 is the first one, at the needle.
    """

    thing: Thread
    parted: tuple[int, ...]

    def __init__(self, thing: Thread, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(thing, model, data)
        self.rods = [int(model.body(thing.body(i)).id) for i in range(thing.segments)]
        self._locks = {i: [int(model.equality(thing.slide(i, axis)).id) for axis in "xyz"] for i in thing.parts}
        self._share = 1.0 - np.exp(-model.opt.timestep / RUPTURE)
        self.reset()

    @property
    def attached(self) -> bool:
        """False once it has come off the needle."""
        return 0 not in self.parted

    def meet(self, objects: Mapping[str, PlacedObject]) -> None:
        if not isinstance(objects[self.thing.needle].thing, Needle):
            raise TrocarError(f"{self.thing.needle} is not a needle: {self.thing.name} cannot be swaged to it")

    @property
    def points(self) -> Array:
        """Positions (segments + 1, 3) of its joints and its end, from the needle on, in the base [m]."""
        mujoco.mj_kinematics(self._model, self._data)
        end = self._data.xpos[self.rods[-1]] + self.thing.rod * self._data.xmat[self.rods[-1]].reshape(3, 3)[:, 0]
        return np.array([*self._data.xpos[self.rods], end])

    @property
    def tensions(self) -> Array:
        """Force (segments,) that each rod takes from the one before it, from the needle on, in the last step [N]."""
        model, data = self._model, self._data
        mujoco.mj_rnePostConstraint(model, data)
        force = data.cfrc_int[self.rods, 3:].copy()
        # gravity compensation is a force that mj_rnePostConstraint does not know
        held = (model.body_gravcomp * model.body_mass)[self.rods]
        force += np.cumsum(held[::-1])[::-1, None] * model.opt.gravity
        return np.asarray(np.linalg.norm(force, axis=1))

    def cut(self, path: ArrayLike) -> int:
        """Cut it where a blade crosses it, or rather at the nearest joint at which it can part.

        path: successive places (n, 2, 3) of the two ends of the blade's edge in the base [m]. Returns the number of
        joints that parted: 0 if the blade does not cross it.
        """
        path, points = checked_path(path), self.points
        parts = np.array(self.thing.parts)
        cut = set()
        for first, second in pairwise(path):
            for triangle in ((first[0], first[1], second[1]), (first[0], second[1], second[0])):
                for at in np.flatnonzero(crosses(points, np.array(triangle))).tolist():
                    cut.add(int(parts[np.argmin(np.abs(parts - (at + 0.5)))]))
        new = sorted(cut.difference(self.parted))
        for i in new:
            self._part(i)
        return len(new)

    def _part(self, rod: int) -> None:
        self.parted = tuple(sorted({*self.parted, rod}))
        self._data.eq_active[self._locks[rod]] = 0
        if rod == 0:
            self.tension = 0.0

    def reset(self) -> None:
        self.tension = 0.0
        self.parted = ()
        self._loads = dict.fromkeys(self._locks, 0.0)

    def after_step(self) -> None:
        data = self._data
        rows = data.efc_id[: data.ne].tolist()
        for rod, locks in self._locks.items():
            if rod in self.parted:
                continue
            first = rows.index(locks[0])
            tension = hypot(*data.efc_force[first : first + 3].tolist())
            if rod == 0:
                self.tension = tension
            self._loads[rod] += self._share * (tension - self._loads[rod])
            if self._loads[rod] > self.thing.strength:
                self._part(rod)

    @property
    def memory(self) -> Any:
        return self.tension, self.parted, dict(self._loads)

    @memory.setter
    def memory(self, memory: Any) -> None:
        self.tension, self.parted, loads = memory
        self._loads = dict(loads)
        for rod, locks in self._locks.items():
            self._data.eq_active[locks] = int(rod not in self.parted)
