"""The programs of an arm: one time step, and quantities of a state without a step.

The step is semi-implicit Euler with implicit damping, sticking friction, contact and joint stops.

    (M + dt B) (v+ - v) / dt = tau - b - B v + forces of friction, contact, stops
    q+ = q + dt v+

B is viscous friction. M, b and all bounds are those at the start of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trocar.arms.wrist_cables import WristCables
from trocar.batch.contact import TipSurface
from trocar.batch.equations import forces
from trocar.batch.equations.arm import ArmEquations, TipKinematics, add_along, along
from trocar.batch.equations.cables import CableWristStep
from trocar.batch.equations.control import CONTROLS, limited
from trocar.batch.equations.dynamics import Factor
from trocar.batch.equations.simplification import regrouped
from trocar.batch.parameters import BatchParameters
from trocar.batch.state import Layout
from trocar.laws.graph import Node, total, whole
from trocar.laws.program import Program
from trocar.mechanics.tree_arrays import TreeArrays

# An arm beyond these has diverged. Free joints may turn many times.
MAX_POSITION = 1e4  # [rad, m]
MAX_OVERRUN = 2.0  # beyond a joint limit [rad, m]
MAX_RATE = 1e6  # [rad/s, m/s]


def step_program(
    tree: TreeArrays,
    parameters: BatchParameters,
    limits: bool = True,
    control: str = "effort",
    surfaces: Sequence[TipSurface] = (),
    references: int = 0,
    motor_limits: bool = False,
    wrist: tuple[WristCables, bool] | None = None,
) -> tuple[Program, Layout]:
    """The step of an arm. Outputs: q and dq before the step, tau and ddq during it.

    Args:
        parameters: those that are zero for all arms are omitted. limits: stop the joints at their limits.
        control: one of `CONTROLS`, which defines the inputs and the efforts.
        surfaces: planes and spheres that the tip can touch. references: number of references of the control law.
        motor_limits: clip efforts to those of the motors. wrist: its cables, and whether they have friction.
    """
    arm = ArmEquations(tree, parameters)
    graph, q, v = arm.graph, arm.measured, arm.dq
    dt = graph.input("dt", fixed=True)
    cables = None if wrist is None else CableWristStep(arm, tree.joints, *wrist)
    law = CONTROLS[control](arm, dt, references)
    if motor_limits:
        law = limited(arm, law)
    dahl = forces.DahlElements(arm)
    contacts = forces.contact_forces(arm, surfaces, dt)
    frictions = forces.coulomb_frictions(arm, contacts, law.external)
    moving: list[forces.BoundedForce] = [*frictions, *contacts]
    stops = [
        forces.Stop(np.eye(arm.n)[j], graph.input(f"stop@{j}"), q[j], (float(tree.lower[j]), float(tree.upper[j])), dt)
        for j in range(arm.n if limits else 0)
    ]
    acting = [*moving, *stops]
    before = [force.force for force in acting]

    B = forces.damping(arm)
    acted = [t + x for t, x in zip(law.tau, law.external, strict=True)] if law.external else law.tau
    resistance = [total(graph, (d * x for d, x in zip(row, v, strict=True))) for row in B]
    effort = [t - b - r for t, b, r in zip(acted, arm.b, resistance, strict=True)]
    if cables is not None:
        cables.replace_load(effort, law.tau, resistance)
    dahl.subtract_effort(effort)
    effort = [whole(x) for x in effort]  # a force that balances an effort leaves exactly zero
    for force in acting:
        add_along(effort, force.force, force.a)
    forces.hold_at_rest(frictions, effort, v)
    factor = Factor([[m + dt * d for m, d in zip(*rows, strict=True)] for rows in zip(arm.M, B, strict=True)])
    mobility = factor.inverse(dt)
    # without friction and contact, only the stops need the inverse, which is rare
    solved = [along(graph, row, effort) for row in mobility] if moving else [dt * a for a in factor.solved(effort)]
    free = [x + change for x, change in zip(v, solved, strict=True)]
    after, path, reached = forces.stopped(stops, q, forces.swept(moving, free, mobility), mobility, dt)
    kept = [] if cables is None else cables.rest(reached)
    own = [] if cables is None else cables.state
    state = [*arm.q, *v, *before, *dahl.z, *own, *law.memory]
    next_state = [*reached, *after, *(force.force for force in acting), *dahl.moved(path), *kept, *law.next_memory]
    outputs = [*law.tau, *((x - y) / dt for x, y in zip(after, v, strict=True))]
    results = regrouped([*next_state, *outputs])
    new, outputs = results[: len(state)], results[len(state) :]
    bounds = [*_position_bounds(tree, limits), *[(-MAX_RATE, MAX_RATE)] * arm.n]
    program = Program(law.inputs, outputs, state=state, next_state=new, logged=2 * arm.n, bounds=bounds)
    return program, Layout(arm.n, len(frictions), 3 * len(surfaces), len(stops), len(dahl.z), len(own), len(law.memory))


def _position_bounds(tree: TreeArrays, limits: bool) -> list[tuple[float, float]]:
    """Lowest and highest position of every joint of an arm that has not diverged [rad, m]."""
    if not limits:
        return [(-MAX_POSITION, MAX_POSITION)] * len(tree.lower)
    bounds = zip(tree.lower, tree.upper, strict=True)
    return [(float(low) - MAX_OVERRUN, float(high) + MAX_OVERRUN) for low, high in bounds]


def query_program(name: str, tree: TreeArrays, parameters: BatchParameters) -> Program:
    """One of `TERMS`, a program without state."""
    inputs, outputs = TERMS[name](ArmEquations(tree, parameters))
    return Program(inputs, outputs)


def _acceleration(arm: ArmEquations) -> tuple[list[Node], list[Node]]:
    tau = arm.inputs("tau")
    rest = [t - b for t, b in zip(tau, arm.b, strict=True)]
    return [*arm.q, *arm.dq, *tau], Factor(arm.M).solved(rest)


QUERIES: dict[str, Callable[[ArmEquations], tuple[Sequence[Node], Sequence[Node]]]] = {  # inputs and outputs
    "forward_dynamics": _acceleration,
    "mass_matrix": lambda arm: (arm.q, [entry for row in arm.M for entry in row]),
    "bias": lambda arm: ([*arm.q, *arm.dq], arm.b),
    "tip_pose": lambda arm: (arm.q, TipKinematics(arm).pose()),
    "jacobian": lambda arm: (arm.q, [entry for row in TipKinematics(arm).jacobian() for entry in row]),
}
TERMS = {**QUERIES, "gravity": lambda arm: (arm.q, arm.g)}  # those of the exported C code, and for symbolic terms
