"""Friction of the drives: bounds of Coulomb friction, viscous friction, and Dahl elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trocar.batch.equations.arm import ArmEquations, add_along, add_outer
from trocar.batch.equations.dynamics import Matrix
from trocar.batch.graph import Node, absolute, exp2, maximum, sign
from trocar.spatial import Array

_PARALLEL = 1e-12
LOG2_E = math.log2(math.e)


@dataclass(frozen=True)
class StickingRow:
    """A coordinate a.q with Coulomb friction: direction a (n,) and the largest force."""

    a: Array
    bound: Node


def sticking_rows(arm: ArmEquations) -> list[StickingRow]:
    """Coordinates with Coulomb friction; drives along the same one add up."""
    rows: list[StickingRow] = []
    for d, a in enumerate(arm.A):
        bound = _coulomb(arm, d)
        if bound.is_zero:
            continue
        for k, row in enumerate(rows):
            weight = float(a @ row.a / (row.a @ row.a))
            if np.abs(a - weight * row.a).max() < _PARALLEL:
                rows[k] = StickingRow(row.a, row.bound + abs(weight) * bound)
                break
        else:
            rows.append(StickingRow(a, bound))
    return rows


def _coulomb(arm: ArmEquations, d: int) -> Node:
    """Bound Fc + Fx s + mu |L g| of a drive, not below zero."""
    Fc, Fx, mu = (arm.parameter(term, d) for term in ("Fc", "Fx", "mu"))
    bound = Fc
    if not Fx.is_zero:
        # beyond the joint limits this may become negative
        bound = maximum(Fc + Fx * arm.along(arm.A[d], arm.q), 0.0)
    if not mu.is_zero:
        bound = bound + mu * absolute(arm.along(arm.tree.drives.L[d], arm.g))
    return bound


def damping(arm: ArmEquations) -> Matrix:
    """Viscous friction (n, n) of all drives."""
    B = [[arm.graph.zero] * arm.n for _ in range(arm.n)]
    for d, row in enumerate(arm.A):
        add_outer(B, arm.parameter("Fv", d), row)
    return B


class DahlElements:
    """Friction with memory. The force is held over a step; the states then follow its displacement exactly.

    Attributes:
        z: (k) inputs, the states of the elements that have a force, in [-1, 1]. index: (k) in the mechanism's order.
    """

    def __init__(self, arm: ArmEquations) -> None:
        self._arm = arm
        drives, pattern = arm.tree.drives, arm.parameters.pattern
        self.index = [e for e in range(len(drives.dahl_drive)) if pattern["dahl_F"][e] or pattern["dahl_slope"][e]]
        self._rows = [arm.A[int(drives.dahl_drive[e])] for e in self.index]
        self.z = [arm.graph.input(f"z@{e}") for e in self.index]

    def subtract_effort(self, tau: list[Node]) -> None:
        """Subtract the friction efforts (F + slope s) z from tau."""
        arm = self._arm
        by_drive: dict[int, Node] = {}
        for e, row, z in zip(self.index, self._rows, self.z, strict=True):
            F = arm.parameter("dahl_F", e) + arm.parameter("dahl_slope", e) * arm.along(row, arm.q)
            drive = int(arm.tree.drives.dahl_drive[e])
            by_drive[drive] = by_drive.get(drive, arm.graph.zero) + F * z
        for drive, effort in by_drive.items():
            add_along(tau, -effort, arm.A[drive])

    def moved(self, path: Sequence[Node]) -> list[Node]:
        """States after the joints moved by `path` (n): z+ = d + (z - d) exp(-|ds| / delta), d = sign(ds)."""
        arm, states = self._arm, []
        for e, row, z in zip(self.index, self._rows, self.z, strict=True):
            ds = arm.along(row, path)
            d = sign(ds)
            states.append(d + (z - d) * exp2(absolute(ds) * (-LOG2_E / arm.parameter("dahl_delta", e))))
        return states
