"""A suture thread that touches itself, so that it can be knotted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.appearance.studio import Trace
from trocar.errors import TrocarError, check_known
from trocar.simulation.knots import Knot, knot
from trocar.simulation.objects.blade import FINGERS
from trocar.simulation.objects.filament_steps import FilamentSteps, Material, TouchedSolid, resampled
from trocar.simulation.objects.scene_object import OBJECT, PlacedObject, SceneObject, check_name
from trocar.simulation.objects.thread import MASS_SCALE, THREAD_RANGES
from trocar.simulation.objects.thread_grip import ThreadGrip
from trocar.spatial import Array

MAX_MASSES = 2000
CARRIER = "/on/"  # in the names of the bodies that carry its forces
MIN_ROD = 0.9  # shortest rod [diameters]: contact would cost more and tell no more
# A held end does not touch its holder over this length of the thread [m]: the jaws are closed about it.
IN_HAND = 0.015
REACH = 0.02  # largest distance of a held end from the jaws' hinge, or from the solid's origin [m]
LINE_WIDTH = 3.0  # in pictures [pixels]
SHAPES = {
    int(mujoco.mjtGeom.mjGEOM_SPHERE): "sphere",
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): "capsule",
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): "cylinder",
    int(mujoco.mjtGeom.mjGEOM_BOX): "box",
}


@dataclass(frozen=True)
class Filament(SceneObject):
    """A thread that can be knotted: it touches itself, arms and fixed solids, with friction that does not creep.

    It is not part of MuJoCo's model but steps beside it, in microseconds, and acts on the arms with the mean force of a
    step in the next one. A C compiler is needed. It does not touch free objects or tissue, and its ends do not twist.
    Jaws that close on it grip it by friction.

    Attributes:
        name: unique name.
        points: line (m, 3) along which it lies at reset, at rest, in the world [m]; its length is its own.
        ends: names of the arms or fixed solids that hold its first and last point; None leaves an end free. A held
            end moves with the jaws, or the solid, and can turn; the thread next to it does not touch its holder.
        rod: length between two masses [m]. diameter: [m]. density: [kg/m^3]. young: [Pa], of stretching and bending.
        friction: coefficient of Coulomb friction with itself and all that it touches.
        drag: rate at which its motion decays [1/s]. colour: (red, green, blue).
    """

    name: str
    points: ArrayLike
    ends: tuple[str | None, str | None] = (None, None)
    rod: float = 0.5e-3
    diameter: float = 0.25e-3
    density: float = 1100.0
    young: float = 5e8
    friction: float = 0.3
    drag: float = 2.0
    colour: tuple[float, float, float] = (0.15, 0.20, 0.55)
    pose: ArrayLike = field(default_factory=lambda: np.eye(4), init=False, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        for key in ("diameter", "density", "young"):
            low, high, unit = THREAD_RANGES[key]
            checks.number(f"{key} of {self.name}", getattr(self, key), low, high, unit)
        checks.attributes(self, self.name, not_negative=("friction", "drag"))
        checks.number(f"rod of {self.name}", self.rod, MIN_ROD * self.diameter, 1.0, "m")
        points = np.asarray(self.points, dtype=float)
        if points.ndim != 2 or points.shape[1:] != (3,) or len(points) < 2 or not np.isfinite(points).all():
            raise TrocarError(f"points of {self.name} must be a line through 2 or more points (m, 3) [m]")
        length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        if not 2.0 * self.rod <= length <= MAX_MASSES * self.rod:
            raise TrocarError(
                f"{self.name} is {1e3 * length:.3g} mm long: with rods of {1e3 * self.rod:.3g} mm it must be "
                f"{2e3 * self.rod:.3g} to {1e3 * MAX_MASSES * self.rod:.3g} mm long; change points or rod"
            )
        if not isinstance(self.ends, Sequence) or len(self.ends) != 2:
            raise TrocarError(f"ends of {self.name} are two names of arms or solids, or None, got {self.ends!r}")

    @property
    def partners(self) -> tuple[str, ...]:
        return tuple(end for end in self.ends if end is not None)

    @property
    def material(self) -> Material:
        """Its material."""
        return Material(self.diameter, self.density, self.young, self.friction, MASS_SCALE, self.drag)

    def add_to(self, spec: mujoco.MjSpec) -> None:
        arms = [body for body in spec.bodies if body.name != "world" and not body.name.startswith(OBJECT)]
        spec.worldbody.add_body(name=OBJECT + self.name)
        for body in arms:
            # a part of the link without a mass or a shape, on which nothing else acts
            if body.name.rpartition("/")[2] in FINGERS or any(
                _touched(int(geom.type), geom.contype) for geom in body.geoms
            ):
                body.add_body(name=OBJECT + self.name + CARRIER + body.name)

    def placed(self, model: mujoco.MjModel, data: mujoco.MjData) -> PlacedFilament:
        return PlacedFilament(self, model, data)


def _touched(kind: int, contype: int) -> bool:
    """True for shapes that a thread touches, by their type and the mask of their contacts."""
    return kind in SHAPES and contype != 0


class PlacedFilament(PlacedObject):
    """A thread that can be knotted, in the state of a simulation.

    Attributes:
        steps: its masses and their state. grips: of the jaws of arms, by arm ("" for one whose base is the world).
    """

    thing: Filament

    def __init__(self, thing: Filament, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(thing, model, data)
        names = [str(model.body(i).name) for i in range(model.nbody)]
        self._geoms = [
            g
            for g, kind in enumerate(model.geom_type.tolist())
            if _touched(kind, int(model.geom_contype[g])) and self._of_arm_or_fixed(g, names)
        ]
        points, rod = resampled(np.asarray(thing.points, dtype=float), thing.rod)
        self._start, last = points, len(points) - 1
        self._holders = {k * last: self._holder(end, names) for k, end in enumerate(thing.ends) if end is not None}
        solids = []
        for g in self._geoms:
            x, y, z = model.geom_size[g].tolist()
            solids.append(TouchedSolid(SHAPES[int(model.geom_type[g])], (x, y, z)))
        self.grips = {names[grip.finger].rpartition("/")[0]: grip for grip in ThreadGrip.all(names, self._geoms, model)}
        solids += [grip.solid for grip in self.grips.values()]
        self.steps = FilamentSteps(points, rod, thing.material, list(self._holders), model.opt.gravity, solids)
        bodies = model.geom_bodyid[self._geoms]
        # bodies of arms that it touches or that hold it, and the body of each that carries its forces
        carriers = {
            i: names.index(on) for i, name in enumerate(names) if (on := OBJECT + thing.name + CARRIER + name) in names
        }
        self._carriers = {i: carrier for i, carrier in carriers.items() if i in {*bodies, *self._holders.values()}}
        in_hand = round(IN_HAND / rod)
        for end, holder in self._holders.items():
            near = slice(0, in_hand + 1) if end == 0 else slice(max(0, last - in_hand), last + 1)
            arm = names[holder].rpartition("/")[0]
            own = [names[b].rpartition("/")[0] == arm if holder in carriers else b == holder for b in bodies.tolist()]
            self.steps.passes[near, np.flatnonzero(own)] = True
        self._passes = self.steps.passes[:, : len(self._geoms)].copy()
        self._bodies = [*bodies.tolist(), *(grip.finger for grip in self.grips.values())]
        self._places = dict[int, Array]()  # of held ends in their holders, set by `reset`

    def _of_arm_or_fixed(self, geom: int, names: Sequence[str]) -> bool:
        body = int(self._model.geom_bodyid[geom])
        root = int(self._model.body_weldid[body])
        return not names[body].startswith(OBJECT) or root == 0

    def _holder(self, end: str, names: Sequence[str]) -> int:
        """The body that holds an end: a finger of an arm, or a fixed solid."""
        for name in (OBJECT + end, f"{end}/{FINGERS[0]}", FINGERS[0]):  # the last one of a single arm
            if name in names:
                body = names.index(name)
                break
        else:
            raise TrocarError(f"{self.thing.name}: {end} has no jaws and is no solid, and cannot hold an end")
        if names[body].startswith(OBJECT) and self._model.body_weldid[body] != 0:
            raise TrocarError(f"{self.thing.name}: {end} is not fixed; only arms and fixed solids can hold an end")
        return body

    def reset(self) -> None:
        model, data = self._model, self._data
        mujoco.mj_kinematics(model, data)
        self.steps.restart(self._start, self._frames())
        self.steps.passes[:, len(self._geoms) :] = True
        for i, body in self._holders.items():
            place = data.xmat[body].reshape(3, 3).T @ (self.steps.x[i] - data.xpos[body])
            if np.linalg.norm(place) > REACH:
                raise TrocarError(
                    f"an end of {self.thing.name} is {1e3 * np.linalg.norm(place):.3g} mm from the hinge of the jaws, "
                    f"or the origin of the solid, that hold it: at most {1e3 * REACH:g} mm; move its points there"
                )
            self._places[i] = place

    def _frames(self) -> Array:
        """Position and rotation matrix (k, 12) of every solid that it touches, and of every grip."""
        data, fingers = self._data, [grip.finger for grip in self.grips.values()]
        places = np.concatenate([data.geom_xpos[self._geoms], data.xpos[fingers]])
        turns = np.concatenate([data.geom_xmat[self._geoms], data.xmat[fingers]])
        return np.concatenate([places, turns], axis=1)

    def after_step(self) -> None:
        model, data, steps = self._model, self._data, self.steps
        ends = {
            i: data.xpos[body] + data.xmat[body].reshape(3, 3) @ self._places[i] for i, body in self._holders.items()
        }
        steps.passes[:, : len(self._geoms)] = self._passes
        for grip in self.grips.values():
            grip.update(steps, data)
        frames = self._frames()
        steps.advance(model.opt.timestep, ends, frames)
        for carrier in self._carriers.values():
            data.xfrc_applied[carrier] = 0.0
        for i, body in self._holders.items():
            if body in self._carriers:
                self._act(body, ends[i], steps.force[i], np.zeros(3))
        for place, body, wrench in zip(frames[:, :3], self._bodies, steps.wrench, strict=True):
            if body in self._carriers and wrench.any():
                self._act(body, place, wrench[:3], wrench[3:])

    def _act(self, body: int, point: Array, force: Array, moment: Array) -> None:
        carrier = self._carriers[body]
        applied = self._data.xfrc_applied[carrier]
        applied[:3] += force
        applied[3:] += moment + np.cross(point - self._data.xpos[body], force)

    @property
    def points(self) -> Array:
        """Positions (n, 3) of its masses in the base [m]."""
        return self.steps.x.copy()

    @property
    def line(self) -> Trace:
        return Trace(self.points, (*self.thing.colour, 1.0), LINE_WIDTH)

    @property
    def tension(self) -> tuple[float, float]:
        """Force of the thread on the holders of its two ends in the last step [N]; 0 at a free end."""
        first, last = (
            float(np.linalg.norm(self.steps.force[i])) if i in self._holders else 0.0 for i in (0, len(self._start) - 1)
        )
        return first, last

    def gripped(self, arm: str) -> Array:
        """Masses between the closed jaws of an arm, as indices of `points`."""
        return self._grip(arm).gripped(self.steps)

    def pull(self, arm: str) -> float:
        """Force of the thread on the jaws that grip it, in the last step [N]."""
        return float(np.linalg.norm(self.steps.wrench[self._grip(arm).column, :3]))

    def _grip(self, arm: str) -> ThreadGrip:
        check_known("arm with jaws", self.grips, arm)
        return self.grips[arm]

    @property
    def knot(self) -> Knot:
        """The knot in it."""
        return knot(self.steps.x)

    @property
    def memory(self) -> Any:
        # what acts in the next step, which a copy by `changed` does not take over
        applied = self._data.xfrc_applied[list(self._carriers.values())]
        return self.steps.memory, {i: place.copy() for i, place in self._places.items()}, applied

    @memory.setter
    def memory(self, memory: Any) -> None:
        self.steps.memory, places, self._data.xfrc_applied[list(self._carriers.values())] = memory
        self._places = {i: place.copy() for i, place in places.items()}
