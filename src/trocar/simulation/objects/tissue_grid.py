"""Kinematics of tissue on a grid of trilinear cells: rest positions to current ones, and back."""

from __future__ import annotations

from collections.abc import Collection

import mujoco
import numpy as np

from trocar.simulation.objects.scene_object import OBJECT
from trocar.spatial import Array

FACES = {"-x": (0, -1.0), "+x": (0, 1.0), "-y": (1, -1.0), "+y": (1, 1.0), "-z": (2, -1.0), "+z": (2, 1.0)}
CLOSE = 1e-9  # accuracy of the inverse map [m]
MAX_NEWTON = 10  # iterations of the inverse map
# corners of a cell and the eight places at which its deformation is checked, in [0, 1]
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
# six tetrahedra about a diagonal that fill a cell, by the numbers of its corners
CELL_TETRAHEDRA = np.array([[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]])


class TissueGrid:
    """The nodes of a tissue in a model. All positions are in the frame of the tissue [m].

    Attributes:
        low, high: corners (3,) of the box at rest. cells: number of cells (3,).
        R, p: frame of the tissue in the world.
        nodes: ids of the x joints of all free nodes; those of y and z follow each.
        corners: numbers (n, 8) of the nodes of every cell. bodies: ids of the bodies of all nodes, by their number.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        name: str,
        cells: tuple[int, int, int],
        fixed: Collection[str],
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
        self.rest, self._address, self.joint = np.zeros((*shape, 3)), np.full(shape, -1), np.full(shape, -1)
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
        self._free_faces = [FACES[face] for face in FACES if face not in fixed]
        self._slopes = np.array([-1.0 / self.step, 1.0 / self.step])

    def to_local(self, place: Array) -> Array:
        """A position (3,) of the world in the tissue's frame."""
        return (place - self.p) @ self.R

    def cell(self, X: Array) -> tuple[tuple[slice, ...], Array]:
        """The cell of a rest position X, and the weights (2, 3) of its two sides in each direction."""
        u = (X - self.low) / self.step
        i = np.clip(np.floor(u).astype(int), 0, self.cells - 1)
        f = u - i
        return tuple(slice(a, a + 2) for a in i), np.array([1.0 - f, f])

    def weights(self, X: Array) -> tuple[Array, Array, Array]:
        """Joints (8,) of the nodes of X's cell (-1: fixed), their weights (8,), and the place they give at rest."""
        cell, sides = self.cell(X)
        w = _product(sides)
        return self.joint[cell].ravel(), w, w @ self.rest[cell].reshape(8, 3)

    def place(self, X: Array) -> Array:
        """Current position (3,) of the material point X."""
        cell, sides = self.cell(X)
        return _product(sides) @ self._corners(cell)

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Current position (3,) of X, and the deformation gradient F = dx/dX (3, 3)."""
        cell, sides = self.cell(X)
        corners, F = self._corners(cell), np.empty((3, 3))
        for axis in range(3):
            slopes = sides.copy()
            slopes[:, axis] = self._slopes[:, axis]
            F[:, axis] = _product(slopes) @ corners
        return _product(sides) @ corners, F

    def inverse(self, x: Array, near: Array) -> Array:
        """The material point (3,) that is now at x; found from `near` by Newton's method."""
        X = np.array(near)
        for _ in range(MAX_NEWTON):
            y, F = self.gradient(X)
            gap = x - y
            if gap @ gap < CLOSE**2:
                break
            X = X + np.linalg.solve(F, gap)
        return X

    def outside(self, X: Array) -> tuple[float, int, float]:
        """Signed distance of X from the nearest free face at rest, negative inside; its axis and direction."""
        return max(
            (float(X[axis] - self.high[axis] if sign > 0 else self.low[axis] - X[axis]), axis, sign)
            for axis, sign in self._free_faces
        )

    def on_face(self, X: Array, axis: int, sign: float) -> Array:
        """X moved to a face."""
        X = np.clip(X, self.low, self.high)
        X[axis] = self.high[axis] if sign > 0 else self.low[axis]
        return X

    def positions(self) -> Array:
        """Current positions (nx + 1, ny + 1, nz + 1, 3) of all nodes."""
        x = self.rest.copy()
        free = self._address >= 0
        x[free] += self._qpos[self._address[free][:, None] + np.arange(3)]
        return x

    def inverted(self) -> list[tuple[int, int, int]]:
        """Cells that are turned inside out: det F <= 0 at one of their corners."""
        x = self.positions()
        edges = [np.diff(x, axis=axis) for axis in range(3)]
        smallest = np.full(tuple(self.cells), np.inf)
        for corner in CORNERS:
            sides = []
            for axis, edge in enumerate(edges):
                at = [slice(c, c + n) for c, n in zip(corner, self.cells, strict=True)]
                at[axis] = slice(0, self.cells[axis])
                sides.append(edge[tuple(at)])
            smallest = np.minimum(smallest, np.einsum("...i,...i", np.cross(sides[0], sides[1]), sides[2]))
        return [(int(i), int(j), int(k)) for i, j, k in np.argwhere(smallest <= 0)]

    def gradients(self) -> Array:
        """Deformation gradients F (n, 3, 3) at the centres of all cells."""
        corners = self.positions().reshape(-1, 3)[self.corners]
        slopes = (2 * CORNERS - 1) / (4 * self.step)
        return np.einsum("nci,cj->nij", corners, slopes)

    def tetrahedra(self) -> Array:
        """Corners (n, 6, 4, 3) of six tetrahedra that fill each cell, now."""
        return np.asarray(self.positions().reshape(-1, 3)[self.corners][:, CELL_TETRAHEDRA])

    def cell_index(self, X: Array) -> int:
        """Number of the cell of a rest position X; cells are counted along z first, then y, then x."""
        return int(np.ravel_multi_index(tuple(cut.start for cut in self.cell(X)[0]), tuple(self.cells)))

    def _corners(self, cell: tuple[slice, ...]) -> Array:
        """Current positions (8, 3) of the nodes of a cell."""
        corners, address = self.rest[cell].reshape(8, 3).copy(), self._address[cell].ravel()
        free = address >= 0
        corners[free] += self._qpos[address[free][:, None] + np.arange(3)]
        return corners


def _product(sides: Array) -> Array:
    """Weights (8,) of the corners of a cell, from those (2, 3) of its sides."""
    x, y, z = sides.T
    return (x[:, None, None] * y[None, :, None] * z[None, None, :]).ravel()
