"""Surfaces that the tip can touch: planes and spheres, fixed in the arm's base frame."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.spatial import Array

NOT_NEGATIVE = ("radius", "damping", "friction")


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
        checked = {}
        for field in fields(self):
            value = np.array(getattr(self, field.name), dtype=float)
            shape = (3,) if field.name in self.vectors else ()
            if value.shape[: len(shape)] != shape or value.ndim > len(shape) + 1 or not np.isfinite(value).all():
                raise TrocarError(
                    f"{field.name} of a {type(self).__name__} must be finite and of shape {shape} or {(*shape, 'N')}, "
                    f"got shape {value.shape}"
                )
            if field.name in NOT_NEGATIVE and (value < 0).any():
                raise TrocarError(
                    f"{field.name} of a {type(self).__name__} must not be negative, got {value.min():.3g}"
                )
            if field.name == "stiffness" and not (value > 0).all():
                raise TrocarError(f"stiffness of a {type(self).__name__} must be positive, got {value.min():.3g}")
            checked[field.name] = value
        return checked

    def entries(self, index: int) -> dict[str, Any]:
        """Scalars () or (N,) by the names of the generated inputs."""
        scalars: dict[str, Any] = {}
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
        checked = super().values()
        length = np.linalg.norm(checked["normal"], axis=0)
        if not (length > 0).all():
            raise TrocarError("normal of a Plane must not be zero")
        return checked | {"normal": checked["normal"] / length}


@dataclass(frozen=True, kw_only=True, eq=False)
class TipSphere(TipSurface):
    """A ball.

    Attributes:
        centre: (3,) [m]. radius: [m].
    """

    vectors: ClassVar[tuple[str, ...]] = ("centre",)
    centre: ArrayLike
    radius: ArrayLike
