"""A small drawing kit: primitives and convex hulls on the bodies of a model, in coordinates that are easy to think in.

Visual geoms are in group 2 and touch nothing; collision geoms are in group 3. None has mass: the inertia of a body
is a measured parameter, not a consequence of its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.arms.arm import Body, poses_at_zero
from trocar.spatial import Array, inverse, quaternion

# name: colour (red, green, blue), specular, shininess. Real machines: light grey with dark blue-grey covers.
MATERIALS: dict[str, tuple[tuple[float, float, float], float, float]] = {
    "cast": ((0.76, 0.77, 0.79), 0.25, 0.3),
    "aluminium": ((0.72, 0.74, 0.76), 0.5, 0.5),
    "cover": ((0.13, 0.20, 0.34), 0.35, 0.5),
    "column": ((0.25, 0.29, 0.36), 0.3, 0.4),
    "steel": ((0.62, 0.65, 0.69), 0.8, 0.7),
    "bright": ((0.78, 0.80, 0.82), 0.8, 0.7),
    "plastic": ((0.74, 0.81, 0.88), 0.3, 0.4),
    "tungsten": ((0.36, 0.36, 0.38), 0.5, 0.5),
    "dark": ((0.07, 0.08, 0.10), 0.2, 0.3),
}

VISUAL: dict[str, Any] = {"group": 2, "contype": 0, "conaffinity": 0, "mass": 0.0}

# Contacts settle in 5 ms without bouncing, and are fully hard at 0.1 mm of penetration. The two masks have no bit in
# common: the links of an arm, made to pass each other, do not collide among themselves, but with all that is ordinary.
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
Circle = tuple[ArrayLike, float]  # centre (3,) and radius [m]


def add_materials(spec: mujoco.MjSpec) -> None:
    """Add every material of the table, once."""
    present = {material.name for material in spec.materials}
    for name, (colour, specular, shininess) in MATERIALS.items():
        if name not in present:
            spec.add_material(name=name, rgba=[*colour, 1.0], specular=specular, shininess=shininess)


@dataclass(frozen=True)
class Sketch:
    """Draws on one body. Points are given in a drawing frame, whose pose on the body is `T_body_drawing`.

    `look` is the name of a material, or a dictionary of geom attributes such as `COLLISION`.
    """

    spec: mujoco.MjSpec
    body: mujoco.MjsBody
    T_body_drawing: Array

    @classmethod
    def at(cls, spec: mujoco.MjSpec, body: mujoco.MjsBody, T_base_body: Array, T_base_drawing: Array) -> Sketch:
        """On a body, in a drawing frame given by its pose in the base."""
        return cls(spec, body, inverse(T_base_body) @ T_base_drawing)

    def box(self, x: Interval, y: Interval, z: Interval, look: str | dict[str, Any], **more: Any) -> None:
        """Box between two values of each coordinate [m]."""
        low, high = np.array([x, y, z], dtype=float).T
        self._geom(
            look,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=self._point((low + high) / 2),
            quat=quaternion(self.T_body_drawing[:3, :3]),
            size=np.abs(high - low) / 2,
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

    def hull(self, points: Array, look: str | dict[str, Any], **more: Any) -> None:
        """Convex hull of points (n, 3) [m], as a mesh."""
        name = f"{self.body.name or 'base'}_{len(self.spec.meshes)}"
        vertices = points @ self.T_body_drawing[:3, :3].T + self.T_body_drawing[:3, 3]
        self.spec.add_mesh(name=name, uservert=vertices.ravel())
        self._geom(look, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, **more)

    def _point(self, p: ArrayLike) -> Array:
        return self.T_body_drawing[:3, :3] @ np.asarray(p, dtype=float) + self.T_body_drawing[:3, 3]

    def _geom(self, look: str | dict[str, Any], **attributes: Any) -> None:
        style = {**VISUAL, "material": look} if isinstance(look, str) else look
        self.body.add_geom(**{**style, **attributes})


def on_bodies(spec: mujoco.MjSpec, bodies: Sequence[Body]) -> Callable[[str | None], Sketch]:
    """Sketches by the name of a body (None for the base), all in base coordinates at q = 0."""
    T = poses_at_zero(bodies)

    def on(name: str | None) -> Sketch:
        if name is None:
            return Sketch(spec, spec.worldbody, np.eye(4))
        return Sketch.at(spec, spec.body(name), T[name], np.eye(4))

    return on


def rounded_box(x: Interval, y: Interval, z: Interval, radius: float) -> Array:
    """Points (n, 3) whose hull is a box between two values of each coordinate [m] with rounded edges."""
    low, high = np.array([x, y, z], dtype=float).T
    directions = np.array([d for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    corners = np.array(list(product(*zip(low + radius, high - radius, strict=True))))
    return (corners[:, None] + radius * directions).reshape(-1, 3)


def plate(circles: Iterable[Circle], thickness: Interval, axis: str = "x", bevel: float = 0.0) -> Array:
    """Points (n, 3) whose hull is a flat plate: the outline wraps circles, the thickness is an interval on `axis`.

    Args:
        circles: (centre (3,) [m], radius [m]); the centre's coordinate on `axis` does not matter.
        bevel: how much smaller the outline is on the two faces [m].
    """
    i = "xyz".index(axis)
    others = [j for j in range(3) if j != i]
    low, high = sorted(thickness)
    levels = (
        ((low, bevel), (low + bevel, 0.0), (high - bevel, 0.0), (high, bevel))
        if bevel
        else (
            (low, 0.0),
            (high, 0.0),
        )
    )
    angles = np.linspace(0.0, 2.0 * np.pi, 20, endpoint=False)
    points = []
    for centre, radius in circles:
        for level, inset in levels:
            ring = np.tile(np.asarray(centre, dtype=float), (len(angles), 1))
            ring[:, i] = level
            ring[:, others[0]] += (radius - inset) * np.cos(angles)
            ring[:, others[1]] += (radius - inset) * np.sin(angles)
            points.append(ring)
    return np.vstack(points)


def turned(profile: Sequence[tuple[float, float]], arc: Interval = (0.0, 2.0 * np.pi), axis: str = "y") -> Array:
    """Points (n, 3) of a profile (position on the axis, radius) [m] turned about the axis y or z through an arc [rad].

    The angle is counted in the plane of x and the third coordinate, from x.
    """
    i = "xyz".index(axis)
    other = 3 - i
    angles = np.linspace(*arc, 25)
    points = np.zeros((len(profile), len(angles), 3))
    for row, (position, radius) in zip(points, profile, strict=True):
        row[:, i] = position
        row[:, 0], row[:, other] = radius * np.cos(angles), radius * np.sin(angles)
    return points.reshape(-1, 3)
