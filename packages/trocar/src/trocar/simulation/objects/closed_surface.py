"""Closed triangle surfaces: the shape of a tissue that is not a box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import mujoco
import numpy as np
import scipy
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError, one_line, shown
from trocar.files import read_whole
from trocar.spatial import Array

MAX_TRIANGLES = 20_000
MAX_EXTENT = 1e6  # of a surface in a file [m]
MESH_FILES = (".stl", ".obj")  # formats that MuJoCo reads
RAYS = 24  # along x and along y, on which crossings of the surface with itself are searched
MAX_CROSSED = 0.01  # share of the volume
SAMPLED = 30  # samples along the longest edge of the box, for the search of the nearest triangle
NEAREST = 6  # samples to whose triangles the distance of a point is computed
MAX_DIVISIONS = 6  # of a triangle, each into four
# Rays are shifted by these fractions of the surface's size, so that none runs through an edge.
SHIFT = np.array([1.3e-7, 2.9e-7])


@dataclass(frozen=True)
class ClosedSurface:
    """A closed triangle surface without holes, in coordinates of its own.

    Attributes:
        vertices: (n, 3) [m]. faces: (m, 3) corners of the triangles, in either orientation, but all in the same.
    """

    vertices: Array
    faces: Array

    def __post_init__(self) -> None:
        vertices, faces = _checked(self.vertices, self.faces)
        if _volume(vertices, faces) < 0:
            faces = faces[:, ::-1]
        vertices.setflags(write=False)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)
        self._check_simple()

    def _check_simple(self) -> None:
        """Raise an error if the surface crosses itself: rays through it must enter and leave in turn."""
        filled = wrong = 0.0
        for share in np.ndindex(RAYS, RAYS):
            heights, leaving = self._crossings(self.low[:2] + ((np.array(share) + 0.5) / RAYS + SHIFT) * self.size[:2])
            order = np.argsort(heights)
            turns = np.cumsum(np.where(leaving[order], -1, 1))[:-1]  # of the surface around the pieces of the ray
            lengths = np.diff(heights[order])
            filled += lengths[turns != 0].sum()
            wrong += lengths[(turns < 0) | (turns > 1)].sum()
        if wrong > MAX_CROSSED * filled:
            raise TrocarError(
                f"the surface crosses itself: it encloses {100 * wrong / filled:.2g} % of its volume twice or inside "
                "out; unite its parts in a mesh editor"
            )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ClosedSurface:
        """Read a surface from an STL or OBJ file, in metres. Corners at the same place become one vertex."""
        file = Path(path)
        if file.suffix.lower() not in MESH_FILES:
            raise TrocarError(f"a surface is a file {' or '.join(MESH_FILES)}, got {shown(file.name)}")
        spec = mujoco.MjSpec()
        # a shell has no volume that must be positive, and is not refused before it is checked here
        mesh = spec.add_mesh(name="surface", file=file.name, inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL)
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name)
        spec.assets = {file.name: read_whole(file, "surface")}
        try:
            model = spec.compile()
        except (ValueError, RuntimeError) as error:
            raise TrocarError(f"{file} is not a surface that can be read: {one_line(str(error))}") from None
        # MuJoCo moves a mesh into the frame of its inertia
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, model.mesh_quat[0])
        places = model.mesh_vert @ R.reshape(3, 3).T + model.mesh_pos[0]
        extent = float(np.ptp(places, axis=0).max()) if np.isfinite(places).all() else np.inf
        if not 0 < extent < MAX_EXTENT:
            raise TrocarError(f"{file} is not a surface: its extent is {extent:g} m")
        rounded = np.round(places / extent, 6)
        _, first, same = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
        try:
            return cls(places[first], same.reshape(-1)[model.mesh_face])
        except TrocarError as error:
            raise TrocarError(f"{file}: {error}") from None

    @property
    def low(self) -> Array:
        """Lower corner (3,) of its box [m]."""
        return np.asarray(self.vertices.min(axis=0))

    @property
    def size(self) -> Array:
        """Edges (3,) of its box [m]."""
        return np.ptp(self.vertices, axis=0)

    @property
    def volume(self) -> float:
        """Enclosed volume [m^3]."""
        return _volume(self.vertices, self.faces)

    def fitted(self, size: ArrayLike) -> ClosedSurface:
        """This surface, stretched to a box of `size` (3,) [m] about the origin."""
        scale = checks.lengths("size", size) / self.size
        return ClosedSurface((self.vertices - self.low - self.size / 2) * scale, self.faces)

    def signed_distance(self, points: ArrayLike) -> tuple[Array, Array]:
        """Distances (k,) of points (k, 3) from the surface [m], negative inside, and the nearest places (k, 3)."""
        points = np.asarray(points, dtype=float).reshape(-1, 3)
        tree, owner = self._samples
        _, nearest = tree.query(points, k=NEAREST)
        places = _nearest_on(points[:, None], self.vertices[self.faces[owner[nearest]]])
        squares = ((places - points[:, None]) ** 2).sum(axis=2)
        best = squares.argmin(axis=1)
        rows = np.arange(len(points))
        sign = np.where(self.contains(points), -1.0, 1.0)
        return sign * np.sqrt(squares[rows, best]), places[rows, best]

    def contains(self, points: ArrayLike) -> Array:
        """Mask (k,) of the points (k, 3) inside: a ray from them along z crosses the surface an odd number of times."""
        points = np.asarray(points, dtype=float).reshape(-1, 3)
        shift = SHIFT * self.size[:2]
        # points on a lattice share their rays
        columns, column = np.unique(points[:, :2] + shift, axis=0, return_inverse=True)
        inside, column = np.zeros(len(points), dtype=bool), column.reshape(-1)
        order = np.argsort(column, kind="stable")
        starts = np.searchsorted(column[order], np.arange(len(columns) + 1))
        for k, ray in enumerate(columns):
            mine = order[starts[k] : starts[k + 1]]
            heights, _ = self._crossings(ray)
            inside[mine] = (heights[None] > points[mine, 2, None]).sum(axis=1) % 2 == 1
        return inside

    def _crossings(self, ray: Array) -> tuple[Array, Array]:
        """Heights (k,) at which a ray along z at (2,) crosses the surface [m], and whether it leaves upwards there."""
        a, b, c = self._corners
        sides = np.stack([_side(p, q, ray) for p, q in ((b, c), (c, a), (a, b))])
        leaving = np.asarray((sides > 0).all(axis=0))
        hit = leaving | (sides < 0).all(axis=0)
        weights = sides[:, hit]
        heights = (weights * np.stack([p[hit, 2] for p in (a, b, c)])).sum(axis=0) / weights.sum(axis=0)
        return heights, leaving[hit]

    @cached_property
    def _corners(self) -> tuple[Array, Array, Array]:
        """First, second and third corners (m, 3) of the triangles."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return a, b, c

    @cached_property
    def _samples(self) -> tuple[scipy.spatial.cKDTree, Array]:
        """Points all over the surface, and the triangle of each."""
        corners, owner, points = self.vertices[self.faces], np.arange(len(self.faces)), []
        for _ in range(MAX_DIVISIONS):
            edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
            small = edges.max(axis=1) < self.size.max() / SAMPLED
            points.append((corners[small].mean(axis=1), owner[small]))
            corners, owner = corners[~small], np.repeat(owner[~small], 4)
            middles = (corners + np.roll(corners, -1, axis=1)) / 2
            (a, b, c), (ab, bc, ca) = np.moveaxis(corners, 1, 0), np.moveaxis(middles, 1, 0)
            quarters = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
            corners = np.stack([np.stack(quarter, axis=1) for quarter in quarters], axis=1).reshape(-1, 3, 3)
        points.append((corners.mean(axis=1), owner))
        places, owners = (np.concatenate(part) for part in zip(*points, strict=True))
        return scipy.spatial.cKDTree(places), owners


