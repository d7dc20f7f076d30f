"""Cuts through soft objects: elements that a blade crosses lose their stiffness and no longer touch anything.

The state does not change at a cut, and the elastic energy of the lost elements is not negative, so energy never rises.
A cut is as wide as an element.
"""

from __future__ import annotations

from itertools import pairwise

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError, shown
from trocar.spatial import Array

MAX_SAMPLES = 20_000  # points on the path of a blade
ADRIFT = 100.0  # damping of nodes that belong to no element any more [N s/m]
STIFFNESS_SIZES = {0: 24, 1: 24 * 24}  # numbers of MuJoCo per element of a full and of a trilinear flex
TETRAHEDRON_FACES = [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]]
NO_CONTACT = 1_000  # layer of elements that do not collide
CORNER = 1e-9  # tolerance of barycentric coordinates


def checked_path(path: ArrayLike) -> Array:
    """The path (n, 2, 3) of a blade, n >= 2 successive places of the two ends of its edge; an error if it is none."""
    try:
        places = np.array(path, dtype=float)
    except (TypeError, ValueError):
        places = np.empty(0)
    if places.ndim != 3 or places.shape[0] < 2 or places.shape[1:] != (2, 3) or not np.isfinite(places).all():
        raise TrocarError(
            "the path of a blade must be two or more successive places of its edge, each the two ends of the edge (3,) "
            f"[m], got {shown(path)}"
        )
    return places


def swept(path: Array, spacing: float) -> Array:
    """Points (m, 3) on the surface that an edge sweeps along a path (n, 2, 3), at most `spacing` [m] apart."""
    points = []
    for first, second in pairwise(path):
        along = 1 + int(np.ceil(np.linalg.norm(second - first, axis=1).max() / spacing))
        across = 1 + int(np.ceil(max(np.linalg.norm(edge[1] - edge[0]) for edge in (first, second)) / spacing))
        if along * across > MAX_SAMPLES:
            raise TrocarError("the path of the blade is too long for these elements: cut in several strokes")
        u, v = np.linspace(0.0, 1.0, along)[:, None, None], np.linspace(0.0, 1.0, across)[:, None]
        edges = (1.0 - u) * first + u * second
        points.append(((1.0 - v) * edges[:, :1] + v * edges[:, 1:]).reshape(-1, 3))
    return np.concatenate(points)


def crosses(points: Array, triangle: Array) -> Array:
    """Mask (n,) of the pieces of a line through points (n + 1, 3) that cross a triangle (3, 3)."""
    origin, along = points[:-1], np.diff(points, axis=0)
    first, second = triangle[1] - triangle[0], triangle[2] - triangle[0]
    normal = np.cross(first, second)
    with np.errstate(divide="ignore", invalid="ignore"):  # pieces in the plane of the triangle do not cross it
        t = (triangle[0] - origin) @ normal / (along @ normal)
        at = origin + t[:, None] * along - triangle[0]
        u, v = np.cross(at, second) @ normal / (normal @ normal), np.cross(first, at) @ normal / (normal @ normal)
        return np.asarray((t >= 0.0) & (t < 1.0) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0))


def crossed(tetrahedra: Array, points: Array) -> Array:
    """Mask (n,) of the tetrahedra, by their corners (n, 4, 3), that contain any of the points (m, 3)."""
    # only those whose boxes overlap matter
    near = _in_box(points, tetrahedra.min(axis=(0, 1)), tetrahedra.max(axis=(0, 1)))
    result = np.zeros(len(tetrahedra), dtype=bool)
    if not len(near):
        return result
    candidates = np.flatnonzero(
        (tetrahedra.max(axis=1) >= near.min(axis=0)).all(axis=1)
        & (tetrahedra.min(axis=1) <= near.max(axis=0)).all(axis=1)
    )
    origin, edges = tetrahedra[candidates, 0], tetrahedra[candidates, 1:] - tetrahedra[candidates, :1]
    whole = np.abs(np.linalg.det(edges)) > np.finfo(float).tiny
    origin, inverse, candidates = origin[whole], np.linalg.inv(edges[whole]), candidates[whole]
    # barycentric coordinates (n, m, 3) of every point in every tetrahedron
    u = near @ inverse - np.einsum("nj,nji->ni", origin, inverse)[:, None]
    result[candidates] = ((u.min(axis=2) >= -CORNER) & (u.sum(axis=2) <= 1.0 + CORNER)).any(axis=1)
    return result


