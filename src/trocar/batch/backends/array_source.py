"""Python source of a program on arrays of arms, for NumPy and for JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from trocar.batch.graph import Node
from trocar.batch.program import Program

_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_FUNCTIONS = {"min": "minimum", "max": "maximum"}


def preparation(program: Program, arrays: ModuleType) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Function from the parameters of a program to its fixed values."""
    lines, terms = program.preparation(_statement, _expression)
    return _function("preparation", "p", lines, terms, arrays)


def step(
    program: Program, arrays: ModuleType
) -> Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], tuple[Any, ...]]:
    """Function from state, fixed values and inputs to the next state and the outputs, all as rows."""
    lines, terms = program.statements(_statement, _expression)
    return _function("step", "x, p, u", lines, terms, arrays)


def _function(name: str, arguments: str, lines: Sequence[str], terms: Sequence[str], arrays: ModuleType) -> Any:
    source = "\n".join([f"def {name}({arguments}):", *lines, f"    return ({', '.join([*terms, ''])})"])
    space: dict[str, Any] = {"np": arrays}
    exec(compile(source, f"<generated {name}>", "exec"), space)
    return space[name]


def _statement(name: str, value: str) -> str:
    return f"    {name} = {value}"


def _expression(node: Node, args: Sequence[str]) -> str:
    if node.op == "constant":
        return f"({node.value!r})"
    if node.op in _OPERATORS:
        return f"{args[0]} {_OPERATORS[node.op]} {args[1]}"
    if node.op == "negate":
        return f"-{args[0]}"
    return f"np.{_FUNCTIONS.get(node.op, node.op)}({', '.join(args)})"
