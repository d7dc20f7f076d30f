"""A thread as a chain of small masses with rods between them, stepped in C (filament.c).

Every rod resists stretching with E A / l, every mass resists bending with E I / l^3 times its second difference along
the thread; the ends bend and twist freely, so there is no torsion. Rods touch each other as capsules, masses touch
solids as balls. The force along the normal is that of a spring and a damper; friction is a spring that slips at the
coefficient times the normal force (P. A. Cundall, O. D. L. Strack, Geotechnique 29 (1979) 47), so a contact that does
not slip does not creep.

Steps are explicit and as short as the stiffest spring asks for, microseconds. They cost little because nothing is
solved: chains and constraints of MuJoCo were slower, or diverged (docs/surgery.md).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trocar.c_library import library
from trocar.errors import TrocarError
from trocar.spatial import Array

SOURCE = Path(__file__).with_name("filament.c")
KINDS = ("sphere", "capsule", "cylinder", "box", "pads")  # of solids, in the order of filament.c
FULL = -2  # the C function's result when there are more contacts than places for them
# Stiffness of a contact over Young's modulus times diameter. Two crossed cylinders of 0.25 mm at 1 N (Hertz) have 0.2,
# at an overlap of 0.3 radii; threads in a knot touch along lines, which is stiffer.
CONTACT = 0.5
GRIP = 0.7  # stiffness of friction over that of the normal force
DAMPING = 0.1  # of all springs, over their critical damping
# Step over the largest stable one of all springs at a mass together; 2 in the units of `_step`.
STEP_SHARE = 0.35
# Rods nearer than this along the thread [diameters] do not touch: a bend cannot bring them together.
APART = 1.5
SKIN = 0.4  # distance from which contacts are looked for [diameters]
CONTACTS = 24  # places for contacts per mass
_LONGS = ("masses", "solids", "skip", "capacity", "steps")
_STIFF = ("rod", "stretch", "stretch_damping", "bend", "bend_damping", "contact", "contact_damping")
_OTHER = ("grip", "grip_damping", "friction", "radius", "skin", "drag", "dt")


class _Settings(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in _LONGS] + [(name, ctypes.c_double) for name in (*_STIFF, *_OTHER)]


class TouchedSolid(NamedTuple):
    """A solid that a thread touches.

    Attributes:
        kind: sphere, capsule, cylinder or box; pads are closed jaws, which hold all masses that do not pass them.
        size: (3,) radius and half length along z, or half edges [m]; not used for pads.
    """

    kind: str
    size: tuple[float, float, float]


class Material(NamedTuple):
    """Material of a thread.

    Attributes:
        diameter: [m]. density: [kg/m^3]. young: [Pa]. friction: coefficient of Coulomb friction of all contacts.
        mass_scale: factor on the mass, not on the weight. drag: rate at which motion decays [1/s].
    """

    diameter: float
    density: float
    young: float
    friction: float
    mass_scale: float
    drag: float


class FilamentSteps:
    """The state of a thread, and its steps.

    Args:
        points: of its masses (n, 3) at equal distances `rod` [m], which is its length without load.
        held: masses whose motion is given. gravity: (3,) [m/s^2]. solids: what it can touch.

    Attributes:
        x, v: positions and velocities (n, 3) [m, m/s]. load: forces (n, 3) on the masses [N], zero at first.
        force: mean force (n, 3) on every mass in the last `advance` [N]; on a held one, that of the thread on its
            holder. wrench: mean force and moment (k, 6) of the thread on every solid, about its origin [N, N m].
        passes: True (n, k) where a mass does not touch a solid.
        grip_limit: (k,) largest friction of pads on a mass [N]; negative if the jaws are open.
        overlap: deepest overlap of two rods in the last `advance` [m]. mass: (n,) [kg]. step: longest step [s].
    """

    def __init__(
        self,
        points: Array,
        rod: float,
        material: Material,
        held: Sequence[int] = (),
        gravity: Array | None = None,
        solids: Sequence[TouchedSolid] = (),
    ) -> None:
        n, radius = len(points), material.diameter / 2
        area, inertia = np.pi * radius**2, np.pi * radius**4 / 4
        self.rod, self.material = rod, material
        self.mass = np.full(n, material.mass_scale * material.density * area * rod)
        self.mass[[0, -1]] /= 2
        self._mobility = 1.0 / self.mass
        self._mobility[list(held)] = 0.0
        self._gravity = (np.zeros(3) if gravity is None else np.array(gravity, dtype=float)) / material.mass_scale
        stretch, bend = material.young * area / rod, material.young * inertia / rod**3
        contact = CONTACT * material.young * material.diameter
        grip, m = GRIP * contact, self.mass[1]
        self.step = STEP_SHARE * 2.0 * float(np.sqrt(m / (4.0 * stretch + 16.0 * bend + 4.0 * contact)))
        self._settings = _Settings(
            masses=n,
            solids=len(solids),
            skip=1 + int(np.ceil(APART * material.diameter / rod)),
            capacity=CONTACTS * n,
            rod=rod,
            stretch=stretch,
            stretch_damping=DAMPING * np.sqrt(stretch * m),
            bend=bend,
            bend_damping=DAMPING * np.sqrt(bend * m) / 2,
            contact=contact,
            contact_damping=DAMPING * np.sqrt(contact * m),
            grip=grip,
            grip_damping=DAMPING * np.sqrt(grip * m),
            friction=material.friction,
            radius=radius,
            skin=SKIN * material.diameter,
            drag=material.drag,
        )
        self._kinds = np.array([KINDS.index(solid.kind) for solid in solids], dtype=np.int64)
        self._sizes = np.array([solid.size for solid in solids], dtype=float).reshape(-1, 3)
        self.x, self.v, self.load = np.array(points, dtype=float), np.zeros((n, 3)), np.zeros((n, 3))
        self.force, self.wrench = np.zeros((n, 3)), np.zeros((len(solids), 6))
        self.grip_limit = np.full(len(solids), -1.0)
        self._frames, self.passes = np.zeros((len(solids), 12)), np.zeros((n, len(solids)), dtype=bool)
        capacity = CONTACTS * n
        self._pairs = [np.zeros((capacity, 2), dtype=np.int64) for _ in range(3)]  # of rods, of solids, scratch
        self._springs = [np.zeros((capacity, 3)) for _ in range(3)]
        self._counts = np.zeros(2, dtype=np.int64)
        self._work, self._deepest = np.zeros(12 * n), np.zeros(1)

    @property
    def overlap(self) -> float:
        """Deepest overlap of two rods in the last `advance` [m]."""
        return float(self._deepest[0])

    @property
    def length(self) -> float:
        """Length without load [m]."""
        return self.rod * (len(self.x) - 1)

    def advance(self, time: float, held: Mapping[int, Array] | None = None, frames: Array | None = None) -> None:
        """Advance by a time [s] in equal steps.

        held: positions (3,) of held masses at its end, which they reach at constant velocity. Default: they rest.
        frames: position and rotation matrix (k, 12) of every solid at its end. Default: they rest.
        """
        steps = max(1, int(np.ceil(time / self.step)))
        self._settings.steps, self._settings.dt = steps, time / steps
        self.v[self._mobility == 0.0] = 0.0
        for i, place in (held or {}).items():
            self.v[i] = (place - self.x[i]) / time
        way = np.zeros_like(self._frames) if frames is None else frames - self._frames
        arrays = (
            *(self.x, self.v, self._mobility, self.load, self._gravity, self._kinds, self._sizes, self._frames, way),
            *(self.passes, self.grip_limit, self._pairs[0], self._springs[0], self._pairs[1], self._springs[1]),
            *(self._counts, self._pairs[2], self._springs[2], self._work, self.force, self.wrench, self._deepest),
        )
        status = _function()(ctypes.byref(self._settings), *(array.ctypes.data for array in arrays))
        if status == FULL:
            raise TrocarError(f"a thread has more than {len(self._pairs[0])} contacts: it is crumpled into itself")
        if status < 0:
            raise TrocarError("the simulation of a thread diverged: a force or a speed is too large for it")

    def restart(self, points: Array, frames: Array) -> None:
        """Start at rest at points (n, 3), without loads, with the solids at poses (k, 12)."""
        for array in (*self._arrays, self._counts):
            array[:] = 0
        self.x[:], self._frames[:], self.grip_limit[:] = points, frames, -1.0

    @property
    def energy(self) -> float:
        """Kinetic energy, that of all springs, and that of gravity above the origin [J]."""
        o, (rods, solids) = self._settings, self._counts
        lengths = np.linalg.norm(np.diff(self.x, axis=0), axis=1)
        curls = self.x[:-2] - 2.0 * self.x[1:-1] + self.x[2:]
        springs = np.concatenate([self._springs[0][:rods], self._springs[1][:solids]])
        gaps = self._gaps(self._pairs[0][:rods])
        return float(
            (self.mass @ (self.v**2).sum(axis=1) + o.stretch * ((lengths - o.rod) ** 2).sum()) / 2
            + (o.bend * (curls**2).sum() + o.grip * (springs**2).sum()) / 2
            + o.contact * (np.maximum(2.0 * o.radius - gaps, 0.0) ** 2).sum() / 2
            - self.mass @ (self.x @ self._gravity)
        )

    def _gaps(self, pairs: Array) -> Array:
        """Distances (m,) of the axes of pairs (m, 2) of rods [m]."""
        s = np.linspace(0.0, 1.0, 41)[:, None]
        gaps = [
            np.linalg.norm(
                (self.x[i] + s * (self.x[i + 1] - self.x[i]))[:, None] - (self.x[j] + s * (self.x[j + 1] - self.x[j])),
                axis=2,
            ).min()
            for i, j in pairs.tolist()
        ]
        return np.array(gaps)

    @property
    def _arrays(self) -> tuple[Array, ...]:
        return self.x, self.v, self.load, self.force, self.wrench, self._frames

    @property
    def memory(self) -> Any:
        """The state; assign it to restore it bit for bit."""
        rods, solids = self._counts.tolist()
        contacts = [
            array[k][:count].copy() for k, count in enumerate((rods, solids)) for array in (self._pairs, self._springs)
        ]
        return *(array.copy() for array in (*self._arrays, self.passes, self.grip_limit)), contacts

    @memory.setter
    def memory(self, memory: Any) -> None:
        *arrays, contacts = memory
        for own, saved in zip((*self._arrays, self.passes, self.grip_limit), arrays, strict=True):
            own[:] = saved
        for k in range(2):
            pairs, springs = contacts[2 * k : 2 * k + 2]
            self._counts[k] = len(pairs)
            self._pairs[k][: len(pairs)], self._springs[k][: len(pairs)] = pairs, springs


@cache
def _function() -> Any:
    function = library(SOURCE.read_text()).trocar_filament
    function.argtypes, function.restype = (ctypes.c_void_p,) * 23, ctypes.c_long
    return function


def resampled(points: Array, rod: float) -> tuple[Array, float]:
    """Points (n, 3) at equal distances along a line through points (m, 3), and the distance nearest to `rod` [m]."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    count = max(2, round(float(along[-1]) / rod))
    at = np.linspace(0.0, along[-1], count + 1)
    return np.stack([np.interp(at, along, column) for column in points.T], axis=1), float(along[-1]) / count
