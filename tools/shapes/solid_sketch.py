"""The package's drawing kit with carved solids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from manifold3d import Manifold

from tools.shapes.carving import hull, triangles
from trocar.appearance.sketch import BASE, Skeleton, Sketch
from trocar.errors import TrocarError
from trocar.spatial import Array


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


class SolidSkeleton(Skeleton):
    """The links of an arm at q = 0, in its base, to draw solids on."""

    def on(self, link: str | None, T_base_drawing: Array = BASE) -> SolidSketch:
        """A sketch on a link (None for the base) in a drawing frame given by its pose in the base, at q = 0."""
        plain = super().on(link, T_base_drawing)
        return SolidSketch(plain.drawing, plain.body, np.asarray(plain.T_body_drawing))
