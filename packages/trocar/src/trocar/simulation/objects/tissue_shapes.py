"""Surfaces of tissues that are made here: an ellipsoid, a vessel, and a lump with a sharp edge like a liver.

All fill a box of edge 1 about the origin; a tissue stretches them to its size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trocar import checks
from trocar.simulation.objects.closed_surface import ClosedSurface
from trocar.spatial import Array

RINGS, SIDES = 16, 24  # of a surface: circles about the x axis, and corners of each
VESSEL_WALL = 0.3  # thickness of the wall of a vessel, as a fraction of its radius


def ellipsoid() -> ClosedSurface:
    """An ellipsoid, such as a fat pad or a node."""
    theta = np.linspace(0.0, np.pi, RINGS + 1)[1:-1]
    return _revolved(-np.cos(theta), np.sin(theta))


def cylinder() -> ClosedSurface:
    """A cylinder along x."""
    return _revolved(np.linspace(-1.0, 1.0, RINGS + 1), np.ones(RINGS + 1))


def vessel(wall: float = VESSEL_WALL) -> ClosedSurface:
    """A tube along x. wall: its thickness as a fraction of the outer radius, at most 1."""
    inner = 1.0 - checks.number("wall", wall, 0.05, 0.95)
    x = np.linspace(-1.0, 1.0, RINGS + 1)
    # there on the outside, back on the inside; the last ring is joined to the first
    rings = _rings(np.concatenate([x, x[::-1]]), np.concatenate([np.ones_like(x), np.full_like(x, inner)]))
    count = 2 * len(x)
    return _unit(rings, np.concatenate([_band(k, (k + 1) % count) for k in range(count)]))


def lump() -> ClosedSurface:
    """A lump like a liver: high and round at one end, flat with a sharp edge at the other, hollow below."""
    theta = np.linspace(0.0, np.pi, RINGS + 1)[1:-1]
    surface = _revolved(-np.cos(theta), np.sin(theta))
    x, y, z = (2.0 * surface.vertices).T
    tapered = 0.65 - 0.35 * np.tanh(1.5 * x)  # of the height, along x
    wide = 1.0 - 0.35 * x**2 + 0.15 * x
    hollow = 0.35 * np.maximum(0.0, -z) * np.exp(-4.0 * y**2)
    return _unit(np.stack([x, wide * y, tapered * (z + hollow)], axis=1), surface.faces)


TISSUE_SHAPES: dict[str, Callable[[], ClosedSurface]] = {
    "ellipsoid": ellipsoid,
    "cylinder": cylinder,
    "vessel": vessel,
    "lump": lump,
}


def _rings(x: Array, radius: Array) -> Array:
    """Corners (k SIDES, 3) of circles about the x axis, at x (k,) with a radius (k,)."""
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    ring = np.stack([np.zeros(SIDES), np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray((x[:, None, None] * [1.0, 0.0, 0.0] + radius[:, None, None] * ring).reshape(-1, 3))


def _band(one: int, other: int) -> Array:
    """Triangles between two circles."""
    k = np.arange(SIDES)
    a, b, c, d = (ring * SIDES + corner for ring in (one, other) for corner in (k, (k + 1) % SIDES))
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([b, d, c], axis=1)])


def _revolved(x: Array, radius: Array) -> ClosedSurface:
    """A surface of circles about the x axis at x (k,), closed by a point at -1 and one at 1."""
    count, corners = len(x), _rings(x, radius)
    faces = [_band(k, k + 1) for k in range(count - 1)]
    k = np.arange(SIDES)
    first, last = np.full(SIDES, count * SIDES), np.full(SIDES, count * SIDES + 1)
    faces.append(np.stack([first, (k + 1) % SIDES, k], axis=1))
    end = (count - 1) * SIDES
    faces.append(np.stack([last, end + k, end + (k + 1) % SIDES], axis=1))
    return _unit(np.concatenate([corners, [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]]), np.concatenate(faces))


def _unit(vertices: Array, faces: Array) -> ClosedSurface:
    return ClosedSurface(vertices, faces).fitted((1.0, 1.0, 1.0))
