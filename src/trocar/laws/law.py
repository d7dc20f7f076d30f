"""A law: equations of a few scalars, written once as a function of nodes, and generated for every backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from trocar.laws.graph import Graph, Node

Equations = Callable[..., Node | tuple[Node, ...]]


class Law:
    """A function from scalars to scalars as a graph; `trocar.laws.sources.function_source` has its generated forms.

    Args:
        equations: a function of nodes. Its arguments without default are the inputs.
        fixed: inputs that stay the same over many calls: parameters. What depends on them alone is computed once.
        vectors: sizes of the arguments that are vectors; their inputs are called x0, x1, ...
        options: other arguments of the equations.

    Attributes:
        name: of the equations, and of the generated functions. inputs: nodes, in the order of the arguments.
        outputs: nodes, in the order of the results.
    """

    def __init__(
        self, equations: Equations, fixed: Sequence[str] = (), vectors: Mapping[str, int] | None = None, **options: Any
    ) -> None:
        arguments = signature(equations).parameters.values()
        names = [argument.name for argument in arguments if argument.default is Parameter.empty]
        graph, sizes = Graph(), vectors or {}
        self.name = equations.__name__
        self.inputs: list[Node] = []
        nodes: list[Node | list[Node]] = []
        for name in names:
            parts = [f"{name}{k}" for k in range(sizes[name])] if name in sizes else [name]
            entries = [graph.input(part, fixed=name in fixed) for part in parts]
            self.inputs += entries
            nodes.append(entries if name in sizes else entries[0])
        results = equations(*nodes, **options)
        self.outputs = list(results) if isinstance(results, tuple) else [results]
