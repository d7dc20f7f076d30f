"""Soft objects: a block of elastic tissue, which can be cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError
from trocar.simulation.objects.cutting import Elements, checked_path, crossed, flex_id, flex_tetrahedra, swept
from trocar.simulation.objects.scene_object import (
    OBJECT,
    OBJECT_GROUP,
    SOFT_PRIORITY,
    PlacedObject,
    SceneObject,
    check_name,
    node_count,
)
from trocar.simulation.objects.solid import HARD_SOLREF
from trocar.spatial import Array, checked_pose, quaternion

MAX_NODES = 20_000  # of a slab; a step of so many already takes seconds
SOFT_SOLIMP = (0.9, 0.95, 1e-3, 0.5, 2.0)  # if harder, the solver fails to converge between light nodes and fingers


@dataclass(frozen=True)
class SoftSlab(SceneObject):
    """A soft block of linear elastic tetrahedra whose lower face is fixed to the base. Needs accuracy="discrete".

    Attributes:
        name: unique name.
        size: edges (3,) [m] along its axes. pose: T_base_slab (4, 4) of its centre; z points to the free face.
        young: [Pa]. poisson: below 0.5. damping: time constant of its viscosity [s].
        density: [kg/m^3]. spacing: largest edge of the grid [m]; the cost grows with the number of nodes.
        friction: coefficient of Coulomb friction, also against a `Solid`. colour: (red, green, blue).
    """

    soft: ClassVar[bool] = True

    name: str
    size: ArrayLike
    pose: ArrayLike = field(default_factory=lambda: np.eye(4))
    young: float = 3e4
    poisson: float = 0.45
    damping: float = 0.01
    density: float = 1000.0
    spacing: float = 5e-3
    friction: float = 0.3
    colour: tuple[float, float, float] = (0.80, 0.42, 0.38)

    def __post_init__(self) -> None:
        check_name(self.name)
        checks.lengths(f"size of {self.name}", self.size)
        checks.attributes(
            self, self.name, positive=("young", "density", "spacing"), not_negative=("friction", "damping")
        )
        if not 0 <= self.poisson < 0.5:
            raise TrocarError(f"poisson of {self.name} must be at least 0 and below 0.5, got {self.poisson!r}")
        checked_pose(self.pose)
        nodes = node_count(self.size, self.spacing)
        if nodes > MAX_NODES:
            raise TrocarError(
                f"{self.name} would have {nodes:.3g} nodes, at most {MAX_NODES} are simulated; use a smaller size or a "
                f"larger spacing than {self.spacing:g} m"
            )

    @property
    def count(self) -> tuple[int, int, int]:
        """Nodes along each edge."""
        x, y, z = (max(2, 1 + int(np.ceil(edge / self.spacing - 1e-9))) for edge in np.asarray(self.size, dtype=float))
        return x, y, z

    def add_to(self, spec: mujoco.MjSpec) -> None:
        size, T, count = np.asarray(self.size, dtype=float), np.asarray(self.pose, dtype=float), self.count
        base = spec.worldbody.add_body(name=OBJECT + self.name, pos=T[:3, 3], quat=quaternion(T[:3, :3]))
        # the skin of a flex extends by its radius, so the grid is smaller by that amount
        radius = 1e-3 * float(size.min())
        spacing = (size - 2 * radius) / (np.array(count) - 1)
        flex = base.make_flex(
            name=OBJECT + self.name,
            type="grid",
            dim=3,
            count=count,
            spacing=spacing,
            radius=radius,
            mass=self.density * float(size.prod()),
        )
        flex.young, flex.poisson, flex.damping = self.young, self.poisson, self.damping
        flex.selfcollide = mujoco.mjtFlexSelf.mjFLEXSELF_NONE
        flex.priority, flex.condim, flex.friction = SOFT_PRIORITY, 3, [self.friction, 0.0, 0.0]
        flex.solref, flex.solimp = HARD_SOLREF, SOFT_SOLIMP
        flex.group, flex.rgba = OBJECT_GROUP, [*self.colour, 1.0]
        lowest = -(size[2] / 2 - radius)
        for node in list(base.bodies):
            if node.pos[2] < lowest + 1e-9:
                for joint in list(node.joints):
                    spec.delete(joint)

    def placed(self, model: mujoco.MjModel, data: mujoco.MjData) -> PlacedSlab:
        return PlacedSlab(self, model, data)


class PlacedSlab(PlacedObject):
    """A slab in the state of a simulation, which can be cut."""

    def __init__(self, thing: SoftSlab, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(thing, model, data)
        flex = flex_id(model, OBJECT + thing.name)
        self._tetrahedra = flex_tetrahedra(model, flex)
        bodies = model.flex_vertbodyid[int(model.flex_vertadr[flex]) :]
        self._elements = Elements(model, flex, bodies[self._tetrahedra], np.arange(len(self._tetrahedra)))
        self._edge = float(np.min(np.asarray(thing.size) / (np.array(thing.count) - 1)))

    def cut(self, path: ArrayLike) -> int:
        """Remove the tetrahedra that a blade crosses, and return their number. The cut is as wide as they are.

        path: successive places (n, 2, 3) of the two ends of the blade's edge in the base [m].
        """
        points = swept(checked_path(path), self._edge / 4)
        return self._elements.remove(crossed(self.vertices[self._tetrahedra], points))

    @property
    def intact(self) -> Array:
        """True (n,) for tetrahedra that were not cut."""
        return self._elements.intact.copy()

    @property
    def faces(self) -> Array:
        return self._elements.faces

    def reset(self) -> None:
        self._elements.set_intact(np.ones_like(self._elements.intact))

    @property
    def memory(self) -> Any:
        return self._elements.intact

    @memory.setter
    def memory(self, memory: Any) -> None:
        self._elements.set_intact(memory)
