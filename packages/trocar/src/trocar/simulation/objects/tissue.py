"""Tissue: an elastic body on coarse trilinear cells with a finer surface, which a needle can pierce."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import Inaccurate, TrocarError, check_known, check_type
from trocar.simulation.objects.closed_surface import ClosedSurface
from trocar.simulation.objects.cutting import Elements, checked_path, crossed, flex_id, flex_tetrahedra, swept
from trocar.simulation.objects.fast_solids import FastSolids
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
    node_count,
)
from trocar.simulation.objects.soft_slab import SOFT_SOLIMP
from trocar.simulation.objects.solid import HARD_SOLREF, Needle
from trocar.simulation.objects.strand import Strand
from trocar.simulation.objects.tetrahedra import filled, gmsh_text
from trocar.simulation.objects.tissue_boundary import FACES
from trocar.simulation.objects.tissue_grid import TissueGrid
from trocar.simulation.objects.tissue_material import Inclusion, checked_layers, moduli, nominal_stress
from trocar.simulation.objects.tissue_points import PointRows, add_beads, add_ties
from trocar.spatial import Array, checked_pose, quaternion

MAX_CELLS = 500  # of a tissue; a step of so many takes 10 ms
MAX_SURFACE = 20_000  # nodes of the surface
MESH_FILE = "tissue.msh"  # in memory
RADIUS, MIN_SIZE = 1e-5, 2.5e-5  # of the flex's skin, and edge of a tissue around it [m]
# Of the solver; the arm's 1e-14 is out of reach between light nodes. From 1e-7 on, some forces are off by 10 mN.
TOLERANCE = 3e-8
CHECKED = 20  # steps between two checks for inverted cells
TEARING = 5  # steps between two checks for torn cells


@dataclass(frozen=True)
class Tissue(SceneObject):
    """A body of tissue: a corotated linear solid on trilinear cells. Needs accuracy="discrete".

    Stress is linear in the stretch, at any rotation.
    The cells carry the deformation, and the cost grows with their number; contact uses a finer mesh of the same body.
    Two tissues side by side are the edges of a wound: they collide with each other.

    Attributes:
        name: unique name.
        size: edges (3,) [m] of its box along its axes. pose: T_base_tissue (4, 4) of the centre of the box.
        cells: number of cells along each axis. mesh: largest edge of the surface that is touched [m].
        fixed: faces of the box at which nodes of the cells are held in place, of "-x", "+x", "-y", "+y", "-z" and "+z".
        young: [Pa]. poisson: below 0.5; above 0.45, cells this coarse are too stiff.
        layers: thickness [m] and Young's modulus [Pa] of layers from the face +z down; below them it is `young`.
        inclusions: parts with another stiffness, which replace the layers. Cells that lie in several parts have the
            mean stiffness: make the borders of layers borders of cells.
        strength: nominal stress at which a cell tears [Pa]. Default: it does not tear.
        damping: time constant of its viscosity [s]. density: [kg/m^3].
        weightless: leave out its weight; a block modelled in place is in equilibrium with it already.
        friction: coefficient of Coulomb friction of its surface.
        piercing: forces at a needle that pierces it. Default: needles pass through it without a force.
        colour: (red, green, blue).
        surface: its shape, which is stretched to the box. Default: the box itself. Cells without tissue are left out,
            and cells that it fills in part have that part of the stiffness.
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
    layers: Sequence[tuple[float, float]] = ()
    inclusions: Sequence[Inclusion] = ()
    strength: float | None = None
    damping: float = 0.02
    density: float = 1000.0
    weightless: bool = True
    friction: float = 0.5
    piercing: Piercing | None = None
    colour: tuple[float, float, float] = (0.80, 0.42, 0.38)
    surface: ClosedSurface | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        size = checks.lengths(f"size of {self.name}", self.size)
        if size.min() < MIN_SIZE:
            raise TrocarError(f"size of {self.name} must be at least {MIN_SIZE:g} m, got {self.size!r}")
        positive = ("young", "density", "mesh")
        checks.attributes(self, self.name, positive=positive, not_negative=("friction", "damping"))
        if self.surface is not None:
            check_type(f"surface of {self.name}", self.surface, ClosedSurface, "a ClosedSurface")
        if not (checks.is_number(self.poisson) and 0 <= self.poisson < 0.5):
            raise TrocarError(f"poisson of {self.name} must be at least 0 and below 0.5, got {self.poisson!r}")
        checked_layers(self.layers, self.name)
        for name in ("fixed", "cells", "inclusions"):
            check_type(f"{name} of {self.name}", getattr(self, name), Sequence | np.ndarray, "a sequence")
        for inclusion in self.inclusions:
            check_type(f"an inclusion of {self.name}", inclusion, Inclusion, "an Inclusion(shape, young)")
        if self.strength is not None:
            checks.positive(f"strength of {self.name}", self.strength, "Pa")
        checked_pose(self.pose)
        check_known(f"face of {self.name}", FACES, *self.fixed)
        if not self.fixed or len(set(self.fixed)) == len(FACES):
            raise TrocarError(f"{self.name} needs a fixed face and a free one, got fixed={tuple(self.fixed)}")
        if len(self.cells) != 3:
            raise TrocarError(f"cells of {self.name} must be three numbers, got {self.cells!r}")
        for count in self.cells:
            checks.count(f"cells of {self.name}", count)
        if math.prod(self.cells) > MAX_CELLS:
            raise TrocarError(f"{self.name} has {math.prod(self.cells)} cells, at most {MAX_CELLS} are simulated")
        if node_count(size, self.mesh) > MAX_SURFACE:
            raise TrocarError(f"the mesh of {self.name} is too fine: use a larger mesh than {self.mesh:g} m")

    @cached_property
    def fitted(self) -> ClosedSurface | None:
        """The surface in the frame of the tissue [m]; None for a box."""
        # the skin of the flex is outside of its vertices
        return None if self.surface is None else self.surface.fitted(np.asarray(self.size, dtype=float) - 2 * RADIUS)

    def _make_flex(self, base: mujoco.MjsBody) -> mujoco.MjsFlex:
        """The flex with its mesh for contact, as a child of a body."""
        size = np.asarray(self.size, dtype=float)
        options: dict[str, Any] = {"name": OBJECT + self.name, "dim": 3, "dof": "trilinear", "radius": RADIUS}
        options["cellcount"] = self.cells
        if self.fitted is None:
            count = np.maximum(2, 1 + np.ceil(size / self.mesh - 1e-9).astype(int))
            spacing = (size - 2 * RADIUS) / (count - 1)
            mass = self.density * float(size.prod())
            try:
                return base.make_flex(type="grid", count=count, spacing=spacing, mass=mass, **options)
            except ValueError as error:
                raise TrocarError(f"{self.name} is too thin for its mesh of {self.mesh:g} m: {error}") from None
        with mujoco.MjVfs() as files:
            files[MESH_FILE] = gmsh_text(*self.tetrahedra).encode()
            mass = self.density * self.fitted.volume
            return base.make_flex(type="gmsh", file=MESH_FILE, vfs=files, mass=mass, **options)

    @cached_property
    def tetrahedra(self) -> tuple[Array, Array]:
        """Vertices (n, 3) [m] and tetrahedra (m, 4) of the mesh of a surface."""
        if self.fitted is None:
            raise TrocarError(f"{self.name} is a box without a surface")
        vertices, corners = filled(self.fitted, self.mesh)
        if len(vertices) > MAX_SURFACE:
            raise TrocarError(f"the mesh of {self.name} is too fine: use a larger mesh than {self.mesh:g} m")
        return vertices, corners

    def add_to(self, spec: mujoco.MjSpec) -> None:
        T = np.asarray(self.pose, dtype=float)
        base = spec.worldbody.add_body(name=OBJECT + self.name, pos=T[:3, 3], quat=quaternion(T[:3, :3]))
        if self.piercing is not None:
            add_beads(base, OBJECT + self.name, self.piercing.points)
        beads = len(base.bodies)
        flex = self._make_flex(base)
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

    @cached_property
    def lost_volume(self) -> float:
        """Volume of the surface over that of its mesh, whose edges cut corners; 1 for a box."""
        if self.fitted is None:
            return 1.0
        vertices, corners = self.tetrahedra
        edges = vertices[corners[:, 1:]] - vertices[corners[:, :1]]
        return self.fitted.volume / float(np.linalg.det(edges).sum() / 6)

    def placed(self, model: mujoco.MjModel, data: mujoco.MjData) -> PlacedTissue:
        return PlacedTissue(self, model, data)


