"""Kinematics of tissue on a grid of trilinear cells: rest positions to current ones, and back."""

from __future__ import annotations

from collections.abc import Collection

import mujoco
import numpy as np

from trocar.simulation.objects.closed_surface import ClosedSurface
from trocar.simulation.objects.scene_object import OBJECT
from trocar.simulation.objects.tissue_boundary import Boundary, BoxBoundary, SurfaceBoundary
from trocar.spatial import Array

CLOSE = 1e-9  # accuracy of the inverse map [m]
MAX_NEWTON = 10  # iterations of the inverse map
# corners of a cell and the eight places at which its deformation is checked, in [0, 1]
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
# edges along x, y and z that meet at each corner of a cell, by the numbers of their ends
CORNER_EDGES = np.array([[(c & ~bit, c | bit) for bit in (4, 2, 1)] for c in range(8)])
# six tetrahedra about a diagonal that fill a cell, by the numbers of its corners
CELL_TETRAHEDRA = np.array([[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]])


class TissueGrid:
    """The nodes of a tissue in a model. All positions are in the frame of the tissue [m].

    Attributes:
        low, high: corners (3,) of the box at rest. cells: number of cells (3,).
        R, p: frame of the tissue in the world.
        nodes: ids of the x joints of all free nodes; those of y and z follow each.
        corners: numbers (n, 8) of the nodes of every cell. bodies: ids of the bodies of all nodes, by their number.
        boundary: its free surface at rest.

    Nodes at which no cell is filled by the tissue are fixed.
    """

    boundary: Boundary

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        name: str,
        cells: tuple[int, int, int],
        fixed: Collection[str],
        surface: ClosedSurface | None = None,
    ) -> None:
        base = model.body(OBJECT + name).id
        self._qpos, self.cells = data.qpos, np.array(cells)
        self.R, self.p = np.empty((3, 3)), model.body_pos[base].copy()
        mujoco.mju_quat2Mat(self.R.reshape(-1), model.body_quat[base])
        children = [b for b in range(base + 1, model.nbody) if model.body_parentid[b] == base]
        # the other children are beads of `tissue_points`
        bodies = [b for b in children if not model.body(b).name.startswith(f"{OBJECT}{name}/")]
        places = model.body_pos[bodies]
        self.low, self.high = places.min(axis=0), places.max(axis=0)
        self.step = (self.high - self.low) / self.cells
        shape = tuple(self.cells + 1)
        self.rest = self.low + self.step * np.moveaxis(np.indices(shape), 0, -1)
        self._address, self.joint = np.full(shape, -1), np.full(shape, -1)
        self.bodies = np.zeros(np.prod(shape), dtype=int)
        for body, place in zip(bodies, places, strict=True):
            node = tuple(np.rint((place - self.low) / self.step).astype(int))
            self.rest[node] = place
            if model.body_jntnum[body]:
                self.joint[node] = model.body_jntadr[body]
                self._address[node] = model.jnt_qposadr[model.body_jntadr[body]]
            self.bodies[np.ravel_multi_index(node, shape)] = body
        numbers = np.arange(self.bodies.size).reshape(shape)
        at = np.indices(tuple(self.cells)).reshape(3, -1).T[:, None] + CORNERS
        self.corners = numbers[at[..., 0], at[..., 1], at[..., 2]]
        self.nodes = np.sort(self.joint[self.joint >= 0])
        # by cell: joints and rest positions of its corners, their addresses in qpos, and 0 for those that are fixed
        address = self._address.ravel()[self.corners]
        self._cell_joints, self._cell_rest = self.joint.ravel()[self.corners], self.rest.reshape(-1, 3)[self.corners]
        self._cell_address, self._cell_free = address[..., None] + np.arange(3), (address >= 0).astype(float)[..., None]
        self._axes = list(zip(self.low.tolist(), self.step.tolist(), self.cells.tolist(), strict=True))
        self.boundary = BoxBoundary(self.low, self.high, fixed) if surface is None else SurfaceBoundary(surface)

    def to_local(self, place: Array) -> Array:
        """A position (3,) of the world in the tissue's frame."""
        return (place - self.p) @ self.R

    def cell(self, X: Array) -> tuple[int, list[float]]:
        """Number of the cell of a rest position X, and X within it, in [0, 1]. Cells count along z, then y, then x."""
        # plain numbers: numpy is slower for three of them, and this runs several times per step
        cell, inner = 0, []
        for x, (low, step, count) in zip(X.tolist(), self._axes, strict=True):
            u = (x - low) / step
            i = min(max(int(u), 0), count - 1)
            cell = cell * count + i
            inner.append(u - i)
        return cell, inner

    def located(self, X: Array) -> tuple[int, Array, Array, Array]:
        """Cell of X, weights (8,) of its nodes, and the places (3,) that they give at rest and now."""
        cell, inner = self.cell(X)
        w = np.array(_products(*((1.0 - f, f) for f in inner)))
        return cell, w, w @ self._cell_rest[cell], w @ self._corners(cell)

    def cell_joints(self, cell: int) -> Array:
        """Joints (8,) along x of the nodes of a cell; -1: fixed."""
        return np.asarray(self._cell_joints[cell])

    def place(self, X: Array) -> Array:
        """Current position (3,) of the material point X."""
        cell, inner = self.cell(X)
        return np.asarray(np.array(_products(*((1.0 - f, f) for f in inner))) @ self._corners(cell))

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Current position (3,) of X, and the deformation gradient F = dx/dX (3, 3)."""
        cell, inner = self.cell(X)
        sides = [(1.0 - f, f) for f in inner]
        weights = [_products(*sides)]
        for axis, (_, step, _) in enumerate(self._axes):
            weights.append(
                _products(*((-1.0 / step, 1.0 / step) if k == axis else side for k, side in enumerate(sides)))
            )
        place, *columns = np.array(weights) @ self._corners(cell)
        return place, np.array(columns).T

    def inverse(self, x: Array, near: Array) -> Array:
        """The material point (3,) that is now at x; found from `near` by Newton's method."""
        X = np.array(near)
        for _ in range(MAX_NEWTON):
            y, F = self.gradient(X)
            gap = x - y
            if gap @ gap < CLOSE**2:
                break
            X = X + solved(F, gap)
        return X

    def positions(self) -> Array:
        """Current positions (nx + 1, ny + 1, nz + 1, 3) of all nodes."""
        x = self.rest.copy()
        free = self._address >= 0
        x[free] += self._qpos[self._address[free][:, None] + np.arange(3)]
        return x

    def inverted(self) -> list[tuple[int, int, int]]:
        """Cells that are turned inside out: det F <= 0 at one of their corners."""
        x = self.positions().reshape(-1, 3)[self.corners]
        edges = x[:, CORNER_EDGES[..., 1]] - x[:, CORNER_EDGES[..., 0]]  # (n, 8 corners, 3 edges, 3)
        inside_out = (np.linalg.det(edges) <= 0).any(axis=1).reshape(tuple(self.cells))
        return [(int(i), int(j), int(k)) for i, j, k in np.argwhere(inside_out)]

    def gradients(self) -> Array:
        """Deformation gradients F (n, 3, 3) at the centres of all cells."""
        corners = self.positions().reshape(-1, 3)[self.corners]
        slopes = (2 * CORNERS - 1) / (4 * self.step)
        return np.einsum("nci,cj->nij", corners, slopes)

    def tetrahedra(self) -> Array:
        """Corners (n, 6, 4, 3) of six tetrahedra that fill each cell, now."""
        return np.asarray(self.positions().reshape(-1, 3)[self.corners][:, CELL_TETRAHEDRA])

    def _corners(self, cell: int) -> Array:
        """Current positions (8, 3) of the nodes of a cell."""
        return np.asarray(self._cell_rest[cell] + self._cell_free[cell] * self._qpos[self._cell_address[cell]])


def _products(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float]) -> list[float]:
    """Weights of the eight corners of a cell, from those of its two sides in each direction."""
    return [a * b * c for a in x for b in y for c in z]


def solved(F: Array, v: Array) -> Array:
    """F^-1 v for a matrix (3, 3), by Cramer's rule: five times as fast as numpy's solver."""
    (a, b, c), (d, e, f), (g, h, i) = F.tolist()
    x, y, z = v.tolist()
    p, q, r = e * i - f * h, f * g - d * i, d * h - e * g
    det = a * p + b * q + c * r
    return np.array(
        [
            (p * x + (c * h - b * i) * y + (b * f - c * e) * z) / det,
            (q * x + (a * i - c * g) * y + (c * d - a * f) * z) / det,
            (r * x + (b * g - a * h) * y + (a * e - b * d) * z) / det,
        ]
    )
