"""A program from input rows to output rows in one graph, split into fixed values and the operations of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np

from trocar.laws.graph import Node, is_fixed, ordered, schedule
from trocar.spatial import Array

Statement = Callable[[str, str], str]  # line that assigns a value to a name
Expression = Callable[[Node, Sequence[str]], str]  # source of a node from the terms of its arguments
BranchSource = Callable[[str, Sequence[str], Sequence[str], Sequence[str], Sequence[str]], list[str]]
STATE, INPUT, FIXED = "x", "u", "p"  # names of the arrays of rows in generated code
_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


@dataclass(frozen=True, eq=False)
class Program:
    """A step, or a query, of one arm. A row is a scalar of every arm.

    Attributes:
        inputs: inputs of every step. outputs: rows that every step returns.
        state: inputs that the program replaces with `next_state`, row by row. A query has none.
        logged: number of leading state rows that are logged, with their values before the step.
        bounds: lowest and highest value of every leading state row of an arm that has not diverged. The others must be
            finite.
    """

    inputs: Sequence[Node]
    outputs: Sequence[Node]
    state: Sequence[Node] = ()
    next_state: Sequence[Node] = ()
    logged: int = 0
    bounds: Sequence[tuple[float, float]] = ()

    @cached_property
    def fixed(self) -> list[Node]:
        """Nodes that depend on parameters only and that other nodes or the results use."""
        results = [*self.next_state, *self.outputs]
        nodes = {node.index: node for node in results if _varies_by_parameter(node)}
        for node in schedule(results, stop=is_fixed, branches=True):
            if not node.fixed:
                nodes |= {arg.index: arg for arg in (*node.args, *(node.branch or ())) if _varies_by_parameter(arg)}
        return list(nodes.values())

    def without_outputs(self, logged: int = 0) -> Program:
        """This program with the same fixed values, but without outputs."""
        new = replace(self, outputs=(), logged=logged)
        new.__dict__["fixed"] = self.fixed  # the cached property: only the outputs may use some of them
        return new

    def row_bounds(self, largest: float) -> list[tuple[float, float]]:
        """Lowest and highest value of all state rows; `largest`: of a finite number."""
        return [*self.bounds, *[(-largest, largest)] * (len(self.state) - len(self.bounds))]

    def diverged(self, rows: Array) -> Array:
        """Arms (N,), or () for one arm, with a row (R,) or (R, N) outside its bounds."""
        low, high = np.array(self.row_bounds(float(np.finfo(rows.dtype).max))).T.reshape(2, -1, *[1] * (rows.ndim - 1))
        return np.asarray(~((rows >= low) & (rows <= high)).all(axis=0))

    @cached_property
    def parameters(self) -> list[Node]:
        """Fixed inputs that the fixed nodes depend on."""
        return [node for node in schedule(self.fixed) if node.op == "input"]

    def statements(
        self, statement: Statement, expression: Expression, branch: BranchSource | None = None
    ) -> tuple[list[str], list[str]]:
        """Source lines of one step, and the terms for all rows of the next state and the outputs.

        Args:
            branch: lines of a branch, from the term of its condition, the names and short values of its shortcuts, the
                lines inside, and the full values. Default: no branches, full values only.
        """
        rows = {FIXED: self.fixed, STATE: self.state, INPUT: self.inputs}
        places = {node.index: f"{array}[{k}]" for array, nodes in rows.items() for k, node in enumerate(nodes)}
        return _statements([*self.next_state, *self.outputs], places, statement, expression, branch)

    def preparation(self, statement: Statement, expression: Expression) -> tuple[list[str], list[str]]:
        """Source lines that compute the fixed nodes from the parameters, and the terms for them."""
        places = {node.index: f"{FIXED}[{k}]" for k, node in enumerate(self.parameters)}
        return _statements(self.fixed, places, statement, expression)

    @property
    def operations(self) -> int:
        """Number of operations in one step."""
        nodes = schedule([*self.next_state, *self.outputs], stop=is_fixed)
        return sum(not node.fixed and bool(node.args) and node.op != "shortcut" for node in nodes)


def _statements(
    results: Sequence[Node],
    places: dict[int, str],
    statement: Statement,
    expression: Expression,
    branch: BranchSource | None = None,
) -> tuple[list[str], list[str]]:
    """Source lines that compute the results, one per operation, and the term of each; places: terms of known nodes."""
    terms = dict(places)
    names = (f"t{k}" for k in count())

    def lines_of(node: Node) -> list[str]:
        if node.op == "input":
            raise KeyError(f"input {node.name!r} has no place")
        args = [terms[arg.index] for arg in node.args]
        if node.op == "shortcut" or not args:
            terms[node.index] = args[0] if args else expression(node, args)
            return []
        terms[node.index] = name = next(names)
        return [statement(name, expression(node, args))]

    if branch is None:
        nodes = schedule(results, stop=lambda node: node.index in places)
        lines = [line for node in nodes if node.index not in places for line in lines_of(node)]
        return lines, [terms[node.index] for node in results]
    lines = []
    for work in ordered(results, places):
        if isinstance(work, Node):
            lines += lines_of(work)
            continue
        condition = expression(work.condition, [terms[arg.index] for arg in work.condition.args])
        inside = [line for node in work.inside for line in lines_of(node)]
        full = [terms[node.args[0].index] for node in work.shortcuts]
        short = [terms[node.branch[1].index] for node in work.shortcuts if node.branch is not None]
        terms |= {node.index: next(names) for node in work.shortcuts}
        lines += branch(condition, [terms[node.index] for node in work.shortcuts], short, inside, full)
    return lines, [terms[node.index] for node in results]


def arithmetic(node: Node, args: Sequence[str], cast: str = "") -> str:
    """Source of a constant or an operator, the same in C and in Python; "" for all others. cast: of constants."""
    if node.op == "constant":
        return f"({cast}{node.value!r})"
    if node.op == "negate":
        return f"-{args[0]}"
    return f"{args[0]} {_OPERATORS[node.op]} {args[1]}" if node.op in _OPERATORS else ""


def _varies_by_parameter(node: Node) -> bool:
    return node.fixed and not node.is_constant
