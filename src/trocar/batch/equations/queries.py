"""Programs that compute quantities of a state without a step."""

from __future__ import annotations

from collections.abc import Callable

from trocar.batch.equations.arm import ArmEquations
from trocar.batch.equations.factorisation import Factor
from trocar.batch.equations.tip import tip_jacobian, tip_pose
from trocar.batch.graph import Node
from trocar.batch.parameters import BatchParameters
from trocar.batch.program import Program
from trocar.mechanics.tree_arrays import TreeArrays


def _forward_dynamics(arm: ArmEquations) -> tuple[list[Node], list[Node]]:
    tau = arm.inputs("tau")
    rest = [t - b for t, b in zip(tau, arm.b, strict=True)]
    return [*arm.q, *arm.dq, *tau], Factor(arm.M).solved(rest)


def _mass_matrix(arm: ArmEquations) -> tuple[list[Node], list[Node]]:
    return arm.q, [entry for row in arm.M for entry in row]


def _bias(arm: ArmEquations) -> tuple[list[Node], list[Node]]:
    return [*arm.q, *arm.dq], arm.b


def _tip_pose(arm: ArmEquations) -> tuple[list[Node], list[Node]]:
    return arm.q, tip_pose(arm)


def _jacobian(arm: ArmEquations) -> tuple[list[Node], list[Node]]:
    return arm.q, [entry for row in tip_jacobian(arm) for entry in row]


def _query(
    name: str, rows: Callable[[ArmEquations], tuple[list[Node], list[Node]]]
) -> Callable[[TreeArrays, BatchParameters], Program]:
    def program(tree: TreeArrays, parameters: BatchParameters) -> Program:
        inputs, outputs = rows(ArmEquations(tree, parameters))
        return Program(name=name, state=(), next_state=(), inputs=inputs, outputs=outputs)

    return program


QUERIES = {
    "forward_dynamics": _query("forward_dynamics", _forward_dynamics),
    "mass_matrix": _query("mass_matrix", _mass_matrix),
    "bias": _query("bias", _bias),
    "tip_pose": _query("tip_pose", _tip_pose),
    "jacobian": _query("jacobian", _jacobian),
}
