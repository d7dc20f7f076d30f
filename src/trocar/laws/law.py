"""A law: equations of a few scalars, written once as a function of nodes, and generated for every backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any

from trocar.laws.graph import Graph, Node

Equations = Callable[..., Node | tuple[Node, ...]]


class Law:
    """A function from scalars to scalars as a graph; `trocar.laws.sources.function_source` has its generated forms.

    Args:
        equations: a function of nodes. Its arguments without default are the inputs.
        fixed: inputs that stay the same over many calls: parameters. What depends on them alone is computed once.
        options: other arguments of the equations.

    Attributes:
        name: of the equations, and of the generated functions. inputs: nodes, in the order of the arguments.
        outputs: nodes, in the order of the results.
    """

    def __init__(self, equations: Equations, fixed: Sequence[str] = (), **options: Any) -> None:
        arguments = signature(equations).parameters.values()
        names = [argument.name for argument in arguments if argument.default is Parameter.empty]
        graph = Graph()
        self.name = equations.__name__
        self.inputs = [graph.input(name, fixed=name in fixed) for name in names]
        results = equations(*self.inputs, **options)
        self.outputs = list(results) if isinstance(results, tuple) else [results]
