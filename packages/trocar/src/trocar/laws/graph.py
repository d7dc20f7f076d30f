"""A scalar expression graph, in which the equations are written and from which all backends are generated.

Equal expressions share one node, so common subexpressions are computed once. Constants, zeros, ones and signs are
folded as the graph grows. A node is *fixed* if it depends on parameters only: products and sums collect their fixed
parts, which are computed once per set of parameters instead of once per step. A *shortcut* marks a value that rarely
has to be computed: backends with cheap branches skip it, all others ignore the mark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

Number = float | int

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "exp2": math.exp2,
    "sqrt": math.sqrt,
    "abs": abs,
    "sign": lambda x: float((x > 0) - (x < 0)),
    "exp": math.exp,
    "rint": lambda x: float(round(x)),
}


def _operator(op: str) -> tuple[Callable[[Node, Node | Number], Node], Callable[[Node, Number], Node]]:
    """A binary operator and its reflection, folded."""
    return (
        lambda self, other: _OPERATIONS[op](self, self.graph.node(other)),
        lambda self, other: _OPERATIONS[op](self.graph.node(other), self),
    )


class Node:
    """One operation: `op` on `args`; `value` of a constant, `name` of an input.

    `branch` of a shortcut: the condition under which its argument has to be computed, and its value otherwise.
    """

    __slots__ = ("args", "branch", "fixed", "graph", "index", "name", "op", "value")

    def __init__(
        self,
        graph: Graph,
        op: str,
        args: tuple[Node, ...] = (),
        value: float = 0.0,
        name: str = "",
        fixed: bool = False,
    ) -> None:
        self.graph, self.op, self.args, self.value, self.name, self.fixed = graph, op, args, value, name, fixed
        self.branch: tuple[Node, Node] | None = None
        self.index = graph.count
        graph.count += 1

    @property
    def is_constant(self) -> bool:
        return self.op == "constant"

    @property
    def is_zero(self) -> bool:
        return self.op == "constant" and self.value == 0.0

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract")
    __mul__, __rmul__ = _operator("multiply")
    __truediv__, __rtruediv__ = _operator("divide")

    def __neg__(self) -> Node:
        return _negate(self)

    def __gt__(self, other: Node | Number) -> Node:
        """A condition, for `select`."""
        return _comparison("greater", self, other)

    def __lt__(self, other: Node | Number) -> Node:
        return _comparison("less", self, other)


class Graph:
    """All nodes of one set of equations."""

    def __init__(self) -> None:
        self.count = 0
        self._known: dict[tuple[object, ...], Node] = {}
        self.zero = self.constant(0.0)

    def constant(self, value: Number) -> Node:
        value = float(value) + 0.0  # -0.0 becomes 0.0
        return self._known.get(("constant", value)) or self._new(("constant", value), value=value, fixed=True)

    def input(self, name: str, fixed: bool = False) -> Node:
        """An input of the program; fixed: a parameter, which stays the same over many steps."""
        return self._known.get(("input", name)) or self._new(("input", name), name=name, fixed=fixed)

    def node(self, value: Node | Number) -> Node:
        return value if isinstance(value, Node) else self.constant(float(value))

    def operation(self, op: str, *args: Node) -> Node:
        """A node without folding."""
        key = (op, *(arg.index for arg in args))
        return self._known.get(key) or self._new(key, args=args, fixed=all(arg.fixed for arg in args))

    def _new(self, key: tuple[Any, ...], **facts: Any) -> Node:
        node = self._known[key] = Node(self, key[0], **facts)
        return node


# -- functions ---------------------------------------------------------------------------------------------------------


def _function(op: str, x: Node) -> Node:
    if x.op == "negate" and op == "sin":
        return -_function(op, x.args[0])
    if x.op == "negate" and op in ("cos", "abs"):
        x = x.args[0]
    return x.graph.constant(FUNCTIONS[op](x.value)) if x.is_constant else x.graph.operation(op, x)


# exp2 is the exponential that GPUs have in hardware; sign is -1, 0 or 1; rint rounds to the nearest whole number
sin, cos, exp2, sqrt, absolute, sign, exp, rint = (partial(_function, op) for op in FUNCTIONS)


def above(x: Node, y: Node) -> Node:
    """1 where x is larger than y, else 0."""
    if x.is_constant and y.is_constant:
        return x.graph.constant(float(x.value > y.value))
    return x.graph.operation("above", x, y)


def _extremum(op: str, choose: Callable[[float, float], float], x: Node, y: Node | Number) -> Node:
    y = x.graph.node(y)
    if x.is_constant and y.is_constant:
        return x.graph.constant(choose(x.value, y.value))
    return x if x is y else x.graph.operation(op, *_ordered(x, y))


minimum, maximum = partial(_extremum, "min", min), partial(_extremum, "max", max)


def atan2(y: Node, x: Node) -> Node:
    return y.graph.operation("atan2", y, x)


def hypot(x: Node, y: Node) -> Node:
    """sqrt(x^2 + y^2)."""
    return x.graph.operation("hypot", x, y)


# -- conditions --------------------------------------------------------------------------------------------------------


def _comparison(op: str, x: Node, y: Node | Number) -> Node:
    return x.graph.operation(op, x, x.graph.node(y))


equal, unequal = partial(_comparison, "equal"), partial(_comparison, "unequal")


def both(first: Node, second: Node) -> Node:
    """The condition that two conditions hold."""
    return first.graph.operation("both", first, second)


def select(condition: Node, x: Node | Number, y: Node | Number) -> Node:
    """x where the condition holds, else y."""
    graph = condition.graph
    x, y = graph.node(x), graph.node(y)
    return x if x is y else graph.operation("select", condition, x, y)


# -- shortcuts ---------------------------------------------------------------------------------------------------------

Range = tuple[Node, Number, Number]  # a value, its minimum and its maximum


def _condition(op: str, ranges: Sequence[Range]) -> Node:
    graph = ranges[0][0].graph
    return graph.operation(op, *(graph.node(x) for values in ranges for x in values))


# conditions: all values are within their ranges; a value is out of its range or not a number
within, outside = partial(_condition, "within"), partial(_condition, "outside")


def shortcuts(condition: Node, full: Sequence[Node], short: Sequence[Node]) -> list[Node]:
    """The values `full`. Unless the condition holds, they equal `short` up to rounding, and `short` may be used."""
    pairs = []
    for value, other in zip(full, short, strict=True):
        if value is other:
            pairs.append(value)
            continue
        node = Node(value.graph, "shortcut", (value,))
        node.branch = (condition, other)
        pairs.append(node)
    return pairs


def whole(x: Node) -> Node:
    """x as a single term: sums that it is added to are not merged with it."""
    return Node(x.graph, "shortcut", (x,))


def rebuilt(node: Node, of: Callable[[Node], Node]) -> Node:
    """The operation of a node on other arguments, `of` its own; folded anew, and in the graph of the arguments."""
    args = [of(arg) for arg in node.args]
    if node.branch is not None:
        condition, short = map(of, node.branch)
        return shortcuts(condition, args, [short])[0]
    if node.op == "shortcut":
        return whole(args[0])
    if node.op in ("within", "outside"):  # a condition may be another one on the same arguments
        return Node(args[0].graph, node.op, tuple(args))
    return _OPERATIONS[node.op](*args)


def total(graph: Graph, terms: Iterable[Node]) -> Node:
    """Sum of the terms, zero if there are none."""
    result = graph.zero
    for term in terms:
        result = result + term
    return result


# -- folding -----------------------------------------------------------------------------------------------------------


def _ordered(x: Node, y: Node) -> tuple[Node, Node]:
    """Operands of a commutative operation in canonical order: the fixed one first, then the older one."""
    return (x, y) if (not x.fixed, x.index) <= (not y.fixed, y.index) else (y, x)


def _negate(x: Node) -> Node:
    if x.is_constant:
        return x.graph.constant(-x.value)
    if x.op == "negate":
        return x.args[0]
    if x.op == "subtract":
        return _subtract(x.args[1], x.args[0])
    if x.op == "multiply" and x.args[0].is_constant:
        return _multiply(x.graph.constant(-x.args[0].value), x.args[1])
    return x.graph.operation("negate", x)


def _add(x: Node, y: Node) -> Node:
    graph = x.graph
    x, y = _ordered(x, y)
    if x.is_constant and y.is_constant:
        return graph.constant(x.value + y.value)
    if x.is_zero:
        return y
    if y.op == "negate":
        return _subtract(x, y.args[0])
    if x.op == "negate":
        return _subtract(y, x.args[0])
    if x is y:
        return _multiply(graph.constant(2.0), x)
    if x.fixed and not y.fixed and y.op == "add" and y.args[0].fixed:  # p + (p' + x) = (p + p') + x
        return _add(_add(x, y.args[0]), y.args[1])
    return graph.operation("add", x, y)


def _subtract(x: Node, y: Node) -> Node:
    graph = x.graph
    if x.is_constant and y.is_constant:
        return graph.constant(x.value - y.value)
    if y.is_zero:
        return x
    if x.is_zero:
        return _negate(y)
    if x is y:
        return graph.zero
    if y.op == "negate":
        return _add(x, y.args[0])
    if x.op == "negate":
        return _negate(_add(x.args[0], y))
    if y.op == "multiply" and y.args[0].is_constant and y.args[0].value < 0:
        return _add(x, _negate(y))
    return graph.operation("subtract", x, y)


def _multiply(x: Node, y: Node) -> Node:
    graph = x.graph
    x, y = _ordered(x, y)
    if x.is_constant and y.is_constant:
        return graph.constant(x.value * y.value)
    for constant, other in ((x, y), (y, x)):
        if constant.is_constant:
            if constant.value == 0.0:
                return constant
            if constant.value == 1.0:
                return other
            if constant.value == -1.0:
                return _negate(other)
    if x.is_constant and y.op == "negate":
        return _multiply(_negate(x), y.args[0])
    if x.op == "negate":
        return _negate(_multiply(x.args[0], y))
    if y.op == "negate":
        return _negate(_multiply(x, y.args[0]))
    if y.op == "multiply":
        a, b = y.args  # p (p' x) = (p p') x, and the same for constants within fixed products
        if (x.fixed and a.fixed and not b.fixed) or (x.is_constant and a.is_constant):
            return _multiply(_multiply(x, a), b)
    return graph.operation("multiply", x, y)


def _divide(x: Node, y: Node) -> Node:
    graph = x.graph
    if y.is_constant:
        return _multiply(graph.constant(1.0 / y.value), x)
    if x.is_zero:
        return x
    if y.fixed and not x.fixed:
        return _multiply(_divide(graph.constant(1.0), y), x)
    if x.op == "negate":
        return _negate(_divide(x.args[0], y))
    return graph.operation("divide", x, y)


_OPERATIONS: dict[str, Callable[..., Node]] = {
    **{op: partial(_function, op) for op in FUNCTIONS},
    **{op: partial(_comparison, op) for op in ("greater", "less", "equal", "unequal")},
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "negate": _negate,
    "above": above,
    "min": minimum,
    "max": maximum,
    "atan2": atan2,
    "hypot": hypot,
    "both": both,
    "select": select,
}

# -- order -------------------------------------------------------------------------------------------------------------

is_fixed = attrgetter("fixed")


def schedule(
    outputs: Iterable[Node], stop: Callable[[Node], bool] = lambda node: False, branches: bool = False
) -> list[Node]:
    """Nodes that the outputs need, in order of creation: arguments first. Nodes with `stop` are not expanded.

    Args:
        branches: include the conditions and short values of shortcuts.
    """

    def needed(node: Node) -> Iterable[Node]:
        return () if stop(node) else (*node.args, *(node.branch or ())) if branches else node.args

    return [node for _, node in sorted(_reached(outputs, needed).items())]


@dataclass(frozen=True)
class Branch:
    """Shortcuts with the same condition, and the nodes that only their full values need, in order of creation.

    A step that skips the branch pays only for the condition.
    """

    condition: Node
    shortcuts: Sequence[Node]
    inside: Sequence[Node]


def ordered(results: Sequence[Node], known: Collection[int]) -> list[Node | Branch]:
    """Nodes and branches that the results need, arguments first. Nodes with an index in `known` already exist."""
    always = _reached(results, lambda node: node.branch or node.args, known)
    conditions: dict[int, list[Node]] = {}
    for index in sorted(always):
        branch = always[index].branch
        if branch is not None:
            conditions.setdefault(branch[0].index, []).append(always[index])
    outer = {*known, *always}
    inside = [_reached([node.args[0] for node in nodes], attrgetter("args"), outer) for nodes in conditions.values()]
    seen: set[int] = set()
    for reached in inside:  # a node needed by two branches belongs to neither
        always |= _reached([node for index, node in reached.items() if index in seen], attrgetter("args"), outer)
        seen |= set(reached)
    first = {
        nodes[0].index: Branch(always[condition], nodes, [reached[k] for k in sorted(reached) if k not in always])
        for (condition, nodes), reached in zip(conditions.items(), inside, strict=True)
    }
    later = {node.index for nodes in conditions.values() for node in nodes[1:]} | set(conditions)
    return [first.get(k, always[k]) for k in sorted(always) if k not in later]


def _reached(
    start: Iterable[Node], needed: Callable[[Node], Iterable[Node]], known: Collection[int] = ()
) -> dict[int, Node]:
    nodes: dict[int, Node] = {}
    pending = list(start)
    while pending:
        node = pending.pop()
        if node.index not in nodes and node.index not in known:
            nodes[node.index] = node
            pending.extend(needed(node))
    return nodes
