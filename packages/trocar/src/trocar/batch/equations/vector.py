"""Vectors and symmetric matrices of graph nodes, in three dimensions.

A symmetric matrix is its six entries xx, xy, xz, yy, yz, zz, as in barycentric parameters.
"""

from __future__ import annotations

import numpy as np

from trocar.laws.graph import Graph, Node
from trocar.spatial import Array

Vector = tuple[Node, Node, Node]
Symmetric = tuple[Node, Node, Node, Node, Node, Node]

UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
_CLEAN = 1e-12  # placements are products of cosines: entries this close to -1, 0 or 1 are rounded to them


def cleaned(values: Array) -> Array:
    """The array with entries close to -1, 0 and 1 rounded, so that they fold."""
    values = np.asarray(values, dtype=float)
    near = np.clip(np.round(values), -1.0, 1.0)
    return np.where(np.abs(values - near) < _CLEAN, near, values) + 0.0


def constant(graph: Graph, values: Array) -> Vector:
    x, y, z = (graph.constant(v) for v in values)
    return x, y, z


def zero(graph: Graph) -> Vector:
    return graph.zero, graph.zero, graph.zero


def add(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def scale(s: Node, a: Vector) -> Vector:
    return s * a[0], s * a[1], s * a[2]


def dot(a: Vector, b: Vector) -> Node:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def product(R: Array, v: Vector) -> Vector:
    """R v for a constant matrix."""
    x, y, z = (v[0] * R[i, 0] + v[1] * R[i, 1] + v[2] * R[i, 2] for i in range(3))
    return x, y, z


def symmetric_product(S: Symmetric, v: Vector) -> Vector:
    xx, xy, xz, yy, yz, zz = S
    return dot((xx, xy, xz), v), dot((xy, yy, yz), v), dot((xz, yz, zz), v)


def add_symmetric(a: Symmetric, b: Symmetric) -> Symmetric:
    xx, xy, xz, yy, yz, zz = (x + y for x, y in zip(a, b, strict=True))
    return xx, xy, xz, yy, yz, zz


def turned_constant(R: Array, S: Symmetric) -> Symmetric:
    """R S R' for a constant rotation."""
    if np.array_equal(R, np.eye(3)):
        return S
    xx, xy, xz, yy, yz, zz = S
    columns = [product(R, row) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))]  # of R S
    rows = [product(R, (columns[0][i], columns[1][i], columns[2][i])) for i in range(3)]
    xx, xy, xz, yy, yz, zz = (rows[i][j] for i, j in UPPER)
    return xx, xy, xz, yy, yz, zz


def turned_about_z(c: Node, s: Node, S: Symmetric) -> Symmetric:
    """Rz S Rz' with c and s the cosine and sine of the angle."""
    xx, xy, xz, yy, yz, zz = S
    difference, cs = xx - yy, c * s
    new_xx = yy + c * c * difference - 2.0 * (cs * xy)
    return new_xx, cs * difference + (c * c - s * s) * xy, c * xz - s * yz, xx + yy - new_xx, s * xz + c * yz, zz


def shifted(mass: Node, h: Vector, S: Symmetric, r: Vector) -> tuple[Vector, Symmetric]:
    """First moment and inertia about a point from which the old reference is at r.

    h' = h + m r and L' = L + (2 h.r + m r.r) 1 - (h r' + r h' + m r r').
    """
    moved = add(h, scale(mass, r))
    both = dot(h, r) + dot(moved, r)
    xx, xy, xz, yy, yz, zz = (
        S[k] - (moved[i] * r[j] + r[i] * h[j]) + (both if i == j else 0.0) for k, (i, j) in enumerate(UPPER)
    )
    return moved, (xx, xy, xz, yy, yz, zz)
