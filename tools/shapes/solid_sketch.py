"""The package's drawing kit with carved solids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from manifold3d import Manifold

from tools.shapes.carving import hull, triangles
from trocar.appearance.sketch import Drawing, Sketch
from trocar.arms import Arm
from trocar.arms.arm import poses_at_zero
from trocar.errors import TrocarError
from trocar.spatial import Array, inverse

BASE = np.eye(4)  # drawing frame of most shapes


class SolidSketch(Sketch):
    """A sketch that also draws solids."""

    def hull(self, points: Array | Sequence[Array], look: str | dict[str, Any]) -> None:
        """Convex hull of points (n, 3) [m], or of several arrays of them, as a mesh."""
        self.solid(hull(points), look)

    def solid(self, solid: Manifold, look: str | dict[str, Any]) -> None:
        """A solid built from others by +, - and ^ (see `hull`, `prism`, `lathe`, `bar`), as a mesh."""
        if solid.is_empty():
            raise TrocarError(f"a solid of {self.body or self.drawing.base} is empty")
        self.surface(triangles(solid), look)


class SolidSkeleton:
    """The links of an arm at q = 0, in its base, to draw solids on.

    Attributes:
        T: pose (4, 4) of every link. at: origin (3,) of every link, which its joint passes through [m].
        pins: (3,) of every loop closure, by the first of the two links that it joins [m].
    """

    def __init__(self, drawing: Drawing, arm: Arm) -> None:
        self._drawing, self.T = drawing, poses_at_zero(arm.bodies)
        self.at = {name: T[:3, 3] for name, T in self.T.items()}
        self.pins = {p.body_a: (self.T[p.body_a] @ np.array([*p.point_a, 1.0]))[:3] for p in arm.loops}

    def on(self, link: str | None, T_base_drawing: Array = BASE) -> SolidSketch:
        """A sketch on a link (None for the base) in a drawing frame given by its pose in the base, at q = 0."""
        T = T_base_drawing if link is None else inverse(self.T[link]) @ T_base_drawing
        return SolidSketch(self._drawing, link or "", np.asarray(T))
