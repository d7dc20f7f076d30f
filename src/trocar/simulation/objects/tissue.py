"""Tissue: an elastic block on coarse trilinear cells with a finer surface, which a needle can pierce."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import Inaccurate, TrocarError, check_known
from trocar.simulation.objects.piercing import Passage, Piercing, TissueEvent, TissuePoint
from trocar.simulation.objects.scene_object import (
    ANYTHING,
    OBJECT,
    OBJECT_GROUP,
    SOFT_PRIORITY,
    TISSUES,
    PlacedObject,
    SceneObject,
    check_name,
)
from trocar.simulation.objects.soft_slab import SOFT_SOLIMP
from trocar.simulation.objects.solid import HARD_SOLREF
from trocar.simulation.objects.strand import Strand
from trocar.simulation.objects.tissue_grid import FACES, TissueGrid
from trocar.simulation.objects.tissue_points import PointRows, add_beads, add_ties
from trocar.spatial import Array, checked_pose, quaternion

MAX_CELLS = 500  # of a tissue; a step of so many takes 10 ms
MAX_SURFACE = 20_000  # nodes of the surface
RADIUS = 1e-5  # of the flex's skin [m]
TOLERANCE = 1e-8  # of the solver; the arm's 1e-14 is out of reach between light nodes
CHECKED = 20  # steps between two checks for inverted cells


@dataclass(frozen=True)
class Tissue(SceneObject):
    """A box of tissue: a St. Venant-Kirchhoff solid on trilinear cells. Needs accuracy="discrete".

    The cells carry the deformation, and the cost grows with their number; contact uses a finer mesh of the same box.
    Two tissues side by side are the edges of a wound: they collide with each other.

    Attributes:
        name: unique name.
        size: edges (3,) [m] along its axes. pose: T_base_tissue (4, 4) of its centre.
        cells: number of cells along each axis. mesh: largest edge of the surface that is touched [m].
        fixed: faces that are held in place, of "-x", "+x", "-y", "+y", "-z" and "+z".
        young: [Pa]. poisson: below 0.5; above 0.45, cells this coarse are too stiff.
        damping: time constant of its viscosity [s]. density: [kg/m^3].
        weightless: leave out its weight; a block modelled in place is in equilibrium with it already.
        friction: coefficient of Coulomb friction of its surface.
        piercing: forces at a needle that pierces it. Default: needles pass through it without a force.
        colour: (red, green, blue).
    """

    soft: ClassVar[bool] = True

    name: str
    size: ArrayLike
    pose: ArrayLike = field(default_factory=lambda: np.eye(4))
    cells: Sequence[int] = (5, 2, 2)
    mesh: float = 4e-3
    fixed: Sequence[str] = ("-z",)
    young: float = 4e4
    poisson: float = 0.45
    damping: float = 0.02
    density: float = 1000.0
    weightless: bool = True
    friction: float = 0.5
    piercing: Piercing | None = None
    colour: tuple[float, float, float] = (0.80, 0.42, 0.38)

    def __post_init__(self) -> None:
        check_name(self.name)
        size = checks.lengths(f"size of {self.name}", self.size)
        positive = ("young", "density", "mesh")
        checks.attributes(self, self.name, positive=positive, not_negative=("friction", "damping"))
        if not 0 <= self.poisson < 0.5:
            raise TrocarError(f"poisson of {self.name} must be at least 0 and below 0.5, got {self.poisson!r}")
        checked_pose(self.pose)
        check_known(f"face of {self.name}", FACES, *self.fixed)
        if not self.fixed or len(set(self.fixed)) == len(FACES):
            raise TrocarError(f"{self.name} needs a fixed face and a free one, got fixed={tuple(self.fixed)}")
        if len(self.cells) != 3:
            raise TrocarError(f"cells of {self.name} must be three numbers, got {self.cells!r}")
        for count in self.cells:
            checks.count(f"cells of {self.name}", count)
        if np.prod(self.cells) > MAX_CELLS:
            raise TrocarError(f"{self.name} has {np.prod(self.cells)} cells, at most {MAX_CELLS} are simulated")
        if np.prod(1.0 + np.ceil(size / self.mesh)) > MAX_SURFACE:
            raise TrocarError(f"the mesh of {self.name} is too fine: use a larger mesh than {self.mesh:g} m")

    def add_to(self, spec: mujoco.MjSpec) -> None:
        size, T = np.asarray(self.size, dtype=float), np.asarray(self.pose, dtype=float)
        base = spec.worldbody.add_body(name=OBJECT + self.name, pos=T[:3, 3], quat=quaternion(T[:3, :3]))
        if self.piercing is not None:
            add_beads(base, OBJECT + self.name, self.piercing.points)
        beads = len(base.bodies)
        count = np.maximum(2, 1 + np.ceil(size / self.mesh - 1e-9).astype(int))
        flex = base.make_flex(
            name=OBJECT + self.name,
            type="grid",
            dim=3,
            dof="trilinear",
            count=count,
            cellcount=self.cells,
            spacing=(size - 2 * RADIUS) / (count - 1),
            radius=RADIUS,
            mass=self.density * float(size.prod()),
        )
        flex.young, flex.poisson, flex.damping = self.young, self.poisson, self.damping
        flex.selfcollide = mujoco.mjtFlexSelf.mjFLEXSELF_NONE
        flex.contype, flex.conaffinity = TISSUES, ANYTHING | TISSUES
        flex.priority, flex.condim, flex.friction = SOFT_PRIORITY, 3, [self.friction, 0.0, 0.0]
        flex.solref, flex.solimp = HARD_SOLREF, SOFT_SOLIMP
        flex.group, flex.rgba = OBJECT_GROUP, [*self.colour, 1.0]
        spec.option.tolerance = TOLERANCE
        nodes = list(base.bodies)[beads:]
        places = np.array([node.pos for node in nodes])
        held = np.zeros(len(nodes), dtype=bool)
        for axis, sign in (FACES[face] for face in self.fixed):
            held |= np.isclose(sign * places[:, axis], (sign * places[:, axis]).max(), rtol=0.0, atol=1e-9)
        free = []
        for node, fixed in zip(nodes, held, strict=True):
            node.gravcomp = float(self.weightless)
            if fixed:
                for joint in list(node.joints):
                    spec.delete(joint)
            else:
                for joint, letter in zip(node.joints, "xyz", strict=True):
                    joint.name = f"{node.name}/{letter}"
                free.append(node.name)
        if self.piercing is not None:
            add_ties(spec, OBJECT + self.name, free, self.piercing.points)

    def placed(self, model: mujoco.MjModel, data: mujoco.MjData) -> PlacedTissue:
        return PlacedTissue(self, model, data)


class PlacedTissue(PlacedObject):
    """A tissue in the state of a simulation.

    Attributes:
        grid: its deformation.
    """

    thing: Tissue

    def __init__(self, thing: Tissue, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(thing, model, data)
        x, y, z = thing.cells
        self.grid = TissueGrid(model, data, thing.name, (x, y, z), thing.fixed)
        self._passage: Passage | None = None
        self._inverted: list[TissueEvent] = []
        self._steps, self._warned = 0, False

    def meet(self, objects: Mapping[str, PlacedObject]) -> None:
        piercing = self.thing.piercing
        if piercing is None:
            return
        strand = Strand.of(piercing.needle, objects, self._data)
        if objects[piercing.needle].body > self.body:
            # in the other order MuJoCo's sparse solver fails when a point changes from one rod of a thread to the next
            raise TrocarError(f"{piercing.needle} must come before {self.thing.name} in the list of objects")
        rows = PointRows(self._model, self._data, OBJECT + self.thing.name, self.grid, piercing.points)
        self._passage = Passage(piercing, self.grid, rows, strand, self._data)

    @property
    def events(self) -> list[TissueEvent]:
        """Events since the last reset: touch, puncture, entry, exit, ..., with times [s] and forces [N]."""
        passed = [] if self._passage is None else self._passage.events
        return sorted([*passed, *self._inverted], key=lambda event: event.time)

    @property
    def forces(self) -> list[TissuePoint]:
        """The points at which needle and thread are in the tissue, from the needle's point on, with their forces."""
        return [] if self._passage is None else self._passage.forces()

    @property
    def force(self) -> Array:
        """Force (3,) [N] of the tissue on needle and thread in the last step, base axes; without surface contact."""
        return np.zeros(3) if self._passage is None else self._passage.force

    def position(self, X: ArrayLike) -> Array:
        """Current position (3,) in the base [m] of the material point that is at X (3,) at rest, in its frame [m]."""
        X = checks.three_numbers("X", X, "in the frame of the tissue [m]")
        return np.asarray(self.grid.R @ self.grid.place(X) + self.grid.p)

    @property
    def inverted(self) -> list[tuple[int, int, int]]:
        """Cells that are turned inside out now. Their forces are meaningless."""
        return self.grid.inverted()

    def reset(self) -> None:
        self._inverted, self._steps = [], 0
        if self._passage is not None:
            self._passage.reset()

    def after_step(self) -> None:
        self._steps += 1
        if self._steps % CHECKED == 0 and not self._inverted:
            self._check_inverted()
        if self._passage is not None:
            self._passage.update()

    def _check_inverted(self) -> None:
        """Record the first inverted cells, and warn once."""
        cells = self.grid.inverted()
        if not cells:
            return
        time, name = float(self._data.time), self.thing.name
        self._inverted = [TissueEvent(time, "inverted", 0.0, tuple(float(i) for i in cells[0]))]
        if not self._warned:
            self._warned = True
            message = f"{len(cells)} cells of {name} are inside out at t = {time:.4g} s, the first is {cells[0]}"
            warnings.warn(f"{message}: use less force, a larger young or smaller cells", Inaccurate, stacklevel=4)

    @property
    def memory(self) -> Any:
        passage = None if self._passage is None else self._passage.memory
        return tuple(self._inverted), self._steps, passage

    @memory.setter
    def memory(self, memory: Any) -> None:
        inverted, self._steps, passage = memory
        self._inverted = list(inverted)
        if self._passage is not None:
            self._passage.memory = passage
