"""Private parts of MuJoCo Warp that this package replaces or launches, where MuJoCo Warp has no hook.

A test compares the installed version with `VERSION`, and the parts with those that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mujoco_warp._src import smooth, solver

from trocar.errors import TrocarError

VERSION = "4.0"


@dataclass(frozen=True)
class InternalPart:
    """A function or kernel in a module of MuJoCo Warp."""

    module: Any
    name: str

    @property
    def plain(self) -> Callable[..., Any]:
        """The part as it is now."""
        part: Callable[..., Any] | None = getattr(self.module, self.name, None)
        if part is None:
            raise TrocarError(f"backend 'warp' needs mujoco-warp {VERSION}: pip install 'trocar[gpu]'")
        return part

    @contextmanager
    def replaced(self, new: Callable[..., Any]) -> Iterator[None]:
        """Use another function within this context, in the whole process."""
        plain = self.plain
        setattr(self.module, self.name, new)
        try:
            yield
        finally:
            setattr(self.module, self.name, plain)


# The factor and the solution of Newton's method, from its matrix.
FACTORISE = InternalPart(solver, "_cholesky_factorize_solve")
# Poses of bodies from positions, and the kernels that follow from them.
KINEMATICS = InternalPart(smooth, "kinematics")
MATRICES = InternalPart(smooth, "_compute_body_matrices")
INERTIAS = InternalPart(smooth, "_compute_body_inertial_frames")
GEOMS = InternalPart(smooth, "_geom_local_to_global")
SITES = InternalPart(smooth, "_site_local_to_global")
PARTS = (FACTORISE, KINEMATICS, MATRICES, INERTIAS, GEOMS, SITES)
