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
    "shortcut": lambda x: x,
}


def adjoint(program: Program, by_fixed: Sequence[int] = (), rollout: bool = False) -> Program:
    """The program of the gradients, to be run backwards in time.

    Its state is the gradient of a loss by the program's next state, which it replaces by that by the state. Its inputs
    are the program's state and inputs. Its outputs are the gradients by the inputs, then by the fixed values with these
    indices. Its own parameters are the fixed values of the program, named by their index.

    Args:
        rollout: for a loss of all states of a rollout: one more input for each logged row, the gradient by that row
            itself, which is added. Otherwise one more for each output, the gradient by it.
    """
    graph = Graph()
    given = {node.index: graph.input(f"x@{k}") for k, node in enumerate([*program.state, *program.inputs])}
    fixed = {node.index: graph.input(str(k), fixed=True) for k, node in enumerate(program.fixed)}
    copies = given | fixed
    results = [*program.next_state, *program.outputs]
    for node in schedule(results, stop=lambda node: node.index in given or node.index in fixed):
        if node.index not in copies:
            args = [copies[arg.index] for arg in node.args]
            copies[node.index] = _OPERATIONS[node.op](*args) if args else graph.constant(node.value)
    weights = [graph.input(f"w@{k}") for k in range(len(program.next_state) + (0 if rollout else len(program.outputs)))]
    weighted = [copies[node.index] for node in results[: len(weights)]]
    by = [*program.state, *program.inputs, *(program.fixed[k] for k in by_fixed)]
    found = gradients(weighted, weights, [copies[node.index] for node in by])
    states = len(program.state)
    own = [graph.input(f"own@{k}") for k in range(program.logged if rollout else 0)]
    for k, node in enumerate(own):
        found[k] = found[k] + node
    return Program(
        name=f"{program.name}_adjoint",
        state=weights[:states],
        next_state=found[:states],
        inputs=[*given.values(), *own, *weights[states:]],
        outputs=found[states:],
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
