"""Surfaces that the tip can touch: planes and spheres, fixed in the arm's base frame."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from trocar.batch.parameters import checked
from trocar.errors import TrocarError
from trocar.spatial import Array, Values


@dataclass(frozen=True, kw_only=True, eq=False)
class TipSurface:
    """Options of every surface. Values may have a trailing axis (..., N), one for each arm.

    Attributes:
        stiffness: [N/m]. damping: [N s/m]. friction: coefficient of Coulomb friction [1].
    """

    vectors: ClassVar[tuple[str, ...]] = ()
    stiffness: ArrayLike = 1e4
    damping: ArrayLike = 10.0
    friction: ArrayLike = 0.0

    def values(self) -> dict[str, Array]:
        """Checked values by name, () or (3,), or with a trailing axis."""
        shapes = {field.name: (3,) if field.name in self.vectors else () for field in fields(self)}
        of = f" of a {type(self).__name__}"
        return {name: checked(name, getattr(self, name), shape, of) for name, shape in shapes.items()}

    def entries(self, index: int) -> dict[str, Values]:
        """Scalars () or (N,) by the names of the generated inputs."""
        scalars: dict[str, Values] = {}
        for name, value in self.values().items():
            if name in self.vectors:
                scalars |= {f"contact{index}.{name}@{k}": value[k] for k in range(3)}
            else:
                scalars[f"contact{index}.{name}@"] = value
        return scalars


@dataclass(frozen=True, kw_only=True, eq=False)
class Plane(TipSurface):
    """The half space normal . p < offset.

    Attributes:
        normal: (3,), pointing out of the surface; normalised. offset: distance of the surface from the origin along the
            normal [m].
    """

    vectors: ClassVar[tuple[str, ...]] = ("normal",)
    normal: ArrayLike
    offset: ArrayLike = 0.0

    def values(self) -> dict[str, Array]:
        """Numbers by name, with the normal of unit length."""
        values = super().values()
        length = np.linalg.norm(values["normal"], axis=0)
        if not (length > 0).all():
            raise TrocarError("normal of a Plane must not be zero")
        return values | {"normal": values["normal"] / length}


@dataclass(frozen=True, kw_only=True, eq=False)
class TipSphere(TipSurface):
    """A ball.

    Attributes:
        centre: (3,) [m]. radius: [m].
    """

    vectors: ClassVar[tuple[str, ...]] = ("centre",)
    centre: ArrayLike
    radius: ArrayLike
