"""Objects that the instruments can touch, and their contacts.

A kind of object is a subclass of `SceneObject` in a file of its own; its reader in `KINDS` makes it available in scene
files.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trocar.arms.file_fields import MAX_LENGTH, MAX_MASS, Fields
from trocar.errors import shown
from trocar.simulation.objects.blade import Blade
from trocar.simulation.objects.closed_surface import MESH_FILES, ClosedSurface
from trocar.simulation.objects.filament import Filament
from trocar.simulation.objects.piercing import Piercing
from trocar.simulation.objects.scene_object import SceneObject
from trocar.simulation.objects.seam import Seam
from trocar.simulation.objects.soft_slab import SoftSlab
from trocar.simulation.objects.solid import (
    NEEDLE_SIZES,
    Box,
    Capsule,
    Cylinder,
    Needle,
    Obstacle,
    Solid,
    Sphere,
    floor,
    needle,
)
from trocar.simulation.objects.thread import THREAD_RANGES, Thread
from trocar.simulation.objects.tissue import Tissue
from trocar.simulation.objects.tissue_boundary import FACES
from trocar.simulation.objects.tissue_material import Inclusion
from trocar.simulation.objects.tissue_shapes import TISSUE_SHAPES
from trocar.spatial import Array

MAX_FORCE = 1e6  # of piercing in a scene file [N, N/m]
MIN_SIZE = 1e-6  # smallest size of an object in a scene file [m]
# Reads an object from its table in a scene file, given its name and pose.
Reader = Callable[[Fields, str, Array], SceneObject]


def _friction(fields: Fields) -> float:
    return fields.number("friction", 0.5, least=0.0)


def _looks(fields: Fields) -> dict[str, Any]:
    red, green, blue = fields.vector("colour", 3, (0.80, 0.60, 0.45)).tolist()
    return {"friction": _friction(fields), "colour": (red, green, blue)}


def _size(fields: Fields) -> Array:
    size = fields.vector("size", 3, most=MAX_LENGTH, unit="m")
    if size.min() < MIN_SIZE:
        raise fields.error(f"'size' must be at least {MIN_SIZE:g} m in each direction, got {shown(size.tolist())}")
    return size


def _length(fields: Fields, key: str) -> float:
    return fields.number(key, least=MIN_SIZE, most=MAX_LENGTH, unit="m")


def _rod(kind: type[Cylinder | Capsule], fields: Fields) -> Obstacle:
    half = np.array([0.0, 0.0, _length(fields, "length") / 2])
    return kind(-half, half, _length(fields, "radius"))


def _solid(shape: Callable[[Fields], Obstacle]) -> Reader:
    """Reads an object of one shape about the origin, rods along z; without a mass it is fixed."""

    def read(fields: Fields, name: str, T: Array) -> Solid:
        mass = fields.number("mass", 0.0, least=0.0, most=MAX_MASS, unit="kg")
        return Solid(name, shape(fields), T, mass=mass or None, **_looks(fields))

    return read


def _floor(fields: Fields, name: str, T: Array) -> Solid:
    if not np.array_equal(T[:3, :3], np.eye(3)) or T[:2, 3].any():
        raise fields.error("a floor has a height only: 'position' is [0, 0, height], without 'rpy'")
    return floor(name, float(T[2, 3]), friction=_friction(fields))


def _slab(fields: Fields, name: str, T: Array) -> SoftSlab:
    young = fields.positive("young", 3e4, most=1e12, unit="Pa")
    return SoftSlab(name, _size(fields), T, young=young, **_looks(fields))


def _needle(fields: Fields, name: str, T: Array) -> Needle:
    return needle(name, T, size=fields.choice("size", tuple(NEEDLE_SIZES), "CT-1"), friction=_friction(fields))


def _thread(fields: Fields, name: str, T: Array) -> Thread:
    _check_no_pose(fields, T)
    options: dict[str, Any] = {key: fields.number(key) for key in THREAD_RANGES if key in fields}
    options |= {key: _whole(fields.number(key)) for key in ("segments", "cuts") if key in fields}
    friction = fields.number("friction", 0.3, least=0.0)
    return Thread(name, fields.text("needle"), friction=friction, knot=fields.flag("knot", False), **options)


def _filament(fields: Fields, name: str, T: Array) -> Filament:
    _check_no_pose(fields, T)
    keys = ("rod", "diameter", "density", "young", "drag")
    options: dict[str, Any] = {key: fields.number(key) for key in keys if key in fields}
    points = fields.rows("points", (3,), "a line through points [m]", most=MAX_LENGTH)
    first, last = (fields.text(key) if key in fields else None for key in ("first_end", "last_end"))
    return Filament(name, points, (first, last), friction=fields.number("friction", 0.3, least=0.0), **options)


def _tissue(fields: Fields, name: str, T: Array) -> Tissue:
    options: dict[str, Any] = {
        key: fields.positive(key, most=1e12) for key in ("young", "mesh", "strength") if key in fields
    }
    layers = [(thickness, young) for thickness, young in fields.rows("layers", (2,), "[thickness, young]", most=1e12)]
    boxes = fields.rows("boxes", (7,), "boxes: centre, size and young, 7 numbers", most=1e12)
    vessels = fields.rows("vessels", (8,), "vessels: two ends, radius and young, 8 numbers", most=1e12)
    options["layers"] = layers
    options["inclusions"] = [
        *(Inclusion(Box(row[:3], row[3:6]), row[6]) for row in boxes),
        *(Inclusion(Capsule(row[:3], row[3:6], row[6]), row[7]) for row in vessels),
    ]
    if "cells" in fields:
        options["cells"] = tuple(_whole(count) for count in fields.numbers("cells"))
    if "fixed" in fields:
        options["fixed"] = fields.some_of("fixed", tuple(FACES))
    piercing = None
    if "needle" in fields:
        forces = ("puncture", "cut", "exit", "drag", "thread_drag", "spacing")
        values: dict[str, Any] = {key: fields.positive(key, most=MAX_FORCE) for key in forces if key in fields}
        piercing = Piercing(fields.text("needle"), **values)
    if "surface" in fields:
        options["surface"] = surface = _surface(fields)
        if "size" not in fields:
            return Tissue(name, surface.size, T, piercing=piercing, **options, **_looks(fields))
    return Tissue(name, _size(fields), T, piercing=piercing, **options, **_looks(fields))


def _surface(fields: Fields) -> ClosedSurface:
    """One of the shapes made here, which needs a size, or a mesh file."""
    text = fields.text("surface")
    if text.lower().endswith(MESH_FILES):
        return ClosedSurface.load(text)
    return TISSUE_SHAPES[fields.choice("surface", (*TISSUE_SHAPES, "a file .stl or .obj"), "")]()


def _blade(fields: Fields, name: str, T: Array) -> Blade:
    _check_no_pose(fields, T)
    options: dict[str, Any] = {key: fields.positive(key, unit="m") for key in ("length", "overlap") if key in fields}
    if "edge" in fields:
        options["edge"] = fields.rows("edge", (3,), "two points", most=MAX_LENGTH)
    return Blade(name, fields.text("carrier"), cuts=fields.words("cuts"), **options)


def _seam(fields: Fields, name: str, T: Array) -> Seam:
    _check_no_pose(fields, T)
    strength = fields.positive("strength", most=1e12, unit="Pa") if "strength" in fields else None
    return Seam(name, fields.text("first"), fields.text("second"), strength)


def _check_no_pose(fields: Fields, T: Array) -> None:
    if not np.array_equal(T, np.eye(4)):
        raise fields.error("it has no pose of its own: remove 'position' and 'rpy'")


def _whole(value: float) -> float:
    """A whole number as an integer; others as they are, for the object to refuse."""
    return int(value) if float(value).is_integer() else value


KINDS: Mapping[str, Reader] = {  # by `shape` in a scene file
    "box": _solid(lambda fields: Box(np.zeros(3), _size(fields))),
    "sphere": _solid(lambda fields: Sphere(np.zeros(3), _length(fields, "radius"))),
    "cylinder": _solid(lambda fields: _rod(Cylinder, fields)),
    "capsule": _solid(lambda fields: _rod(Capsule, fields)),
    "floor": _floor,
    "needle": _needle,
    "slab": _slab,
    "thread": _thread,
    "filament": _filament,
    "blade": _blade,
    "seam": _seam,
    "tissue": _tissue,
}

__all__ = [
    "KINDS",
    "Blade",
    "ClosedSurface",
    "Filament",
    "Inclusion",
    "Needle",
    "Piercing",
    "SceneObject",
    "Seam",
    "SoftSlab",
    "Solid",
    "Thread",
    "Tissue",
    "floor",
    "needle",
]
