"""A small drawing kit: primitives, hulls and carved solids on the bodies of a model, in convenient coordinates.

Visual geoms are in group 2 and do not collide; collision geoms are in group 3. None has mass: the inertia of a body
is a measured parameter, not a consequence of its shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
from manifold3d import Manifold
from numpy.typing import ArrayLike

from trocar.appearance.carving import Span, ends, hull, triangles
from trocar.arms import Arm
from trocar.arms.arm import poses_at_zero
from trocar.errors import TrocarError
from trocar.spatial import Array, inverse, quaternion

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


BASE = np.eye(4)  # drawing frame of most shapes


@dataclass
class Drawing:
    """Shapes of an arm or a cart, drawn once and added to every model of it.

    Attributes:
        base: name of the fixed part, in the names of meshes.
        meshes, geoms, pairs: additions to a model, in order; geoms with the body that carries them, "" for the base.
    """

    base: str = "base"
    meshes: list[dict[str, Any]] = field(default_factory=list)
    geoms: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    pairs: list[dict[str, Any]] = field(default_factory=list)

    def put_on(self, spec: mujoco.MjSpec, visual: bool = True) -> None:
        """Add all shapes, or those that are not only visual, to a model with these bodies."""
        add_materials(spec)
        geoms = [entry for entry in self.geoms if visual or entry[1].get("group") != VISUAL["group"]]
        used = {geom.get("meshname") for _, geom in geoms}
        for mesh in self.meshes:
            if mesh["name"] in used:
                spec.add_mesh(**mesh)
        for body, geom in geoms:
            (spec.body(body) if body else spec.worldbody).add_geom(**geom)
        for pair in self.pairs:
            spec.add_pair(**pair)


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
        self._geom(
            look,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=self._point((low + high) / 2),
            quat=quaternion(self.T_body_drawing[:3, :3]),
            size=(high - low) / 2,
            **more,
        )

    def rod(
        self, a: ArrayLike, b: ArrayLike, radius: float, look: str | dict[str, Any], *, round_ends: bool = False
    ) -> None:
        """Cylinder, or capsule if its ends are round, from point a to point b [m]."""
        kind = mujoco.mjtGeom.mjGEOM_CAPSULE if round_ends else mujoco.mjtGeom.mjGEOM_CYLINDER
        ends = [*self._point(a), *self._point(b)]
        self._geom(look, type=kind, fromto=ends, size=[radius, 0.0, 0.0])

    def ball(self, centre: ArrayLike, radius: float, look: str | dict[str, Any], **more: Any) -> None:
        """Ball [m]."""
        kind = mujoco.mjtGeom.mjGEOM_SPHERE
        self._geom(look, type=kind, pos=self._point(centre), size=[radius, 0.0, 0.0], **more)

    def hull(self, points: Array | Sequence[Array], look: str | dict[str, Any]) -> None:
        """Convex hull of points (n, 3) [m], or of several arrays of them, as a mesh."""
        self.solid(hull(points), look)

    def solid(self, solid: Manifold, look: str | dict[str, Any]) -> None:
        """A solid made of others by +, - and ^ (see `hull`, `prism`, `lathe`, `bar`), as a mesh."""
        body, meshes = self.body or self.drawing.base, self.drawing.meshes
        if solid.is_empty():
            raise TrocarError(f"a solid of {body} is empty")
        vertices, faces, normals = triangles(solid)
        R, p = self.T_body_drawing[:3, :3], self.T_body_drawing[:3, 3]
        name, corners, upright = f"{body}_{len(meshes)}", (vertices @ R.T + p).ravel(), (normals @ R.T).ravel()
        meshes.append({"name": name, "uservert": corners, "userface": faces.ravel(), "usernormal": upright})
        self._geom(look, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name)

    def _point(self, p: ArrayLike) -> Array:
        return self.T_body_drawing[:3, :3] @ np.asarray(p, dtype=float) + self.T_body_drawing[:3, 3]

    def _geom(self, look: str | dict[str, Any], **attributes: Any) -> None:
        style = {**VISUAL, "material": look} if isinstance(look, str) else look
        self.drawing.geoms.append((self.body, {**style, **attributes}))


class Skeleton:
    """The links of an arm at q = 0, in its base, to draw on.

    Attributes:
        T: pose (4, 4) of every link. at: origin (3,) of every link, which its joint passes through [m].
        pins: (3,) of every loop closure, by the first of the two links that it joins [m].
    """

    def __init__(self, drawing: Drawing, arm: Arm) -> None:
        self._drawing, self.T = drawing, poses_at_zero(arm.bodies)
        self.at = {name: T[:3, 3] for name, T in self.T.items()}
        self.pins = {p.body_a: (self.T[p.body_a] @ np.array([*p.point_a, 1.0]))[:3] for p in arm.loops}

    def on(self, link: str | None, T_base_drawing: Array = BASE) -> Sketch:
        """A sketch on a link (None for the base) in a drawing frame given by its pose in the base, at q = 0."""
        if link is None:
            return Sketch(self._drawing, "", T_base_drawing)
        return Sketch(self._drawing, link, inverse(self.T[link]) @ T_base_drawing)