class PlacedTissue(PlacedObject):
    """A tissue in the state of a simulation.

    Attributes:
        grid: its deformation. young: of every cell [Pa], by its number.
    """

    thing: Tissue

    def __init__(self, thing: Tissue, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(thing, model, data)
        x, y, z = thing.cells
        self.grid = grid = TissueGrid(model, data, thing.name, (x, y, z), thing.fixed, thing.fitted)
        self.young = moduli(grid, thing.young, checked_layers(thing.layers, thing.name), thing.inclusions)
        flex = flex_id(model, OBJECT + thing.name)
        # vertices are stored in [0, 1] of the box
        places = model.flex_vert0[int(model.flex_vertadr[flex]) :]
        centres = places[flex_tetrahedra(model, flex)].mean(axis=1)
        cell = np.clip((centres * grid.cells).astype(int), 0, grid.cells - 1)
        owner = np.ravel_multi_index(tuple(cell.T), tuple(grid.cells))
        stiffness = self.young / thing.young * thing.lost_volume
        self._elements = Elements(model, flex, grid.bodies[grid.corners], owner, stiffness)
        # cells of the box in which there is no tissue
        self._filled = self._elements.filled
        size, centre = np.asarray(thing.size, dtype=float), np.asarray(thing.pose, dtype=float)[:3, 3]
        self._fast = FastSolids(model, data, thing.name, size, centre)
        self._passage: Passage | None = None
        self._events: list[TissueEvent] = []
        self._steps, self._warned = 0, False

    def meet(self, objects: Mapping[str, PlacedObject]) -> None:
        piercing = self.thing.piercing
        if piercing is None:
            self._check_needles({name: placed.thing for name, placed in objects.items()})
            return
        strand = Strand.of(piercing.needle, objects, self._data)
        if objects[piercing.needle].body > self.body:
            # in the other order MuJoCo's sparse solver fails when a point changes from one rod of a thread to the next
            raise TrocarError(f"{piercing.needle} must come before {self.thing.name} in the list of objects")
        rows = PointRows(self._model, self._data, OBJECT + self.thing.name, self.grid, piercing.points)
        self._passage = Passage(piercing, self.grid, rows, strand, self._data)

    def _check_needles(self, things: Mapping[str, SceneObject]) -> None:
        """Raise an error for a needle that pierces no tissue of the scene: it would fall through this one."""
        pierced = {thing.piercing.needle for thing in things.values() if isinstance(thing, Tissue) and thing.piercing}
        for name, thing in things.items():
            if isinstance(thing, Needle) and name not in pierced:
                raise TrocarError(
                    f"{name} would fall through {self.thing.name}, because needles touch only tissue that they pierce: "
                    f'give it piercing=Piercing("{name}"), in a scene file needle = "{name}", or remove one of them'
                )

    @property
    def events(self) -> list[TissueEvent]:
        """Events since the last reset: touch, puncture, entry, exit, cut, ..., with times [s] and forces [N]."""
        passed = [] if self._passage is None else self._passage.events
        return sorted([*passed, *self._events], key=lambda event: event.time)

    @property
    def forces(self) -> list[TissuePoint]:
        """The points at which needle and thread are in the tissue, from the needle's point on, with their forces."""
        return [] if self._passage is None else self._passage.forces()

    @property
    def force(self) -> Array:
        """Force (3,) [N] of the tissue on needle and thread in the last step, base axes; without surface contact."""
        return np.zeros(3) if self._passage is None else self._passage.force

    def pass_through(self) -> None:
        """Lay the tunnel of a needle that has been placed through the tissue at rest, as if it had cut it."""
        if self._passage is None:
            raise TrocarError(f"{self.thing.name} has no piercing")
        self._passage.pass_through()

    def position(self, X: ArrayLike) -> Array:
        """Current position (3,) in the base [m] of the material point that is at X (3,) at rest, in its frame [m]."""
        X = checks.three_numbers("X", X, "in the frame of the tissue [m]")
        return np.asarray(self.grid.R @ self.grid.place(X) + self.grid.p)

    @property
    def stress(self) -> Array:
        """Largest principal stress (nx, ny, nz) at the centre of every cell [Pa]: force per area at rest; 0 if cut."""
        stress = nominal_stress(self.grid.gradients(), self.young, self.thing.poisson)
        return np.asarray(np.where(self._elements.intact & self._filled, stress, 0.0).reshape(tuple(self.grid.cells)))

    @property
    def intact(self) -> Array:
        """True (nx, ny, nz) for cells that were neither cut nor torn, and in which there is tissue."""
        return (self._elements.intact & self._filled).reshape(tuple(self.grid.cells))

    @property
    def faces(self) -> Array:
        return self._elements.faces

    @property
    def inverted(self) -> list[tuple[int, int, int]]:
        """Cells that are turned inside out now. Their forces are meaningless."""
        intact = self.intact
        return [cell for cell in self.grid.inverted() if intact[cell]]

    def cut(self, path: ArrayLike) -> int:
        """Remove the cells that a blade crosses, and return their number. The cut is as wide as a cell.

        path: successive places (n, 2, 3) of the two ends of the blade's edge in the base [m].
        """
        grid = self.grid
        points = swept(grid.to_local(checked_path(path)), float(grid.step.min()) / 4)
        cells = np.asarray(crossed(grid.tetrahedra().reshape(-1, 4, 3), points).reshape(-1, 6).any(axis=1))
        return self._remove(cells, "cut", 0.0)

    def _remove(self, cells: Array, what: str, stress: float) -> int:
        """Remove the cells of a mask; needle and thread come free in them."""
        cells = cells & self._filled
        lost = cells & self._elements.intact
        count = self._elements.remove(cells)
        if count:
            x, y, z = self.grid.rest.reshape(-1, 3)[self.grid.corners[lost]].mean(axis=(0, 1)).tolist()
            self._events.append(TissueEvent(float(self._data.time), what, stress, (x, y, z)))
        return count

    def reset(self) -> None:
        self._events, self._steps = [], 0
        self._elements.set_intact(np.ones_like(self._elements.intact))
        if self._passage is not None:
            self._passage.reset()

    def after_step(self) -> None:
        self._steps += 1
        self._fast.check()
        if self._steps % CHECKED == 0:
            self._check_inverted()
        if self.thing.strength is not None and self._steps % TEARING == 0:
            stress = self.stress.ravel()
            if stress.max() > self.thing.strength:
                self._remove(np.array(stress > self.thing.strength), "torn", float(stress.max()))
        if self._passage is not None:
            self._passage.update(self._elements.intact)

    def _check_inverted(self) -> None:
        """Record the first inverted cells, and warn once."""
        if any(event.what == "inverted" for event in self._events):
            return
        cells = self.inverted
        if not cells:
            return
        time, name = float(self._data.time), self.thing.name
        self._events.append(TissueEvent(time, "inverted", 0.0, tuple(float(i) for i in cells[0])))
        if not self._warned:
            self._warned = True
            message = f"{len(cells)} cells of {name} are inside out at t = {time:.4g} s, the first is {cells[0]}"
            warnings.warn(f"{message}: use less force, a larger young or smaller cells", Inaccurate, stacklevel=4)

    @property
    def memory(self) -> Any:
        passage = None if self._passage is None else self._passage.memory
        return tuple(self._events), self._steps, self._elements.intact, passage

    @memory.setter
    def memory(self, memory: Any) -> None:
        events, self._steps, intact, passage = memory
        self._events = list(events)
        self._elements.set_intact(intact)
        if self._passage is not None:
            self._passage.memory = passage
