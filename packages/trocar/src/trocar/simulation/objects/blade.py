"""Blades: scissors or a cautery tool of an arm, or a solid such as a scalpel, that cut what they pass through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms.instruments import R_YAW_TIP
from trocar.errors import TrocarError, check_known
from trocar.simulation.objects.scene_object import OBJECT, PlacedObject, SceneObject, check_name
from trocar.spatial import Array

FINGERS = ("finger_left", "finger_right")
STROKE = 5e-4  # distance that an edge moves between two cuts [m]


@dataclass(frozen=True)
class Blade(SceneObject):
    """The edge of scissors on an arm, or a straight edge on a solid. It has no body of its own.

    Scissors cut between their blades while they close: the blades overlap by `overlap`, so at an opening a [rad] they
    have cut up to overlap / a from the hinge. A solid cuts what its edge sweeps. Contact keeps a solid out of tissue:
    its edge must extend beyond its shapes by about half a millimetre.

    Attributes:
        name: unique name. carrier: name of an arm with scissors, or of a solid.
        edge: two ends (2, 3) of the edge in the frame of a solid [m]; of an arm, None.
        length: of the blades of scissors, from their hinge [m]. overlap: of closed blades, across them [m].
        cuts: names of the objects that it cuts. Default: all that can be cut.
    """

    name: str
    carrier: str
    edge: ArrayLike | None = None
    length: float = 0.01
    overlap: float = 1e-3
    cuts: Sequence[str] = ()
    pose: ArrayLike = field(default_factory=lambda: np.eye(4), init=False, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_name(self.carrier)
        checks.attributes(self, self.name, positive=("length", "overlap"))
        if self.edge is not None:
            ends = np.asarray(self.edge, dtype=float)
            if (
                ends.shape != (2, 3)
                or not np.isfinite(ends).all()
                or np.allclose(ends[0], ends[1], rtol=0.0, atol=1e-9)
            ):
                raise TrocarError(f"edge of {self.name} must be two different points (3,) [m], got {self.edge!r}")

    @property
    def partners(self) -> tuple[str, ...]:
        return (self.carrier, *self.cuts)

    def add_to(self, spec: mujoco.MjSpec) -> None:
        spec.worldbody.add_body(name=OBJECT + self.name)

    def placed(self, model: mujoco.MjModel, data: mujoco.MjData) -> PlacedBlade:
        return PlacedBlade(self, model, data)


class PlacedBlade(PlacedObject):
    """A blade in the state of a simulation.

    Attributes:
        severed: number of cells, tetrahedra, ties and joints of threads that it has cut since the last reset.
    """

    thing: Blade

    def __init__(self, thing: Blade, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(thing, model, data)
        self._targets: list[PlacedObject] = []
        self._bodies: list[int] = []
        self._jaw = 0
        self.reset()

    def meet(self, objects: Mapping[str, PlacedObject]) -> None:
        model, thing = self._model, self.thing
        able = [name for name, placed in objects.items() if type(placed).cut is not PlacedObject.cut]
        check_known("object that can be cut", able, *thing.cuts)
        self._targets = [objects[name] for name in thing.cuts or able]
        if thing.carrier in objects:
            if thing.edge is None:
                raise TrocarError(f"{thing.name} on {thing.carrier} needs an edge: two points in its frame [m]")
            self._bodies = [objects[thing.carrier].body]
            return
        names = {model.body(i).name for i in range(model.nbody)}
        prefix = f"{thing.carrier}/" if f"{thing.carrier}/{FINGERS[0]}" in names else ""
        if prefix + FINGERS[0] not in names or thing.edge is not None:
            raise TrocarError(
                f"{thing.name}: {thing.carrier} must be an arm with jaws, without an edge, or a solid, with an edge"
            )
        self._bodies = [int(model.body(prefix + finger).id) for finger in FINGERS]
        self._jaw = int(model.joint(prefix + FINGERS[1]).qposadr[0])

    def reset(self) -> None:
        self.severed = 0
        self._last: Array | None = None  # places of the edge at the last cut
        self._reach = 0.0  # distance from the hinge that closing scissors have cut [m]

    def after_step(self) -> None:
        if len(self._bodies) == 2:
            self._close()
        else:
            self._sweep()

    def _close(self) -> None:
        """Cut between the blades of scissors, as far as they overlap."""
        opening, thing = float(self._data.qpos[self._jaw]), self.thing
        reach = thing.length if opening * thing.length <= thing.overlap else thing.overlap / opening
        if reach < self._reach - STROKE:
            self._reach = reach  # they open
        whole = reach == thing.length and self._reach < reach
        if reach > self._reach + STROKE or whole:
            self._reach = reach
            hinge, along = self._data.xpos[self._bodies[0]], reach * R_YAW_TIP[:, 2]
            ends = [hinge + self._data.xmat[body].reshape(3, 3) @ along for body in self._bodies]
            self._cut(np.array([[hinge, ends[0]], [hinge, ends[1]]]))

    def _sweep(self) -> None:
        """Cut what the edge has passed since the last cut."""
        body = self._bodies[0]
        edge = np.asarray(self.thing.edge) @ self._data.xmat[body].reshape(3, 3).T + self._data.xpos[body]
        if self._last is None:
            self._last = edge
        elif np.abs(edge - self._last).max() > STROKE:
            path, self._last = np.array([self._last, edge]), edge
            self._cut(path)

    def _cut(self, path: Array) -> None:
        self.severed += sum(target.cut(path) for target in self._targets)

    @property
    def memory(self) -> Any:
        return self.severed, self._last, self._reach

    @memory.setter
    def memory(self, memory: Any) -> None:
        self.severed, self._last, self._reach = memory
