"""A small drawing kit: primitives and triangle meshes on the bodies of a model, in convenient coordinates.

Visual geoms are in group 2 and do not collide; collision geoms are in group 3. None has mass: the inertia of a body
is a measured parameter, not a consequence of its shape.

Shapes are data, in `arms/data/meshes`: drawings of arms and carts, and surfaces of instruments. `tools/shapes` carves
them with manifold3d and writes the files; a test regenerates and compares them. A file has three arrays, the vertices,
normals and faces of all surfaces, and the text `about` (JSON): surfaces (name, material, number of vertices and faces),
geoms in the order of the model, joints of every body.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import mujoco
import numpy as np
import scipy
from numpy.typing import ArrayLike

from trocar.arms.tables import DATA
from trocar.spatial import Array, quaternion

# name: colour (red, green, blue), specular, shininess. Real machines: light grey with dark blue-grey covers.
MATERIALS: dict[str, tuple[tuple[float, float, float], float, float]] = {
    "cast": ((0.83, 0.83, 0.81), 0.25, 0.3),
    "aluminium": ((0.68, 0.70, 0.72), 0.5, 0.5),
    "cover": ((0.17, 0.25, 0.40), 0.35, 0.5),
    "column": ((0.29, 0.32, 0.38), 0.3, 0.4),
    "steel": ((0.56, 0.59, 0.63), 0.8, 0.7),
    "bright": ((0.76, 0.78, 0.80), 0.8, 0.7),
    "plastic": ((0.70, 0.79, 0.88), 0.3, 0.4),
    "tungsten": ((0.36, 0.36, 0.38), 0.5, 0.5),
    "dark": ((0.07, 0.08, 0.10), 0.2, 0.3),
}

VISUAL: dict[str, Any] = {"group": 2, "contype": 0, "conaffinity": 0, "mass": 0.0}

# Contacts settle in 5 ms without bouncing, and are fully hard at 0.1 mm of penetration. The two masks have no common
# bit: the links of an arm, which pass each other by design, collide only with geoms that have MuJoCo's default masks.
COLLISION: dict[str, Any] = {
    "group": 3,
    "contype": 1,
    "conaffinity": 2,
    "mass": 0.0,
    "solref": [0.005, 1.0],
    "solimp": [0.9, 0.99, 1e-4, 0.5, 2.0],
    "rgba": [0.9, 0.4, 0.2, 0.4],
}

Interval = tuple[float, float]
Span = Interval | float  # from one value to another, or a half width to both sides of 0 [m]
Deformation = Callable[[Array], Array]  # of points (n, 3) [m]
FOLDER = DATA / "meshes"
COLLIDES = "collision"  # look of a collision shape in a file; other looks are names of materials
STEP = 1e-6  # for the derivative of a deformation [m]


def ends(span: Span) -> Interval:
    """Lower and upper end of a span."""
    low, high = sorted(span if isinstance(span, tuple) else (-span, span))
    return low, high


@dataclass(frozen=True)
class TriangleMesh:
    """A triangle mesh: vertices (V, 3) [m] and their normals (V, 3), faces (F, 3); vertices on edges are repeated."""

    vertices: Array
    normals: Array
    faces: Array

    def moved(self, T: Array) -> TriangleMesh:
        """The surface in another frame, in which T (4, 4) is the pose of its own."""
        return TriangleMesh(self.vertices @ T[:3, :3].T + T[:3, 3], self.normals @ T[:3, :3].T, self.faces)

    def deformed(self, f: Deformation) -> TriangleMesh:
        """The surface with deformed vertices and the normals that go with them."""
        p = np.asarray(self.vertices, dtype=float)
        J_transposed = np.stack([(f(p + STEP * e) - f(p - STEP * e)) / (2 * STEP) for e in np.eye(3)], axis=1)
        normals = np.linalg.solve(J_transposed, self.normals[:, :, None])[:, :, 0]
        return TriangleMesh(f(p), normals / np.linalg.norm(normals, axis=1, keepdims=True), self.faces)


@dataclass
class Drawing:
    """Shapes of an arm or a cart, drawn once and added to every model of it.

    Attributes:
        base: name of the fixed part, in the names of meshes.
        meshes, geoms, pairs: additions to a model, in order; geoms with the body that carries them, "" for the base.
    """

    base: str = "base"
    meshes: dict[str, TriangleMesh] = field(default_factory=dict)
    geoms: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    pairs: list[dict[str, Any]] = field(default_factory=list)

    def put_on(self, spec: mujoco.MjSpec, prefix: str = "", visual: bool = True) -> None:
        """Add all shapes, or only those that collide, to a model; `prefix` of its names of bodies and meshes."""
        add_materials(spec)
        geoms = [entry for entry in self.geoms if visual or entry[1].get("group") != VISUAL["group"]]
        used = {geom.get("meshname") for _, geom in geoms}
        for name, mesh in self.meshes.items():
            if name in used:
                vertices, normals, faces = (rows.ravel() for rows in (mesh.vertices, mesh.normals, mesh.faces))
                spec.add_mesh(name=prefix + name, uservert=vertices, usernormal=normals, userface=faces)
        for body, geom in geoms:
            mesh_name = {"meshname": prefix + geom["meshname"]} if "meshname" in geom else {}
            (spec.body(prefix + body) if body else spec.worldbody).add_geom(**{**geom, **mesh_name})
        for pair in self.pairs:
            spec.add_pair(**pair)

    def deformed(self, by_body: Mapping[str, Deformation]) -> Drawing:
        """A copy with the shapes of some bodies deformed; boxes stay boxes and rods straight."""
        copy = Drawing(self.base, dict(self.meshes), [], list(self.pairs))
        for body, geom in self.geoms:
            copy.geoms.append((body, dict(geom)))
            if f := by_body.get(body):
                copy._deform(copy.geoms[-1][1], f)
        return copy

    def _deform(self, geom: dict[str, Any], f: Deformation) -> None:
        if mesh := geom.get("meshname"):
            self.meshes[mesh] = self.meshes[mesh].deformed(f)
        if "fromto" in geom:
            geom["fromto"] = f(np.reshape(geom["fromto"], (2, 3))).ravel()
        if "pos" in geom:
            centre = np.array(geom["pos"])
            geom["pos"] = f(centre[None])[0]
            if "quat" in geom:  # a box
                R = scipy.spatial.transform.Rotation.from_quat(geom["quat"], scalar_first=True).as_matrix()
                geom["size"] = np.linalg.norm(f(centre + (R * geom["size"]).T) - geom["pos"], axis=1)


def add_materials(spec: mujoco.MjSpec) -> None:
    """Add every material of the table, once."""
    present = {material.name for material in spec.materials}
    for name, (colour, specular, shininess) in MATERIALS.items():
        if name not in present:
            spec.add_material(name=name, rgba=[*colour, 1.0], specular=specular, shininess=shininess)


@dataclass(frozen=True)
class Sketch:
    """Draws on one body ("" for the base). Points are in a drawing frame, whose pose on the body is `T_body_drawing`.

    `look` is the name of a material, or a dictionary of geom attributes such as `COLLISION`.
    """

    drawing: Drawing
    body: str = ""
    T_body_drawing: Array = field(default_factory=lambda: np.eye(4))

    def box(self, x: Span, y: Span, z: Span, look: str | dict[str, Any], **more: Any) -> None:
        """Box between two values of each coordinate [m]."""
        low, high = np.array([ends(x), ends(y), ends(z)]).T
        place = {"pos": self._point((low + high) / 2), "quat": quaternion(self.T_body_drawing[:3, :3])}
        self._geom(look, type=mujoco.mjtGeom.mjGEOM_BOX, **place, size=(high - low) / 2, **more)

    def rod(
        self, a: ArrayLike, b: ArrayLike, radius: float, look: str | dict[str, Any], *, round_ends: bool = False
    ) -> None:
        """Cylinder, or capsule if its ends are round, from point a to point b [m]."""
        kind = mujoco.mjtGeom.mjGEOM_CAPSULE if round_ends else mujoco.mjtGeom.mjGEOM_CYLINDER
        self._geom(look, type=kind, fromto=[*self._point(a), *self._point(b)], size=[radius, 0.0, 0.0])

    def ball(self, centre: ArrayLike, radius: float, look: str | dict[str, Any], **more: Any) -> None:
        """Ball [m]."""
        self._geom(look, type=mujoco.mjtGeom.mjGEOM_SPHERE, pos=self._point(centre), size=[radius, 0.0, 0.0], **more)

    def surface(self, surface: TriangleMesh, look: str | dict[str, Any]) -> None:
        """Triangle mesh."""
        name = f"{self.body or self.drawing.base}_{len(self.drawing.meshes)}"
        self.drawing.meshes[name] = surface.moved(self.T_body_drawing)
        self._geom(look, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name)

    def _point(self, p: ArrayLike) -> Array:
        return self.T_body_drawing[:3, :3] @ np.asarray(p, dtype=float) + self.T_body_drawing[:3, 3]

    def _geom(self, look: str | dict[str, Any], **attributes: Any) -> None:
        style = {**VISUAL, "material": look} if isinstance(look, str) else look
        self.drawing.geoms.append((self.body, {**style, **attributes}))


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


def shape_files() -> tuple[str, ...]:
    """Names of all files of shapes."""
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
