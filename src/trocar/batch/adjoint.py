"""Reverse-mode derivatives of a program, as another program.

For outputs y(x) and weights w, the adjoint program has the gradient of w.y by every input. It computes the step again
from its inputs, so nothing but the states has to be stored between the steps of a rollout. Where a derivative has a
jump (|x| at 0, the bounds of friction) it takes the mean of both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trocar.batch.graph import (
    Graph,
    Node,
    absolute,
    cos,
    exp,
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
    "sqrt": sqrt,
    "abs": absolute,
    "sign": sign,
    "min": minimum,
    "max": maximum,
}


def adjoint(program: Program, fixed: Sequence[int] = ()) -> Program:
    """The program of the gradients.

    Its inputs are the state, the fixed values and the inputs of the program, then a weight for each row of the next
    state and of the outputs. Its outputs are the gradients by the state, by the inputs, and by the fixed values that
    are named by their index.
    """
    graph = Graph()
    given = [*program.state, *program.fixed, *program.inputs]
    copies = {node.index: graph.input(f"x@{k}") for k, node in enumerate(given)}
    variables = [copies[node.index] for node in given]
    results = [*program.next_state, *program.outputs]
    for node in schedule(results, stop=lambda node: node.index in copies):
        if node.index not in copies:
            args = [copies[arg.index] for arg in node.args]
            copies[node.index] = _OPERATIONS[node.op](*args) if args else graph.constant(node.value)
    outputs = [copies[node.index] for node in results]
    weights = [graph.input(f"w@{k}") for k in range(len(outputs))]
    by = [*program.state, *program.inputs, *(program.fixed[k] for k in fixed)]
    return Program(
        name=f"{program.name}_adjoint",
        state=(),
        next_state=(),
        inputs=[*variables, *weights],
        outputs=gradients(outputs, weights, [copies[node.index] for node in by]),
    )


def gradients(outputs: Sequence[Node], weights: Sequence[Node], variables: Sequence[Node]) -> list[Node]:
    """Gradient of sum(weights * outputs) by the variables, weights taken as given."""
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
    """Gradient by each argument of an operation, from the one by its result."""
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
