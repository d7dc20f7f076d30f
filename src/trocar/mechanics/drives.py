"""Drives of an arm: rotor inertia, friction and stiffness along scalar coordinates s = A q."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trocar.arms import Arm
from trocar.arms.parameters import Drive
from trocar.spatial import Array


class Drives:
    """All drives of an arm as arrays; q, dq, ddq are (..., n), efforts come back as (..., n)."""

    def __init__(self, drives: Sequence[Drive], arm: Arm) -> None:
        self.drives = tuple(drives)
        self.A = np.array([d.row(arm) for d in drives]).reshape(-1, arm.n)
        self.Im, self.Fv, self.Fc, self.Fo, self.K = (
            np.array([getattr(d, term) for d in drives]) for term in ("Im", "Fv", "Fc", "Fo", "K")
        )
        self.M = self.A.T @ (self.Im[:, None] * self.A)
        self.stiffness = self.A.T @ (self.K[:, None] * self.A)
        self._springs = [(int(i), int(j), float(self.stiffness[i, j])) for i, j in np.argwhere(self.stiffness)]

    def add_springs(self, g: Array, q: Array) -> None:
        """Add the spring efforts of one state to g (n,) in place; few entries, so quicker than a product."""
        for i, j, k in self._springs:
            g[i] += k * q[j]

    def friction(self, dq: Array) -> Array:
        """Viscous, Coulomb (sign(0) = 0) and offset efforts."""
        ds = dq @ self.A.T
        return (self.Fv * ds + self.Fc * np.sign(ds) + self.Fo) @ self.A

    def friction_power(self, dq: Array) -> Array:
        """Power (...) that friction takes out [W]; the offset included."""
        return (self.friction(dq) * dq).sum(-1)

    def spring_energy(self, q: Array) -> Array:
        """Energy (...) stored in the stiffnesses [J]."""
        return 0.5 * ((q @ self.A.T) ** 2 @ self.K)

    def columns(self) -> list[tuple[int, str]]:
        """Drive index and term of every column of the regressor."""
        return [(i, term) for i, drive in enumerate(self.drives) for term in drive.terms]

    def regressor(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Columns (..., n, k) for the drive parameters."""
        s, ds, dds = (x @ self.A.T for x in (q, dq, ddq))
        factor = {"Im": dds, "Fv": ds, "Fc": np.sign(ds), "Fo": np.ones_like(s), "K": s}
        columns = [factor[term][..., i, None] * self.A[i] for i, term in self.columns()]
        return np.stack(columns, axis=-1)
