"""Tetrahedra that fill a closed surface: a lattice of tetrahedra, cut at the surface.

A vertex of the lattice that is close to the surface moves onto it. The other tetrahedra that the surface crosses are
cut where it crosses their edges. Details of the surface that are smaller than the lattice are lost.
"""

from __future__ import annotations

import numpy as np

from trocar.errors import TrocarError
from trocar.simulation.objects.closed_surface import ClosedSurface
from trocar.spatial import Array

SNAPPED = 0.2  # distance from the surface, in lattice steps, within which a vertex moves onto it
FLAT = 1e-4  # volume of tetrahedra that are left out, in cubes of the lattice
# the six tetrahedra about a diagonal of a cube, by its corners, which count along z, then y, then x
CUBE = np.array([[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]])
PRISM = [[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3], [2, 0, 1, 5, 3, 4]]  # its corners, turned
PRISM += [[3, 5, 4, 0, 2, 1], [4, 3, 5, 1, 0, 2], [5, 4, 3, 2, 1, 0]]  # and upside down


def filled(surface: ClosedSurface, step: float) -> tuple[Array, Array]:
    """Vertices (n, 3) [m] and tetrahedra (m, 4) inside a surface, of about `step` [m]."""
    count = np.maximum(2, np.ceil(surface.size / step).astype(int))
    steps = surface.size / count
    axes = [low + h * np.arange(-1, k + 2) for low, h, k in zip(surface.low, steps, count, strict=True)]
    vertices = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    numbers = np.arange(len(vertices)).reshape([len(axis) for axis in axes])
    ends = (slice(None, -1), slice(1, None))
    corners = np.stack([numbers[i, j, k] for i in ends for j in ends for k in ends], axis=-1).reshape(-1, 8)
    tetrahedra = corners[:, CUBE].reshape(-1, 4)
    distance, nearest = surface.signed_distance(vertices)
    close = np.abs(distance) < SNAPPED * steps.min()
    vertices[close], distance[close] = nearest[close], 0.0
    # tetrahedra with all corners on the surface are inside it or outside
    on = np.flatnonzero((distance[tetrahedra] == 0).all(axis=1))
    inside = tetrahedra[on[surface.contains(vertices[tetrahedra[on]].mean(axis=1))]]
    vertices, tetrahedra = _clipped(vertices, tetrahedra, distance)
    tetrahedra = np.concatenate([tetrahedra, inside])
    edges = vertices[tetrahedra[:, 1:]] - vertices[tetrahedra[:, :1]]
    volume = np.linalg.det(edges) / 6
    tetrahedra[volume < 0] = tetrahedra[volume < 0][:, [0, 1, 3, 2]]
    tetrahedra = tetrahedra[np.abs(volume) > FLAT * steps.prod()]
    if not len(tetrahedra):
        raise TrocarError(f"the surface is too thin for a mesh of {step:g} m: use a smaller mesh")
    used, numbers = np.unique(tetrahedra, return_inverse=True)
    return vertices[used], numbers.reshape(-1, 4)


def gmsh_text(vertices: Array, tetrahedra: Array) -> str:
    """A mesh in the format 2.2 of Gmsh, which MuJoCo reads."""
    nodes = [f"{k} {x!r} {y!r} {z!r}" for k, (x, y, z) in enumerate(vertices.tolist(), 1)]
    elements = [f"{k} 4 0 {a} {b} {c} {d}" for k, (a, b, c, d) in enumerate((tetrahedra + 1).tolist(), 1)]
    head = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat"]
    parts = [*head, "$Nodes", str(len(nodes)), *nodes, "$EndNodes"]
    return "\n".join([*parts, "$Elements", str(len(elements)), *elements, "$EndElements", ""])


def _clipped(vertices: Array, tetrahedra: Array, distance: Array) -> tuple[Array, Array]:
    """The parts of tetrahedra where the distance, linear in each, is not positive."""
    sign = np.sign(distance)[tetrahedra]
    inner, outer = (sign < 0).sum(axis=1), (sign > 0).sum(axis=1)
    whole = (inner > 0) & (outer == 0)
    mixed = np.flatnonzero((inner > 0) & (outer > 0))
    cuts: dict[tuple[int, int], int] = {}
    places: list[Array] = []
    parts = [tetrahedra[whole]]

    def cut(one: int, other: int) -> int:
        """Vertex at which the surface crosses an edge."""
        key = (min(one, other), max(one, other))
        if key not in cuts:
            first, second = distance[key[0]], distance[key[1]]
            share = first / (first - second)
            cuts[key] = len(vertices) + len(places)
            places.append((1 - share) * vertices[key[0]] + share * vertices[key[1]])
        return cuts[key]

    for row in mixed.tolist():
        corners, side = tetrahedra[row].tolist(), sign[row].tolist()
        ins = [c for c, s in zip(corners, side, strict=True) if s < 0]
        outs = [c for c, s in zip(corners, side, strict=True) if s > 0]
        on = [c for c, s in zip(corners, side, strict=True) if s == 0]
        if len(ins) == 1:
            parts.append(np.array([[ins[0], *on, *(cut(ins[0], c) for c in outs)]]))
        elif len(ins) == 3:
            parts.append(_prism([*ins, *(cut(c, outs[0]) for c in ins)]))
        elif len(outs) == 2:
            a, b = ins
            parts.append(_prism([a, *(cut(a, c) for c in outs), b, *(cut(b, c) for c in outs)]))
        else:  # two inside, one on the surface, one outside
            (a, b), (c,) = ins, outs
            parts.append(_pyramid([a, b, cut(b, c), cut(a, c)], on[0]))
    return np.concatenate([vertices, np.array(places).reshape(-1, 3)]), np.concatenate(parts)


def _pyramid(base: list[int], apex: int) -> Array:
    """Two tetrahedra of a pyramid; its base is divided at its smallest number, as on the other side of it."""
    k = base.index(min(base))
    a, b, c, d = base[k:] + base[:k]
    return np.array([[a, b, c, apex], [a, c, d, apex]])


def _prism(corners: list[int]) -> Array:
    """Three tetrahedra of a prism with the triangles (0, 1, 2) and (3, 4, 5).

    Every quadrangle is divided at its smallest number, so that neighbours divide it alike.
    """
    a, b, c, d, e, f = (corners[k] for k in PRISM[corners.index(min(corners))])
    if min(b, f) < min(c, e):
        return np.array([[a, b, c, f], [a, b, f, e], [a, e, f, d]])
    return np.array([[a, b, c, e], [a, e, c, f], [a, e, f, d]])
