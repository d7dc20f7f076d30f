"""Reverse-mode derivatives of a program, as another program.

For outputs y(x) and weights w, the adjoint program has the gradient of w.y by every input. It computes the step again
from its inputs, so nothing but the states has to be stored between the steps of a rollout. Where a derivative has a
jump it takes that of one side (of friction and stops: that of the bound), or the mean of both (|x| at 0). The gradients
through shortcuts are shortcuts with the same condition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from trocar.batch.branches import Branch, ordered
from trocar.batch.graph import Graph, Node, above, another, cos, rebuilt, schedule, shortcuts, sign, sin
from trocar.batch.program import Program


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
    by_inputs = gradients(copy.results, weights, copy.of(by))
    states = len(program.state)
    return Program(
        name=f"{program.name}_adjoint",
        state=weights[:states],
        next_state=by_inputs[:states],
        inputs=[*copy.inputs, *weights[states:]],
        outputs=by_inputs[states:],
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
    by_inputs = gradients(copy.results, weights, copy.of(by))
    added = [copy.graph.input(f"own@{k}") for k in own]
    for k, node in zip(own, added, strict=True):
        by_inputs[k] = by_inputs[k] + node
    sums = [copy.graph.input(f"sum@{k}") for k in by_fixed]
    return Program(
        name=f"{program.name}_rollout_adjoint",
        state=[*weights, *sums],
        next_state=[*by_inputs[:states], *(a + b for a, b in zip(sums, by_inputs[states + inputs :], strict=True))],
        inputs=[*copy.inputs, *added],
        outputs=by_inputs[states : states + inputs],
    )


def preparation_adjoint(program: Program, by: Sequence[str]) -> Program:
    """A program without state that converts gradients with respect to fixed values to those of these parameters.

    Its parameters are those of the program, and "by@k", the gradient with respect to the fixed value k.
    """
    inputs = {node.name: node for node in program.parameters}
    graph = program.fixed[0].graph
    weights = [graph.input(f"by@{k}", fixed=True) for k in range(len(program.fixed))]
    results = gradients(program.fixed, weights, [inputs[name] for name in by])
    return Program(name=f"{program.name}_preparation_adjoint", state=(), next_state=(), inputs=(), outputs=results)


class _Copy:
    """A copy of a program in another graph, where its state and inputs (`given`) and its fixed values are inputs."""

    def __init__(self, program: Program) -> None:
        self.graph = graph = Graph()
        inputs = {node.index: graph.input(f"x@{k}") for k, node in enumerate([*program.state, *program.inputs])}
        fixed = {node.index: graph.input(str(k), fixed=True) for k, node in enumerate(program.fixed)}
        self.inputs = list(inputs.values())
        self._nodes = inputs | fixed
        results = [*program.next_state, *program.outputs]
        for node in schedule(results, stop=lambda node: node.index in self._nodes, branches=True):
            if node.index not in self._nodes:
                self._nodes[node.index] = self._copied(node)
        self.results = self.of(results)

    def _copied(self, node: Node) -> Node:
        return rebuilt(node, lambda arg: self._nodes[arg.index]) if node.args else self.graph.constant(node.value)

    def of(self, nodes: Sequence[Node]) -> list[Node]:
        return [self._nodes[node.index] for node in nodes]


def gradients(outputs: Sequence[Node], weights: Sequence[Node], variables: Sequence[Node]) -> list[Node]:
    """Gradient of sum(weights * outputs) by the variables, weights taken as given."""
    sums = _Sums()
    for output, weight in zip(outputs, weights, strict=True):
        sums.add(output, weight)
    for work in reversed(ordered(outputs, ())):
        if isinstance(work, Branch):
            _pass_branch(work, sums)
        else:
            sums.pass_back(work)
    return [sums.of(variable) for variable in variables]


class _Sums:
    """Gradients by nodes, each the sum of what the operations on the node give it."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self._sums: dict[int, Node] = {}

    def of(self, node: Node) -> Node:
        return self._sums.get(node.index, node.graph.zero)

    def add(self, node: Node, value: Node) -> None:
        if not (node.is_constant or value.is_zero):
            self.nodes[node.index] = node
            self._sums[node.index] = self._sums[node.index] + value if node.index in self._sums else value

    def pass_back(self, node: Node) -> None:
        """Add the gradient by a node to those by its arguments."""
        if node.args and node.index in self._sums:
            for arg, value in zip(node.args, _backwards(node, self._sums[node.index]), strict=True):
                self.add(arg, value)


def _pass_branch(branch: Branch, sums: _Sums) -> None:
    """Add the gradients by the shortcuts of a branch to those by the nodes outside that it depends on."""
    full, short = _Sums(), _Sums()
    for node in branch.shortcuts:
        assert node.branch is not None
        full.add(node.args[0], sums.of(node))
        short.add(node.branch[1], sums.of(node))
    for node in reversed(branch.inside):
        full.pass_back(node)
    inside = {node.index for node in branch.inside}
    nodes = [node for index, node in sorted((full.nodes | short.nodes).items()) if index not in inside]
    values = shortcuts(another(branch.condition), [full.of(node) for node in nodes], [short.of(node) for node in nodes])
    for node, value in zip(nodes, values, strict=True):
        sums.add(node, value)


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
            share = w * node if a.is_constant and a.value == 1.0 else w / b
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
        case "shortcut":  # of a node that is needed without its branch
            return (w,)
        case "min" | "max":
            second = w * (above(a, b) if node.op == "min" else above(b, a))
            return w - second, second
    raise NotImplementedError(node.op)
