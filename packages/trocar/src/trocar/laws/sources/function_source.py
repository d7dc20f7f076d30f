"""Functions of a law: in Python on NumPy arrays, on plain numbers and for Warp; in JavaScript.

An operation whose result is used once is written inside the expression that uses it, so that NumPy reuses its memory
and the two values of `select` on numbers are computed only if they are needed.
"""

from __future__ import annotations

import linecache
import math
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from trocar.laws.graph import Branch, Node, ordered, schedule
from trocar.laws.law import ScalarLaw
from trocar.laws.program import Program

_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_OPERATORS |= {"greater": ">", "less": "<", "equal": "==", "unequal": "!="}
_SAME_NAME = ("sin", "cos", "exp2", "sqrt", "abs", "sign", "exp", "rint", "atan2", "hypot", "min", "max")


@dataclass(frozen=True)
class Dialect:
    """Spelling of operations.

    Attributes:
        calls: templates of operations as calls, in which no argument needs parentheses. both: operator of conditions.
        constant: template of constants, which are then created once.
        branches: test that a condition holds anywhere; values of shortcuts are computed only then. "": always.
        assignment, opening, result, closing: templates of the lines of a function.
    """

    calls: Mapping[str, str]
    both: str = "and"
    constant: str = ""
    branches: str = ""
    assignment: str = "{} = {}"
    opening: str = "def {}({}):"
    result: str = "return {}"
    closing: str = ""


def _templates(prefix: str, **other: str) -> dict[str, str]:
    names = {op: f"{prefix}{op}({{0}}{', {1}' if op in ('atan2', 'hypot', 'min', 'max') else ''})" for op in _SAME_NAME}
    return names | other


ARRAYS = Dialect(
    _templates(
        "np.",
        atan2="np.arctan2({0}, {1})",
        min="np.minimum({0}, {1})",
        max="np.maximum({0}, {1})",
        select="np.where({0}, {1}, {2})",
    ),
    both="&",
    constant="np.array({!r})",  # an operation takes a third longer with a number
    branches="np.count_nonzero({0})",
)
NUMBERS = Dialect(
    _templates(
        "math.",
        abs="abs({0})",
        rint="round({0})",
        min="min({0}, {1})",
        max="max({0}, {1})",
        sign="(({0} > 0.0) - ({0} < 0.0))",
        select="({1} if {0} else {2})",
    )
)
WARP = Dialect(
    _templates(
        "wp.",
        exp2="wp.pow(2.0, {0})",
        hypot="wp.sqrt({0} * {0} + {1} * {1})",
        sign="wp.where({0} > 0.0, 1.0, wp.where({0} < 0.0, -1.0, 0.0))",  # Warp's own is 1 at zero
        select="wp.where({0}, {1}, {2})",
    )
)
# `rint` rounds halves to even, which no function of JavaScript does; `JAVASCRIPT_PRELUDE` has it.
JAVASCRIPT = Dialect(
    _templates(
        "Math.",
        exp2="Math.pow(2.0, {0})",
        rint="rint({0})",
        select="({0} ? {1} : {2})",
    ),
    both="&&",
    assignment="const {} = {};",
    opening="function {}({}) {{",
    result="return [{}];",
    closing="}",
)
JAVASCRIPT_PRELUDE = """function rint(x) {
    const r = Math.round(x);
    return r - x === 0.5 && r % 2 !== 0 ? r - 1 : r;
}"""


def on_arrays(law: ScalarLaw) -> Callable[..., Any]:
    """The law on NumPy arrays that broadcast: a function of its inputs that returns its outputs.

    A law with parameters becomes a function of these, which returns a function of the other inputs.
    """
    return _loaded(law.name, function_source(law, ARRAYS), {"np": np})


def on_numbers(law: ScalarLaw) -> Callable[..., Any]:
    """Like `on_arrays`, for numbers."""
    return _loaded(law.name, function_source(law, NUMBERS), {"math": math})


def on_warp(law: ScalarLaw) -> Any:
    """The law as a function that kernels of Warp can call, in float32, of all its arguments; vectors are Warp's."""
    import warp as wp

    kinds = {f"vec{size}": wp.types.vector(length=size, dtype=float) for size in law.vectors.values()}
    return wp.func(_loaded(law.name, function_source(law, WARP), {"wp": wp, "__name__": __name__, **kinds}))


