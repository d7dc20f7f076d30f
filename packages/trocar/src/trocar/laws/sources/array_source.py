"""Python source of a program on arrays of arms, for NumPy and for JAX."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from trocar.laws.graph import Node
from trocar.laws.program import Program, arithmetic

BETWEEN_BARRIERS = 100
TOGETHER = 8192  # arms whose fixed values are computed together
_NAME = re.compile(r"\bt\d+\b")
_FUNCTIONS = {"min": "minimum", "max": "maximum"}


def preparation(program: Program, arrays: ModuleType) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Function from the parameters of a program to its fixed values."""
    lines, terms = program.preparation("    {} = {}".format, _expression)
    return _function("preparation", "p", lines, terms, arrays)


def numpy_preparation(program: Program) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """`preparation` in NumPy, for many arms in parts: each operation makes an array."""
    compute = preparation(program, np)

    def prepared(parameters: Sequence[Any]) -> tuple[Any, ...]:
        arms = max((len(value) for value in parameters if np.ndim(value)), default=0)
        if arms <= TOGETHER:
            return compute(parameters)
        parts = [
            compute([value[start : start + TOGETHER] if np.ndim(value) else value for value in parameters])
            for start in range(0, arms, TOGETHER)
        ]
        return tuple(np.concatenate(part) if np.ndim(part[0]) else part[0] for part in zip(*parts, strict=True))

    return prepared


def step(
    program: Program, arrays: ModuleType, barrier: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None
) -> Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], tuple[Any, ...]]:
    """Function from state, fixed values and inputs to the next state and the outputs, all as rows.

    Args:
        barrier: function applied to all values needed later, after every `BETWEEN_BARRIERS` operations. Otherwise XLA
            fuses everything into one kernel that recomputes shared values and takes minutes to compile.
    """
    lines, terms = program.statements("    {} = {}".format, _expression)
    if barrier is not None:
        lines = _divided(lines, terms)
    return _function("step", "x, p, u", lines, terms, arrays, barrier)


def _divided(lines: Sequence[str], terms: Sequence[str]) -> list[str]:
    """Lines with a barrier after every `BETWEEN_BARRIERS`, over the names that later lines or the result use."""
    last = {term: len(lines) for term in terms}
    for k in reversed(range(len(lines))):
        for name in _NAME.findall(lines[k].partition("=")[2]):
            last.setdefault(name, k)
    parts: list[str] = []
    for start in range(0, len(lines), BETWEEN_BARRIERS):
        end = min(start + BETWEEN_BARRIERS, len(lines))
        parts += lines[start:end]
        names = "".join(f"t{k}, " for k in range(start, end) if last.get(f"t{k}", -1) >= end)
        if names and end < len(lines):
            parts.append(f"    {names}= barrier(({names}))")
    return parts


def step_source(program: Program) -> str:
    """Source of `step` without barriers, which `loaded` turns into a function where no graph exists."""
    return _source("step", "x, p, u", *program.statements("    {} = {}".format, _expression))


def loaded(source: str, name: str, arrays: ModuleType, barrier: Any = None) -> Any:
    """The function of a generated source, on the arrays of a module."""
    space: dict[str, Any] = {"np": arrays, "barrier": barrier}
    exec(compile(source, f"<generated {name}>", "exec"), space)
    return space[name]


def _function(
    name: str, arguments: str, lines: Sequence[str], terms: Sequence[str], arrays: ModuleType, barrier: Any = None
) -> Any:
    return loaded(_source(name, arguments, lines, terms), name, arrays, barrier)


def _source(name: str, arguments: str, lines: Sequence[str], terms: Sequence[str]) -> str:
    return "\n".join([f"def {name}({arguments}):", *lines, f"    return ({', '.join([*terms, ''])})"])


def _expression(node: Node, args: Sequence[str]) -> str:
    if node.op == "above":
        return f"np.heaviside({args[0]} - {args[1]}, 0.0)"
    return arithmetic(node, args) or f"np.{_FUNCTIONS.get(node.op, node.op)}({', '.join(args)})"
