"""Gradients of a loss over a rollout, from generated code that runs the steps backwards.

For outputs y(x) and weights w, the adjoint of a program, another program, has the gradient of w.y by every input. It
computes the step again from its inputs, so nothing but the states has to be stored between the steps of a rollout.
Where a derivative has a jump it takes that of one side (of friction and stops: that of the bound), or the mean of both
(|x| at 0). The gradients through shortcuts are shortcuts with the same condition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trocar.batch.backend import Backend, Fixed
from trocar.batch.parameters import BatchParameters, named_entry
from trocar.laws.graph import Branch, Graph, Node, above, cos, ordered, rebuilt, schedule, shortcuts, sign, sin
from trocar.laws.program import Program
from trocar.laws.sources import array_source
from trocar.spatial import Array, Values


class RolloutGradients:
    """The compiled step that stores all states, and its adjoint.

    Args:
        program: a step. backend: "c" or "cuda", which compiles it.
        own: state rows with a direct gradient of the loss at every step.
        parameters: names of the parameters to differentiate with respect to.
    """

    def __init__(self, program: Program, backend: Backend, own: Sequence[int], parameters: Sequence[str]) -> None:
        self._backend, self._program, self._own = backend, program, own
        self._forward = backend.kernel(program.without_outputs(logged=len(program.state)))
        self._entries = [node.name for node in program.parameters if node.name.partition("@")[0] in parameters]
        self._by_fixed = range(len(program.fixed)) if self._entries else ()
        self._adjoint = adjoint(program, self._by_fixed, own)
        self._backward = backend.kernel(self._adjoint)
        self._prepared: tuple[Any, Any] = (None, None)
        if self._entries:
            self._to_parameters = preparation_adjoint(program, self._entries)

    def run(
        self, rows: Values, fixed: Fixed, inputs: Values, last: Values, own: Sequence[Values]
    ) -> tuple[Values, Values, Values, int]:
        """Gradients with respect to the first state (R, ...), the inputs (T, I, ...) and the fixed values (F, ...).

        Args:
            inputs: (T, I) or (T, I, ...). last: gradient of the loss with respect to the last state (R, ...).
            own: gradients (T, ..., ...) with respect to the rows `own` of every state but the last.

        Returns:
            The gradients, and the index of the first arm that was not finite in the forward pass, or -1.
        """
        _, states, bad = self._forward.run(rows, fixed, inputs, len(inputs), False, 1)
        if bad >= 0:
            return None, None, None, bad
        if self._prepared[0] is not fixed:
            values = np.asarray(fixed)
            self._prepared = fixed, self._backward.fixed([values[int(node.name)] for node in self._adjoint.parameters])
        if self._by_fixed:
            last = self._backend.joined([last, self._backend.zeros((len(self._by_fixed), *rows.shape[1:]))])
        by_rows, by_inputs, bad = self._backward.run_backwards(last, self._prepared[1], (states, inputs, *own))
        count = len(self._program.state)
        return by_rows[:count], by_inputs, by_rows[count:], bad

    def by_parameters(
        self, names: Sequence[str], parameters: BatchParameters, others: Any, by_fixed: Fixed
    ) -> dict[str, Array]:
        """Gradients with respect to parameters, each with its shape, from those of the fixed values (F, ...).

        Args:
            others: values of the other fixed inputs, by name.
        """
        if not self._entries:  # no step depends on them
            return {name: np.zeros(parameters[name].shape) for name in names}
        by_fixed = np.asarray(by_fixed, dtype=float)
        if not parameters.batch and by_fixed.ndim == 2:
            by_fixed = by_fixed.sum(axis=1)
        by_name = {f"by@{k}": value for k, value in enumerate(by_fixed)} | others
        nodes = self._to_parameters.parameters
        values = [by_name[n.name] if n.name in by_name else parameters.entry(n.name) for n in nodes]
        prepared = array_source.preparation(self._to_parameters, np)(values)
        places = {node.index: k for k, node in enumerate(self._to_parameters.fixed)}
        gradients = {name: np.zeros(parameters[name].shape) for name in names}
        for entry, node in zip(self._entries, self._to_parameters.outputs, strict=True):
            name, at = named_entry(entry)
            result = node.value if node.is_constant else prepared[places[node.index]]
            value = np.broadcast_to(result, by_fixed.shape[1:])
            gradients[name][at] = value if np.ndim(parameters.entry(entry)) else value.sum()
        return gradients


def adjoint(program: Program, by_fixed: Sequence[int] = (), own: Sequence[int] | None = None) -> Program:
    """The program of the gradients of one step.

    Its state is the gradient of a loss with respect to the program's next state, which it replaces by the gradient with
    respect to the state. Its inputs are the program's state and inputs, and the gradients with respect to its outputs.
    Its outputs are the gradients with respect to the inputs, then to the fixed values with these indices. Its
    parameters are the fixed values of the program, named by their index.

    With `own` it is the program of a loss over all states of a rollout, without outputs, to be run backwards in time:
    gradients with respect to the fixed values are summed over the steps, in additional state rows; and each state row
    in `own` has an additional input, the direct gradient of the loss with respect to that row, which is added.
    """
    graph, inputs, copy = _copied(program if own is None else program.without_outputs())
    results = [*program.next_state, *(program.outputs if own is None else ())]
    weights = [graph.input(f"w@{k}") for k in range(len(results))]
    by = [*program.state, *program.inputs, *(program.fixed[k] for k in by_fixed)]
    by_inputs = gradients([copy[node.index] for node in results], weights, [copy[node.index] for node in by])
    states, rows = len(program.state), len(inputs)
    if own is None:
        rest = [*inputs, *weights[states:]]
        return Program(rest, by_inputs[states:], state=weights[:states], next_state=by_inputs[:states])
    added = [graph.input(f"own@{k}") for k in own]
    for k, node in zip(own, added, strict=True):
        by_inputs[k] = by_inputs[k] + node
    sums = [graph.input(f"sum@{k}") for k in by_fixed]
    new_sums = [a + b for a, b in zip(sums, by_inputs[rows:], strict=True)]
    next_state = [*by_inputs[:states], *new_sums]
    return Program([*inputs, *added], by_inputs[states:rows], state=[*weights, *sums], next_state=next_state)


def preparation_adjoint(program: Program, by: Sequence[str]) -> Program:
    """A program without state that converts gradients with respect to fixed values to those of these parameters.

    Its parameters are those of the program, and "by@k", the gradient with respect to the fixed value k.
    """
    inputs = {node.name: node for node in program.parameters}
    graph = program.fixed[0].graph
    weights = [graph.input(f"by@{k}", fixed=True) for k in range(len(program.fixed))]
    results = gradients(program.fixed, weights, [inputs[name] for name in by])
    return Program(inputs=(), outputs=results)


def _copied(program: Program) -> tuple[Graph, list[Node], dict[int, Node]]:
    """A copy of a program, in whose graph its state, inputs and fixed values are inputs.

    Returns the graph, the state and inputs in it, and its nodes by the index of those they copy.
    """
    graph = Graph()
    nodes = {node.index: graph.input(f"x@{k}") for k, node in enumerate([*program.state, *program.inputs])}
    inputs = list(nodes.values())
    nodes |= {node.index: graph.input(str(k), fixed=True) for k, node in enumerate(program.fixed)}
    results = [*program.next_state, *program.outputs]
    for node in schedule(results, stop=lambda node: node.index in nodes, branches=True):
        if node.index not in nodes:
            copy = rebuilt(node, lambda arg: nodes[arg.index]) if node.args else graph.constant(node.value)
            nodes[node.index] = copy
    return graph, inputs, nodes


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
            values = _BACKWARDS[node.op](node, self._sums[node.index], node.args[0], node.args[-1])
            for arg, value in zip(node.args, values, strict=True):
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
    later = rebuilt(branch.condition, lambda arg: arg)  # another node: a branch of its own
    values = shortcuts(later, [full.of(node) for node in nodes], [short.of(node) for node in nodes])
    for node, value in zip(nodes, values, strict=True):
        sums.add(node, value)


def _by_quotient(node: Node, w: Node, a: Node, b: Node) -> tuple[Node, ...]:
    share = w * node if a.is_constant and a.value == 1.0 else w / b
    return share, -(share * node)


def _by_extremum(node: Node, w: Node, a: Node, b: Node) -> tuple[Node, ...]:
    second = w * (above(a, b) if node.op == "min" else above(b, a))
    return w - second, second


# Gradient with respect to each argument of an operation, from the one with respect to its result: of the node, that
# gradient, and the first and last argument.
_BACKWARDS: dict[str, Callable[[Node, Node, Node, Node], tuple[Node, ...]]] = {
    "add": lambda node, w, a, b: (w, w),
    "subtract": lambda node, w, a, b: (w, -w),
    "multiply": lambda node, w, a, b: (w * b, w * a),
    "divide": _by_quotient,
    "negate": lambda node, w, a, b: (-w,),
    "sin": lambda node, w, a, b: (w * cos(a),),
    "cos": lambda node, w, a, b: (-(w * sin(a)),),
    "exp2": lambda node, w, a, b: (math.log(2.0) * w * node,),
    "sqrt": lambda node, w, a, b: (0.5 * w / node,),
    "abs": lambda node, w, a, b: (w * sign(a),),
    "sign": lambda node, w, a, b: (node.graph.zero,),
    "above": lambda node, w, a, b: (node.graph.zero, node.graph.zero),
    "shortcut": lambda node, w, a, b: (w,),  # of a node that is needed without its branch
    "min": _by_extremum,
    "max": _by_extremum,
}