def _in_box(points: Array, low: Array, high: Array) -> Array:
    return np.asarray(points[((points >= low) & (points <= high)).all(axis=1)])


def flex_id(model: mujoco.MjModel, name: str) -> int:
    """Number of the flex of this name."""
    return int(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_FLEX, name))


def flex_tetrahedra(model: mujoco.MjModel, flex: int) -> Array:
    """Vertices (n, 4) of all tetrahedra of a flex; a view."""
    first, count = int(model.flex_elemdataadr[flex]), int(model.flex_elemnum[flex])
    return np.asarray(model.flex_elem[first : first + 4 * count].reshape(-1, 4))


def outer_faces(tetrahedra: Array) -> Array:
    """Triangles (k, 3) of tetrahedra (n, 4) that belong to one of them only."""
    faces = tetrahedra[:, TETRAHEDRON_FACES].reshape(-1, 3)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return np.asarray(faces[first[count == 1]])


def remaining_faces(model: mujoco.MjModel, flex: int, layers: Array) -> Array:
    """Triangles (k, 3) of the surface of a flex without its removed elements, as indices of its vertices.

    layers: `flex_elemlayer` of the simulated model.
    """
    first, count = int(model.flex_elemadr[flex]), int(model.flex_elemnum[flex])
    return outer_faces(flex_tetrahedra(model, flex)[layers[first : first + count] != NO_CONTACT])


class Elements:
    """Elements of a flex that can be removed in a running simulation.

    Args:
        corners: bodies (n, k) of the nodes of every element, in the order of their stiffness in the model.
        surface: element of every tetrahedron of the mesh that is touched.
        scale: (n,) factor of the stiffness of every element.

    Attributes:
        intact: (n,) True for elements that have not been removed. filled: (n,) True for elements with stiffness.
    """

    def __init__(
        self, model: mujoco.MjModel, flex: int, corners: Array, surface: Array, scale: Array | float = 1.0
    ) -> None:
        count = len(corners)
        self._model, self._corners, self._owner = model, corners, surface
        first, size = int(model.flex_stiffnessadr[flex]), STIFFNESS_SIZES[int(model.flex_interp[flex])]
        self._stiffness = model.flex_stiffness[first : first + count * size].reshape(count, size)
        self._stiffness *= np.broadcast_to(scale, count)[:, None]
        self.filled = np.asarray(self._stiffness.any(axis=1))
        elements = slice(int(model.flex_elemadr[flex]), int(model.flex_elemadr[flex] + model.flex_elemnum[flex]))
        self._layer = model.flex_elemlayer[elements]
        self._vertices = flex_tetrahedra(model, flex)
        self._compiled = self._stiffness.copy(), self._layer.copy()
        self.intact = np.ones(count, dtype=bool)

    def remove(self, elements: Array) -> int:
        """Remove the elements of a mask (n,) and return their number without those that were removed before."""
        lost = int((elements & self.intact).sum())
        if lost:
            self.set_intact(self.intact & ~elements)
        return lost

    def set_intact(self, intact: Array) -> None:
        """Remove all elements outside of a mask (n,) and put back those in it."""
        model, (stiffness, layer) = self._model, self._compiled
        self.intact = np.array(intact, dtype=bool)
        self._stiffness[:] = np.where(self.intact[:, None], stiffness, 0.0)
        removed = ~self.intact[self._owner]
        bare = np.isin(self._vertices, self._vertices[removed]).any(axis=1)  # their neighbours are the new surface
        self._layer[:] = np.where(removed, NO_CONTACT, np.where(bare, 0, layer))
        held = np.zeros(model.nbody, dtype=bool)
        held[self._corners[self.intact]] = True
        for body in np.unique(self._corners):
            first, count = int(model.body_dofadr[body]), int(model.body_dofnum[body])
            if count:
                model.dof_damping[first : first + count] = 0.0 if held[body] else ADRIFT

    @property
    def faces(self) -> Array:
        """Triangles (k, 3) of the surface of the remaining mesh, as indices of its vertices."""
        return outer_faces(self._vertices[self.intact[self._owner]])
