"""Inverse dynamics of an arm as generated source, for computed torque in every cycle of many worlds.

The source travels with a layout to machines without Pinocchio: Python for NumPy in double precision, C++ for Warp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trocar.batch.equations.arm import ArmEquations, add_along
from trocar.batch.parameters import ParameterNumbers
from trocar.errors import TrocarError, check_type
from trocar.laws.graph import Node, sign, total
from trocar.laws.program import Program
from trocar.laws.sources.array_source import loaded, step_source
from trocar.laws.sources.warp_source import warp_statements
from trocar.mechanics import Mechanism
from trocar.spatial import Array

INPUTS = ("q", "dq", "ddq", "q_ref", "dq_ref")


@dataclass(frozen=True, eq=False)
class TorqueLaw:
    """tau = M(q) ddq + c(q, dq) + g(q) [+ f(q_ref, dq_ref)] of a controller's model; see `control.ComputedTorque`.

    Attributes:
        n: joints. python, native: generated sources; inputs are the rows of q, dq, ddq, q_ref and dq_ref.
    """

    n: int
    python: str
    native: str

    @classmethod
    def of(cls, mechanism: Mechanism, *, friction: bool = False) -> TorqueLaw:
        """The law of a mechanism. friction: add its friction at the reference, with Dahl elements in steady sliding."""
        check_type("model", mechanism, Mechanism, "a Mechanism or a TorqueLaw")
        tree = mechanism.tree
        drives = tree.drives
        if friction and drives.mu.any():
            raise TrocarError(
                f"the model of {mechanism.arm.name} has friction by load, which computed torque of many worlds lacks; "
                "use a set without mu (PSM: wang2019_refit), or friction=False"
            )
        arm = ArmEquations(tree, ParameterNumbers.of(tree, friction=False))
        ddq, q_ref, dq_ref = (arm.inputs(name) for name in INPUTS[2:])
        tau = [
            total(arm.graph, (m * a for m, a in zip(row, ddq, strict=True))) + b
            for row, b in zip(arm.M, arm.b, strict=True)
        ]
        if friction:
            _add_friction(arm, tau, q_ref, dq_ref)
        program = Program([*arm.q, *arm.dq, *ddq, *q_ref, *dq_ref], tau)
        return cls(arm.n, step_source(program), warp_statements(program))

    @cached_property
    def _function(self) -> Any:
        return loaded(self.python, "step", np)

    def efforts(self, q: Array, dq: Array, ddq: Array, q_ref: Array, dq_ref: Array) -> Array:
        """Joint efforts (n, joints) [N m, N] of states and accelerations (n, joints)."""
        rows = np.concatenate([q, dq, ddq, q_ref, dq_ref], axis=1).T
        return np.stack(np.broadcast_arrays(*self._function((), (), rows)), axis=1)

    def __getstate__(self) -> dict[str, Any]:
        """The sources alone: a loaded function is not pickled."""
        return {"n": self.n, "python": self.python, "native": self.native}


def _add_friction(arm: ArmEquations, tau: list[Node], q_ref: Sequence[Node], dq_ref: Sequence[Node]) -> None:
    """Add viscous, Coulomb and Dahl friction in steady sliding at the reference, as `Drives.friction` does."""
    drives = arm.tree.drives
    for d, row in enumerate(arm.A):
        own = drives.dahl_drive == d
        constant = float(drives.Fc[d] + drives.dahl_F[own].sum())
        slope = float(drives.Fx[d] + drives.dahl_slope[own].sum())
        s, ds = arm.along(row, q_ref), arm.along(row, dq_ref)
        add_along(tau, float(drives.Fv[d]) * ds + (constant + slope * s) * sign(ds), row)
