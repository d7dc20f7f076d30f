"""Solids for drawing: hulls of points and extruded or revolved outlines, combined by adding and carving.

All are plain geometry, in metres; manifold3d keeps them closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, product

import numpy as np
from manifold3d import CrossSection, FillRule, JoinType, Manifold, OpType
from numpy.typing import ArrayLike

from trocar.appearance.sketch import Interval, Span, TriangleMesh, ends
from trocar.spatial import Array

SEGMENTS = 16  # segments of a circle in an outline
CREASE = np.cos(np.radians(40.0))  # edges sharper than this are drawn as edges, others as smooth surfaces
# Hash of a rounded direction, so that equal ones are found by sorting numbers instead of rows.
KEY = np.sqrt([2.0, 3.0, 5.0]) / 10.0

Circle = tuple[ArrayLike, float]  # centre (3,) and radius [m]


def triangles(solid: Manifold) -> TriangleMesh:
    """The surface of a solid; vertices on edges are repeated for every side."""
    mesh = solid.to_mesh64()
    vertices, faces = np.asarray(mesh.vert_properties), np.asarray(mesh.tri_verts, dtype=np.int64)
    normals = corner_normals(vertices, faces)
    pairs = faces.ravel() + np.round(normals, 4) @ KEY
    _, first, corner = np.unique(pairs, return_index=True, return_inverse=True)
    return TriangleMesh(vertices[faces.ravel()[first]], normals[first], corner.reshape(faces.shape))


def corner_normals(vertices: Array, faces: Array) -> Array:
    """Normals (3 F, 3) at the corners of triangles (F, 3): shared across flat edges, split at sharp ones.

    MuJoCo's normals are one per vertex, which makes edges look round. The weight of a triangle is the area of the
    flat face that it is part of: large faces look flat up to their rounded edges.
    """
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    size = np.linalg.norm(area, axis=1)
    unit = area / np.maximum(size, 1e-300)[:, None]
    scale = float(np.ptp(vertices, axis=0).max())
    offset = np.round(np.einsum("ij,ij->i", unit, a) / scale, 3)
    _, plane = np.unique(offset + np.round(unit, 3) @ KEY, return_inverse=True)
    # each face counts once at a vertex, however many of its triangles meet there
    _, meeting, count = np.unique(
        faces.ravel() * len(faces) + np.repeat(plane, 3), return_inverse=True, return_counts=True
    )
    unit = np.repeat(unit, 3, axis=0)
    area = unit * (np.repeat(np.bincount(plane, size)[plane], 3) / count[meeting])[:, None]
    # all pairs of corners at one vertex
    order = np.argsort(faces.ravel(), kind="stable")
    _, group, count = np.unique(faces.ravel()[order], return_inverse=True, return_counts=True)
    many, first = count[group], (np.cumsum(count) - count)[group]
    one = np.repeat(np.arange(faces.size), many)
    other = np.arange(len(one)) - np.repeat(np.cumsum(many) - many, many) + first[one]
    one, other = order[one], order[other]
    alike = np.einsum("ij,ij->i", unit[one], unit[other]) > CREASE
    total = np.stack([np.bincount(one[alike], area[other[alike], k], faces.size) for k in range(3)], axis=1)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 0, total / np.maximum(length, 1e-300), [0.0, 0.0, 1.0])


def hull(points: Array | Sequence[Array]) -> Manifold:
    """Convex hull of points (n, 3) [m], or of several arrays of them."""
    together = points if isinstance(points, np.ndarray) else np.vstack(points)
    return Manifold.hull_points(np.ascontiguousarray(together, dtype=float))


def prism(outline: Sequence[tuple[float, float]] | CrossSection, thickness: Span, axis: str = "x") -> Manifold:
    """An outline in the plane of the other two coordinates [m], in their order, over an interval on `axis`."""
    section = outline if isinstance(outline, CrossSection) else polygon(outline)
    low, high = ends(thickness)
    return section.extrude(high - low).translate([0.0, 0.0, low]).transform(_TURN[axis])


# the coordinates (u, v, w) of an outline and of its thickness, as x, y, z
_TURN: dict[str, list[list[float]]] = {
    "x": [[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]],
    "y": [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]],
    "z": [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
}


def polygon(points: Sequence[tuple[float, float]], radius: float = 0.0) -> CrossSection:
    """An outline through points (u, v) [m] in either orientation, with corners rounded by `radius`."""
    section = CrossSection([np.asarray(points, dtype=float)], FillRule.NonZero)
    if section.area() <= 0.0:
        section = CrossSection([np.asarray(points, dtype=float)[::-1]], FillRule.NonZero)
    return rounded(section, radius) if radius else section


def rectangle(u: Span, v: Span, radius: float) -> CrossSection:
    """A rectangle between two values of each coordinate [m], its corners rounded by `radius`."""
    (left, right), (low, high) = ends(u), ends(v)
    return polygon([(left, low), (right, low), (right, high), (left, high)], radius)


def rounded(section: CrossSection, radius: float) -> CrossSection:
    """A section [m] whose corners, outer and inner, are rounded."""
    # in millimetres: the section library treats lengths below a micrometre as zero
    outer = section.scale((1e3, 1e3)).offset(-1e3 * radius, JoinType.Round, 2.0, SEGMENTS)
    inner = outer.offset(2e3 * radius, JoinType.Round, 2.0, SEGMENTS)
    return inner.offset(-1e3 * radius, JoinType.Round, 2.0, SEGMENTS).scale((1e-3, 1e-3))


def lathe(profile: Sequence[tuple[float, float]], axis: str = "z", sides: int = 24) -> Manifold:
    """A profile (position on the axis, radius) [m], closed along the axis and revolved about it; it may be concave."""
    (first, _), (last, _) = profile[0], profile[-1]
    points = [(0.0, first), *((radius, position) for position, radius in profile), (0.0, last)]
    return polygon(points).revolve(sides).transform(_ALONG[axis])


# the same, with u and v swapped about y, so that the orientation is kept
_ALONG = {**_TURN, "y": [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]}


def bar(a: ArrayLike, b: ArrayLike, radius: float, sides: int = 16) -> Manifold:
    """A round bar from point a to point b [m]: to add, or to subtract for a hole."""
    a, along = np.asarray(a, dtype=float), np.asarray(b, dtype=float) - np.asarray(a, dtype=float)
    length = float(np.linalg.norm(along))
    z = along / length
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    T = np.column_stack([x, np.cross(z, x), z, a])
    return Manifold.cylinder(length, radius, circular_segments=sides).transform(T)


def block(x: Span, y: Span, z: Span) -> Manifold:
    """A box between two values of each coordinate [m]: to add, or to subtract for a pocket."""
    low, high = np.array([ends(x), ends(y), ends(z)]).T
    return Manifold.cube(high - low).translate(low)


def tube(points: ArrayLike, radius: float, sides: int = 10) -> Manifold:
    """A cable or bent rod of `radius` [m] through points (n, 3) [m]."""
    path = np.asarray(points, dtype=float)
    balls = [Manifold.sphere(radius, sides).translate(p) for p in path]
    return Manifold.batch_boolean([Manifold.batch_hull([a, b]) for a, b in pairwise(balls)], OpType.Add)


def rounded_box(x: Span, y: Span, z: Span, radius: float) -> Array:
    """Points (n, 3) whose hull is a box between two values of each coordinate [m] with rounded edges."""
    low, high = np.array([ends(x), ends(y), ends(z)]).T
    octant = np.array([d for d in product(range(4), repeat=3) if sum(d) == 3], dtype=float)
    octant /= np.linalg.norm(octant, axis=1, keepdims=True)
    signs = np.array(list(product((-1.0, 1.0), repeat=3)))
    corners = np.where(signs < 0, low + radius, high - radius)
    return (corners[:, None] + radius * signs[:, None] * octant).reshape(-1, 3)


def plate(circles: Iterable[Circle], thickness: Span, axis: str = "x", bevel: float = 0.0, sides: int = 16) -> Array:
    """Points (n, 3) whose hull is a flat plate: the outline wraps circles, the thickness is an interval on `axis`.

    Args:
        circles: (centre (3,) [m], radius [m]); the centre's coordinate on `axis` does not matter.
        bevel: reduction of the outline on the two faces [m]. sides: corners of a circle.
    """
    i = "xyz".index(axis)
    others = [j for j in range(3) if j != i]
    low, high = ends(thickness)
    levels = [(low, 0.0), (high, 0.0)]
    if bevel:
        levels = [(low, bevel), (low + bevel, 0.0), (high - bevel, 0.0), (high, bevel)]
    angles = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
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
    """Points (n, 3) of a profile (position on the axis, radius) [m] revolved about y or z through an arc [rad].

    The angle is measured from x, in the plane of x and the third coordinate.
    """
    i = "xyz".index(axis)
    other = 3 - i
    angles = np.linspace(*arc, 25)
    points = np.zeros((len(profile), len(angles), 3))
    for row, (position, radius) in zip(points, profile, strict=True):
        row[:, i] = position
        row[:, 0], row[:, other] = radius * np.cos(angles), radius * np.sin(angles)
    return points.reshape(-1, 3)