def _side(p: Array, q: Array, ray: Array) -> Array:
    """Twice the area (m,) of the triangles of edges p to q (m, 3) and a ray along z at (2,), positive on the left."""
    return np.asarray((q[:, 0] - p[:, 0]) * (ray[1] - p[:, 1]) - (q[:, 1] - p[:, 1]) * (ray[0] - p[:, 0]))


def _volume(vertices: Array, faces: Array) -> float:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def _checked(vertices: ArrayLike, faces: ArrayLike) -> tuple[Array, Array]:
    """Vertices and faces as arrays; an error unless every edge joins two triangles of the same orientation."""
    try:
        places, corners = np.array(vertices, dtype=float), np.array(faces, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise TrocarError("a surface has vertices (n, 3) and faces (m, 3), which are numbers") from None
    if places.ndim != 2 or places.shape[1] != 3 or not np.isfinite(places).all():
        raise TrocarError(f"vertices of a surface must be finite numbers (n, 3), got {shown(np.shape(vertices))}")
    if corners.ndim != 2 or corners.shape[1] != 3 or not 4 <= len(corners) <= MAX_TRIANGLES:
        raise TrocarError(f"a surface has 4 to {MAX_TRIANGLES} faces (m, 3), got {shown(np.shape(faces))}")
    if corners.min() < 0 or corners.max() >= len(places):
        raise TrocarError(f"faces of a surface name vertices 0 to {len(places) - 1}")
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    there = np.unique(edges, axis=0)
    if len(there) != len(edges) or not np.array_equal(there, np.unique(edges[:, ::-1], axis=0)):
        raise TrocarError("the surface is not closed: every edge must join two triangles of the same orientation")
    if np.ptp(places, axis=0).min() <= 0 or not _volume(places, corners):
        raise TrocarError("the surface encloses no volume")
    return places, corners


def _nearest_on(points: Array, triangles: Array) -> Array:
    """Nearest places (..., 3) on triangles (..., 3, 3) to points that broadcast with (..., 3)."""
    a, b, c = np.moveaxis(triangles, -2, 0)
    ab, ac = b - a, c - a
    normal = np.cross(ab, ac)
    square = np.maximum((normal**2).sum(axis=-1, keepdims=True), np.finfo(float).tiny)
    flat = points - normal * ((points - a) * normal).sum(axis=-1, keepdims=True) / square
    u = (np.cross(ab, flat - a) * normal).sum(axis=-1, keepdims=True) / square  # weight of c
    v = (np.cross(flat - a, ac) * normal).sum(axis=-1, keepdims=True) / square  # weight of b
    inside = (u >= 0) & (v >= 0) & (u + v <= 1)
    edges = [_nearest_on_edge(points, p, q) for p, q in ((a, b), (b, c), (c, a))]
    squares = np.stack([((edge - points) ** 2).sum(axis=-1) for edge in edges])
    at_edge = np.take_along_axis(np.stack(edges), squares.argmin(axis=0)[None, ..., None], axis=0)[0]
    return np.asarray(np.where(inside, flat, at_edge))


def _nearest_on_edge(points: Array, p: Array, q: Array) -> Array:
    along = q - p
    square = np.maximum((along**2).sum(axis=-1, keepdims=True), np.finfo(float).tiny)
    return np.asarray(p + np.clip(((points - p) * along).sum(axis=-1, keepdims=True) / square, 0.0, 1.0) * along)
