"""Control laws inside the step: inputs, efforts and internal state.

A law takes the first `references` of q_ref, dq_ref and ddq_ref as inputs; the others are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trocar.batch.equations.arm import ArmEquations
from trocar.batch.equations.vector import cleaned
from trocar.batch.parameters import ParameterNumbers
from trocar.laws.graph import Node, maximum, minimum, total


@dataclass(frozen=True)
class ControlLaw:
    """Efforts (n) as nodes of the inputs, the state and the law's internal state.

    Attributes:
        external: efforts (n) of wrenches on the links, which no motor limits, or none.
    """

    inputs: Sequence[Node]
    tau: Sequence[Node]
    external: Sequence[Node] = ()
    memory: Sequence[Node] = ()
    next_memory: Sequence[Node] = ()


def external_effort(arm: ArmEquations, dt: Node, references: int) -> ControlLaw:
    """Efforts of the motors, then those of wrenches on the links."""
    tau, external = arm.inputs("tau"), arm.inputs("external")
    return ControlLaw([*tau, *external], tau, external)


def pd(arm: ArmEquations, dt: Node, references: int) -> ControlLaw:
    """tau = kp (q_ref - q) + kd (dq_ref - dq), with joint gains."""
    inputs, q_ref, dq_ref, _ = _references(arm, references)
    return ControlLaw(inputs, _feedback(arm, q_ref, dq_ref))


def pid(arm: ArmEquations, dt: Node, references: int) -> ControlLaw:
    """tau_motor = kp e + ki int(e) + kd e' in actuator space, tau = coupling^-T tau_motor: the dVRK's controller."""
    graph, n = arm.graph, arm.n
    inputs, q_ref, dq_ref, _ = _references(arm, references)
    integral = arm.inputs("integral")
    to_motor = np.linalg.inv(arm.tree.joint_from_motor)
    to_motor[np.abs(to_motor) < 1e-14] = 0.0
    kp, ki, kd = (arm.inputs(name, fixed=True) for name in ("kp", "ki", "kd"))
    e = [arm.along(row, _differences(q_ref, arm.measured)) for row in to_motor]
    de = [arm.along(row, _differences(dq_ref, arm.dq)) for row in to_motor]
    grown = [total(graph, (integral[k], e[k] * dt)) for k in range(n)]
    motor = [kp[k] * e[k] + ki[k] * grown[k] + kd[k] * de[k] for k in range(n)]
    tau = [arm.along(column, motor) for column in to_motor.T]
    return ControlLaw(inputs, tau, memory=integral, next_memory=grown)


def computed_torque(arm: ArmEquations, model: ArmEquations, references: int) -> ControlLaw:
    """tau = M (ddq_ref + kd (dq_ref - dq) + kp (q_ref - q)) + b of a model."""
    inputs, q_ref, dq_ref, ddq_ref = _references(arm, references)
    acceleration = [a + f for a, f in zip(ddq_ref, _feedback(arm, q_ref, dq_ref), strict=True)]
    tau = [
        total(arm.graph, (m * a for m, a in zip(row, acceleration, strict=True))) + b
        for row, b in zip(model.M, model.b, strict=True)
    ]
    return ControlLaw(inputs, tau)


def _references(arm: ArmEquations, count: int) -> tuple[list[Node], list[Node], list[Node], list[Node]]:
    """The inputs, and q_ref, dq_ref, ddq_ref; those beyond the first `count` are zero."""
    inputs = [arm.inputs(name) for name in ("q_ref", "dq_ref", "ddq_ref")[:count]]
    q_ref, dq_ref, ddq_ref = (*inputs, *([arm.graph.zero] * arm.n for _ in range(3 - count)))
    return [node for nodes in inputs for node in nodes], q_ref, dq_ref, ddq_ref


def limited(arm: ArmEquations, law: ControlLaw) -> ControlLaw:
    """A law with efforts clipped to the motors' limits: tau_motor = coupling' tau."""
    to_motor, most = cleaned(np.linalg.inv(arm.tree.joint_from_motor)), arm.tree.motor_effort
    motor = [arm.along(column, law.tau) for column in cleaned(arm.tree.joint_from_motor).T]
    motor = [
        maximum(minimum(x, float(limit)), -float(limit)) if np.isfinite(limit) else x
        for x, limit in zip(motor, most, strict=True)
    ]
    return replace(law, tau=[arm.along(column, motor) for column in to_motor.T])


def _feedback(arm: ArmEquations, q_ref: Sequence[Node], dq_ref: Sequence[Node]) -> list[Node]:
    kp, kd = arm.inputs("kp", fixed=True), arm.inputs("kd", fixed=True)
    e, de = _differences(q_ref, arm.measured), _differences(dq_ref, arm.dq)
    return [p * x + d * y for p, x, d, y in zip(kp, e, kd, de, strict=True)]


def _differences(a: Sequence[Node], b: Sequence[Node]) -> list[Node]:
    return [x - y for x, y in zip(a, b, strict=True)]


def _own(arm: ArmEquations) -> ArmEquations:
    """The equations of the arm where the encoders report it."""
    return arm if arm.measured == arm.q else ArmEquations(arm.tree, arm.parameters, arm.graph, arm.measured)


def _nominal(arm: ArmEquations) -> ArmEquations:
    """The equations of the mechanism that the arm was loaded from, where the encoders report it."""
    return ArmEquations(arm.tree, ParameterNumbers.of(arm.tree, friction=True), arm.graph, arm.measured)


CONTROLS: dict[str, Callable[[ArmEquations, Node, int], ControlLaw]] = {
    "effort": lambda arm, dt, references: ControlLaw(arm.inputs("tau"), arm.inputs("tau")),
    "external_effort": external_effort,
    "pd": pd,
    "pid": pid,
    "computed_torque": lambda arm, dt, references: computed_torque(arm, _own(arm), references),
    "nominal_computed_torque": lambda arm, dt, references: computed_torque(arm, _nominal(arm), references),
}
