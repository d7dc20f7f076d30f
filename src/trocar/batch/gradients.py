"""Gradients of a loss over a rollout, from generated code that runs the steps backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trocar.batch.adjoint import preparation_adjoint, rollout_adjoint
from trocar.batch.parameters import BatchParameters
from trocar.batch.program import Program
from trocar.batch.sources import array_source
from trocar.spatial import Array


class RolloutGradients:
    """The compiled step that stores all states, and its adjoint.

    Args:
        program: a step. backend: "c" or "cuda", which compiles it.
        own: state rows with a direct gradient of the loss at every step.
        parameters: names of the parameters to differentiate with respect to.
    """

    def __init__(self, program: Program, backend: Any, own: Sequence[int], parameters: Sequence[str]) -> None:
        self._backend, self._program, self._own = backend, program, own
        self._forward = backend.kernel(program.without_outputs(logged=len(program.state)))
        self._entries = [node.name for node in program.parameters if node.name.partition("@")[0] in parameters]
        self._by_fixed = range(len(program.fixed)) if self._entries else ()
        self._adjoint = rollout_adjoint(program, self._by_fixed, own)
        self._backward = backend.kernel(self._adjoint)
        self._prepared: tuple[Any, Any] = (None, None)
        if self._entries:
            self._to_parameters = preparation_adjoint(program, self._entries)

    def run(self, rows: Any, fixed: Any, inputs: Any, last: Any, own: Sequence[Any]) -> tuple[Any, Any, Any, int]:
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
        self, names: Sequence[str], parameters: BatchParameters, others: Any, by_fixed: Any
    ) -> dict[str, Array]:
        """Gradients with respect to parameters, each with its shape, from those of the fixed values (F, ...).

        Args:
            others: values of the other fixed inputs, by name.
        """
        by_fixed = np.asarray(by_fixed, dtype=float)
        if not parameters.batch and by_fixed.ndim == 2:
            by_fixed = by_fixed.sum(axis=1)
        nodes = self._to_parameters.parameters
        values = [self._value(node.name, parameters, others, by_fixed) for node in nodes]
        prepared = array_source.preparation(self._to_parameters, np)(values)
        places = {node.index: k for k, node in enumerate(self._to_parameters.fixed)}
        gradients = {name: np.zeros(parameters[name].shape) for name in names}
        for entry, node in zip(self._entries, self._to_parameters.outputs, strict=True):
            name, _, index = entry.partition("@")
            at = tuple(int(i) for i in index.split(",") if i)
            value = np.broadcast_to(
                node.value if node.is_constant else prepared[places[node.index]], by_fixed.shape[1:]
            )
            gradients[name][at] = value if np.ndim(parameters.entry(entry)) else value.sum()
        return gradients

    def _value(self, name: str, parameters: BatchParameters, others: Any, by_fixed: Array) -> Any:
        if name.startswith("by@"):
            return by_fixed[int(name[3:])]
        return others[name] if name in others else parameters.entry(name)
