"""C++ statements of a program for a native function of Warp, on its processor and CUDA devices, in float32."""

from __future__ import annotations

from collections.abc import Sequence

from trocar.laws.graph import Node
from trocar.laws.program import Program, arithmetic


def warp_statements(program: Program) -> str:
    """Statements that set `float y[]` from `const float u[]`: the outputs of a program without state."""
    lines, terms = program.statements(lambda name, value: f"const float {name} = {value};", _expression)
    return "\n".join([*lines, *(f"y[{k}] = {term};" for k, term in enumerate(terms))])


def _expression(node: Node, args: Sequence[str]) -> str:
    if node.op == "sign":  # Warp's own is 1 at zero
        return f"{args[0]} > 0.0f ? 1.0f : ({args[0]} < 0.0f ? -1.0f : 0.0f)"
    if node.op == "above":
        return f"{args[0]} > {args[1]} ? 1.0f : 0.0f"
    return arithmetic(node, args, "(float)") or f"wp::{node.op}({', '.join(args)})"
