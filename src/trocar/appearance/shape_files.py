"""Shapes as data, in `arms/data/meshes`: drawings of arms and carts, and surfaces of instruments.

`tools/shapes` carves them with manifold3d and writes the files; a test regenerates and compares them. A file has three
arrays, the vertices, normals and faces of all surfaces, and the text `about` (JSON): surfaces (name, material, number
of vertices and faces), geoms in the order of the model, joints of every body.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import mujoco
import numpy as np

from trocar.appearance.sketch import COLLISION, VISUAL, Drawing, TriangleMesh
from trocar.arms.tables import DATA
from trocar.spatial import Array

FOLDER = DATA / "meshes"
COLLIDES = "collision"  # look of a collision shape; other looks are names of materials


@dataclass(frozen=True)
class ShapeFile:
    """The content of a file.

    Attributes:
        surfaces: triangle meshes by name. looks: their materials.
        drawing: all shapes of an arm or cart, in the frames of their bodies.
        joints: joints (k, 3) of every body ("" is the base) in the geometry for which it was drawn [m].
        shaft_end: the shaft of an instrument ends this far below the insertion frame [m].
    """

    surfaces: Mapping[str, TriangleMesh]
    looks: Mapping[str, str]
    drawing: Drawing
    joints: Mapping[str, Array]
    shaft_end: float


def names() -> tuple[str, ...]:
    """Names of all files."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.npz")))


@cache
def shape_file(name: str) -> ShapeFile:
    """Read `NAME.npz`."""
    with np.load(FOLDER / f"{name}.npz") as file:
        about = json.loads(str(file["about"]))
        vertices, normals, faces = (file[key] for key in ("vertices", "normals", "faces"))
    surfaces, v, f = {}, 0, 0
    for label, (_, V, F) in about["surfaces"].items():
        surfaces[label] = TriangleMesh(vertices[v : v + V], normals[v : v + V], faces[f : f + F])
        v, f = v + V, f + F
    drawing = Drawing()
    for body, look, shape in about["geoms"]:
        if label := shape.get("meshname"):
            drawing.meshes[label] = surfaces[label]
        style = COLLISION if look == COLLIDES else {**VISUAL, "material": look}
        drawing.geoms.append((body, {**style, **shape, "type": mujoco.mjtGeom(shape["type"])}))
    looks = {label: look for label, (look, _, _) in about["surfaces"].items()}
    joints = {body: np.reshape(points, (-1, 3)) for body, points in about["joints"].items()}
    return ShapeFile(surfaces, looks, drawing, joints, about["shaft_end"])