def function_source(law: ScalarLaw, dialect: Dialect) -> str:
    """Source of a function of the law's inputs, or of its parameters, which then returns a function of the others."""
    terms = {node.index: node.name for node in law.inputs}
    fixed = [node.name for node in law.inputs if node.fixed]
    head = []
    if dialect.constant:
        constants = [node for node in schedule(law.outputs, branches=True) if node.is_constant]
        head = [f"c{k} = {dialect.constant.format(node.value)}" for k, node in enumerate(constants)]
        terms |= {node.index: f"c{k}" for k, node in enumerate(constants)}
    if dialect is WARP:
        terms |= {law.arguments[x][k].index: f"{x}[{k}]" for x, size in law.vectors.items() for k in range(size)}
        kinds = [f"{x}: vec{law.vectors[x]}" if x in law.vectors else f"{x}: float" for x in law.arguments]
        return "\n".join(_definition(law.name, kinds, _Lines(dialect, terms, law.outputs)))
    if not fixed:
        body = _definition(law.name, [node.name for node in law.inputs], _Lines(dialect, terms, law.outputs))
        return "\n".join([*head, *body])
    prepared, lines = [node for node in Program(law.inputs, law.outputs).fixed if node.args], []
    for k, node in enumerate(prepared):
        first = _Lines(dialect, dict(terms), [node])
        lines += [*first.lines, "    " + dialect.assignment.format(f"p{k}", first.results[0])]
        terms[node.index] = f"p{k}"
    rest = [node.name for node in law.inputs if not node.fixed]
    inner = [f"    {line}" for line in _definition("step", rest, _Lines(dialect, terms, law.outputs))]
    opening, closing = dialect.opening.format(law.name, ", ".join(fixed)), [dialect.closing] * bool(dialect.closing)
    return "\n".join([*head, opening, *lines, *inner, "    return step", *closing])


def _definition(name: str, arguments: Sequence[str], body: _Lines) -> list[str]:
    dialect = body.dialect
    lines = [dialect.opening.format(name, ", ".join(arguments)), *body.lines]
    lines.append("    " + dialect.result.format(", ".join(body.results)))
    return [*lines, dialect.closing] if dialect.closing else lines


class _Lines:
    """Lines of a function, and the terms of its results; terms: of the nodes that are known, by index."""

    def __init__(self, dialect: Dialect, terms: dict[int, str], results: Sequence[Node]) -> None:
        self.dialect, self._terms, self._open = dialect, terms, set[int]()
        self._names = (f"t{k}" for k in count())
        wanted = [self._plain(node) for node in results]
        known = set(terms)
        branching = bool(dialect.branches)
        nodes = schedule(wanted, stop=lambda node: node.index in known, branches=branching)
        self._uses = Counter(node.index for node in wanted)
        for node in nodes:
            if node.index not in known:
                self._uses.update(self._used(node))
        work = ordered(wanted, known) if branching else [node for node in nodes if node.index not in known]
        self.lines: list[str] = []
        self._indent = "    "
        for part in work:
            if isinstance(part, Branch):
                self._write_branch(part)
            else:
                self._write(part)
        self.results = [terms[node.index] for node in wanted]

    def _plain(self, node: Node) -> Node:
        """The node that a shortcut stands for, unless it is a branch of the function."""
        while node.op == "shortcut" and not (node.branch and self.dialect.branches):
            node = node.args[0]
        return node

    def _used(self, node: Node) -> list[int]:
        """Indices of the nodes in the expression of a node, as often as they occur there."""
        if node.op == "shortcut" and self._plain(node) is not node:
            return []
        template = self.dialect.calls.get(node.op, "")
        times = [max(1, template.count(f"{{{k}}}")) for k in range(len(node.args))]
        args = [k for arg, n in zip(node.args, times, strict=True) for k in [self._plain(arg).index] * n]
        return args + [self._plain(other).index for other in node.branch or ()]

    def _write(self, node: Node) -> None:
        if node.index in self._terms or self._plain(node) is not node:
            return
        if node.op == "constant":
            self._terms[node.index] = repr(node.value)
            return
        text, is_open = self._expression(node)
        if self._uses[node.index] > 1:
            name = next(self._names)
            self.lines.append(self._indent + self.dialect.assignment.format(name, text))
            text, is_open = name, False
        self._terms[node.index] = text
        if is_open:
            self._open.add(node.index)

    def _expression(self, node: Node) -> tuple[str, bool]:
        """Source of a node, and True if it needs parentheses as an operand."""
        args = [self._plain(arg) for arg in node.args]
        bare = [self._terms[arg.index] for arg in args]
        closed = [f"({term})" if arg.index in self._open else term for arg, term in zip(args, bare, strict=True)]
        if node.op == "negate":
            return f"-{closed[0]}", True
        operator = self.dialect.both if node.op == "both" else _OPERATORS.get(node.op)
        if operator is not None:
            return f"{closed[0]} {operator} {closed[1]}", True
        return self.dialect.calls[node.op].format(*bare), False

    def _write_branch(self, branch: Branch) -> None:
        """Compute the full values only if the condition holds anywhere."""
        self._write(branch.condition)
        names = [next(self._names) for _ in branch.shortcuts]
        test = self.dialect.branches.format(self._terms[branch.condition.index])
        self.lines.append(f"    if {test}:")
        self._indent = " " * 8
        for node in branch.inside:
            self._write(node)
        full = [self._terms[self._plain(node.args[0]).index] for node in branch.shortcuts]
        self.lines.append(f"        {', '.join(names)} = {', '.join(full)}")
        self._indent = "    "
        short = [self._terms[self._plain(node.branch[1]).index] for node in branch.shortcuts if node.branch]
        self.lines += ["    else:", f"        {', '.join(names)} = {', '.join(short)}"]
        self._terms |= {node.index: name for node, name in zip(branch.shortcuts, names, strict=True)}


def _loaded(name: str, source: str, space: dict[str, Any]) -> Any:
    """The function of a source, which debuggers and Warp can read."""
    file = f"<generated {name} {zlib.crc32(source.encode()):x}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    exec(compile(source, file, "exec"), space)
    return space[name]
