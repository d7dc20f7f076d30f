"""Reverse-mode derivatives of a program, as another program.

For outputs y(x) and weights w, the adjoint program computes the gradient of w.y with respect to every input. It
recomputes the step from its inputs, so only the states are stored between the steps of a rollout. Where a derivative
jumps (|x| at 0, the bounds of friction), it uses the mean of both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from trocar.batch.graph import (
    Graph,
    Node,
    absolute,
    cos,
    exp,
    exp2,
    maximum,
    minimum,
    schedule,
    sign,
    sin,
    sqrt,
)
from trocar.batch.program import Program

_OPERATIONS: dict[str, Callable[..., Node]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "negate": lambda x: -x,
    "sin": sin,
    "cos": cos,
    "exp": exp,
    "exp2": exp2,
    "sqrt": sqrt,
    "abs": absolute,
    "sign": sign,
    "min": minimum,
    "max": maximum,
    "shortcut": lambda x: x,
}


def adjoint(program: Program, by_fixed: Sequence[int] = ()) -> Program:
    """The program of the gradients of one step.

    Its state is the gradient of a loss with respect to the program's next state, which it replaces by the gradient with
    respect to the state. Its inputs are the program's state and inputs, and the gradients with respect to its outputs.
    Its outputs are the gradients with respect to the inputs, then to the fixed values with these indices. Its
    parameters are the fixed values of the program, named by their index.
    """
    copy = _Copy(program)
    weights = [copy.graph.input(f"w@{k}") for k in range(len(copy.results))]
    by = [*program.state, *program.inputs, *(program.fixed[k] for k in by_fixed)]
    found = gradients(copy.results, weights, copy.of(by))
    states = len(program.state)
    return Program(
        name=f"{program.name}_adjoint",
        state=weights[:states],
        next_state=found[:states],
        inputs=[*copy.given, *weights[states:]],
        outputs=found[states:],
    )


def rollout_adjoint(program: Program, by_fixed: Sequence[int], own: Sequence[int]) -> Program:
    """The program of the gradients of a loss over all states of a rollout, to be run backwards in time.

    Like `adjoint` for a program without outputs, with two differences: gradients with respect to the fixed values are
    summed over the steps, in additional state rows; and each state row in `own` has an additional input, the direct
    gradient of the loss with respect to that row, which is added.
    """
    copy = _Copy(program.without_outputs())
    states, inputs = len(program.state), len(program.inputs)
    weights = [copy.graph.input(f"w@{k}") for k in range(states)]
    by = [*program.state, *program.inputs, *(program.fixed[k] for k in by_fixed)]
    found = gradients(copy.results, weights, copy.of(by))
    added = [copy.graph.input(f"own@{k}") for k in own]
    for k, node in zip(own, added, strict=True):
        found[k] = found[k] + node
    sums = [copy.graph.input(f"sum@{k}") for k in by_fixed]
    return Program(
        name=f"{program.name}_rollout_adjoint",
        state=[*weights, *sums],
        next_state=[*found[:states], *(a + b for a, b in zip(sums, found[states + inputs :], strict=True))],
        inputs=[*copy.given, *added],
        outputs=found[states : states + inputs],
    )


def preparation_adjoint(program: Program, by: Sequence[str]) -> Program:
    """A program without state that converts gradients with respect to fixed values to those of these parameters.

    Its parameters are those of the program, and "by@k", the gradient with respect to the fixed value k.
    """
    inputs = {node.name: node for node in program.parameters}
    graph = program.fixed[0].graph
    weights = [graph.input(f"by@{k}", fixed=True) for k in range(len(program.fixed))]
    found = gradients(program.fixed, weights, [inputs[name] for name in by])
    return Program(name=f"{program.name}_preparation_adjoint", state=(), next_state=(), inputs=(), outputs=found)


class _Copy:
    """A copy of a program in another graph, where its state and inputs (`given`) and its fixed values are inputs."""

    def __init__(self, program: Program) -> None:
        self.graph = graph = Graph()
        given = {node.index: graph.input(f"x@{k}") for k, node in enumerate([*program.state, *program.inputs])}
        fixed = {node.index: graph.input(str(k), fixed=True) for k, node in enumerate(program.fixed)}
        self.given = list(given.values())
        self._nodes = given | fixed
        results = [*program.next_state, *program.outputs]
        for node in schedule(results, stop=lambda node: node.index in given or node.index in fixed):
            if node.index not in self._nodes:
                args = self.of(node.args)
                self._nodes[node.index] = _OPERATIONS[node.op](*args) if args else graph.constant(node.value)
        self.results = self.of(results)

    def of(self, nodes: Sequence[Node]) -> list[Node]:
        return [self._nodes[node.index] for node in nodes]


def gradients(outputs: Sequence[Node], weights: Sequence[Node], variables: Sequence[Node]) -> list[Node]:
    """Gradient of sum(weights * outputs) with respect to the variables, for constant weights."""
    graph = variables[0].graph
    order = schedule(outputs)
    found: dict[int, Node] = {}

    def add(node: Node, value: Node) -> None:
        if not node.is_constant:
            found[node.index] = found[node.index] + value if node.index in found else value

    for output, weight in zip(outputs, weights, strict=True):
        add(output, weight)
    for node in reversed(order):
        if node.args and node.index in found:
            for arg, value in zip(node.args, _backwards(node, found[node.index]), strict=True):
                add(arg, value)
    return [found.get(variable.index, graph.zero) for variable in variables]


def _backwards(node: Node, w: Node) -> tuple[Node, ...]:
    """Gradient with respect to each argument of an operation, from the one with respect to its result."""
    a, b = node.args[0], node.args[-1]
    match node.op:
        case "add":
            return w, w
        case "subtract":
            return w, -w
        case "multiply":
            return w * b, w * a
        case "divide":
            share = w / b
            return share, -(share * node)
        case "negate":
            return (-w,)
        case "sin":
            return (w * cos(a),)
        case "cos":
            return (-(w * sin(a)),)
        case "exp":
            return (w * node,)
        case "exp2":
            return (math.log(2.0) * w * node,)
        case "sqrt":
            return (0.5 * w / node,)
        case "abs":
            return (w * sign(a),)
        case "sign":
            return (node.graph.zero,)
        case "min" | "max":
            first = w * (0.5 + 0.5 * sign(b - a if node.op == "min" else a - b))
            return first, w - first
    raise NotImplementedError(node.op)
