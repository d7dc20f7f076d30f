"""A law: equations of a few scalars, written once as a function of nodes, and generated for every backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from trocar.laws.graph import Graph, Node

Equations = Callable[..., Node | tuple[Node, ...]]


class ScalarLaw:
    """A function from scalars to scalars as a graph; `trocar.laws.sources.function_source` has its generated forms.

    Args:
        equations: a function of nodes. Its arguments without default are the inputs.
        fixed: inputs that stay the same over many calls: parameters. What depends on them alone is computed once.
        vectors: sizes of the arguments that are vectors; the entries of x are the inputs x0, x1, ...
        options: other arguments of the equations.

    Attributes:
        name: of the equations, and of the generated functions. vectors: as given.
        arguments: nodes by the name of the argument. inputs: nodes, in the order of the arguments.
        outputs: nodes, in the order of the results.
    """

    def __init__(
        self, equations: Equations, fixed: Sequence[str] = (), vectors: Mapping[str, int] | None = None, **options: Any
    ) -> None:
        parameters = signature(equations).parameters.values()
        names = [parameter.name for parameter in parameters if parameter.default is Parameter.empty]
        graph, self.vectors = Graph(), vectors or {}
        self.name = equations.__name__
        entries = {name: [f"{name}{k}" for k in range(self.vectors.get(name, 0))] or [name] for name in names}
        self.arguments = {
            name: [graph.input(entry, fixed=name in fixed) for entry in parts] for name, parts in entries.items()
        }
        self.inputs = [node for nodes in self.arguments.values() for node in nodes]
        results = equations(
            *(nodes if name in self.vectors else nodes[0] for name, nodes in self.arguments.items()), **options
        )
        self.outputs = list(results) if isinstance(results, tuple) else [results]
