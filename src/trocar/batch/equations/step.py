"""One time step of an arm: semi-implicit Euler with implicit damping, sticking friction and joint stops.

    (M + dt B) (v+ - v) / dt = tau - b - B v - A' (friction forces)
    q+ = q + dt v+

B is viscous friction. M, b and all friction bounds are those at the start of the step.
"""

from __future__ import annotations

from trocar.batch.equations.arm import ArmEquations, add_along
from trocar.batch.equations.control import CONTROLS
from trocar.batch.equations.factorisation import Factor
from trocar.batch.equations.friction import DahlElements, damping, sticking_rows, stuck
from trocar.batch.equations.limits import stopped
from trocar.batch.graph import total
from trocar.batch.layout import Layout
from trocar.batch.parameters import BatchParameters
from trocar.batch.program import Program
from trocar.mechanics.tree_arrays import TreeArrays


def step_program(
    tree: TreeArrays, parameters: BatchParameters, limits: bool = True, control: str = "effort"
) -> tuple[Program, Layout]:
    """The step of an arm. Outputs of each step: q and dq before it, tau and ddq of it.

    Args:
        parameters: those that are zero for all arms are left out. limits: stop the joints at their limits.
        control: one of `CONTROLS`: what the inputs are, and how efforts follow from them.
    """
    arm = ArmEquations(tree, parameters)
    graph, q, v = arm.graph, arm.q, arm.dq
    dt = graph.input("dt", fixed=True)
    law = CONTROLS[control](arm, dt)
    rows, dahl = sticking_rows(arm), DahlElements(arm)
    phi = [graph.input(f"phi@{k}") for k in range(len(rows))]

    resisting = [
        b + total(graph, (B * x for B, x in zip(line, v, strict=True)))
        for b, line in zip(arm.b, damping(arm), strict=True)
    ]
    for row, force in zip(rows, phi, strict=True):
        add_along(resisting, force, row.a)
    dahl.add_effort(resisting)
    damped = [[m + dt * b for m, b in zip(*lines, strict=True)] for lines in zip(arm.M, damping(arm), strict=True)]
    factor = Factor(damped)
    change = factor.solved([t - r for t, r in zip(law.tau, resisting, strict=True)])
    after = [x + dt * a for x, a in zip(v, change, strict=True)]
    after, forces = stuck(rows, phi, after, factor, dt)
    if limits:
        after = stopped(q, after, tree.lower, tree.upper, factor, dt)
    path = [dt * x for x in after]
    program = Program(
        name=f"{control}_step",
        state=[*q, *v, *phi, *dahl.z, *law.memory],
        next_state=[
            *(x + d for x, d in zip(q, path, strict=True)),
            *after,
            *forces,
            *dahl.moved(path),
            *law.next_memory,
        ],
        inputs=law.inputs,
        outputs=[*law.tau, *((x - y) / dt for x, y in zip(after, v, strict=True))],
        logged=2 * arm.n,
    )
    return program, Layout(arm.n, len(rows), len(dahl.z), len(law.memory))
