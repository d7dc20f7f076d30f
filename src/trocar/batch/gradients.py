"""Gradients of a loss over a rollout, by generated code that runs the steps backwards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trocar.batch.adjoint import adjoint
from trocar.batch.program import Program


class RolloutGradients:
    """The compiled step that keeps all states, and its adjoint.

    Args:
        program: a step. backend: that compiles it; one whose arrays are NumPy's or are copied to NumPy's.
    """

    def __init__(self, program: Program, backend: Any) -> None:
        self._forward = backend.kernel(replace(program, logged=len(program.state), outputs=()))
        self._adjoint = adjoint(replace(program, outputs=()), rollout=True)
        self._backward = backend.kernel(self._adjoint)

    def run(self, rows: Any, fixed: Any, inputs: Any, by_states: Any) -> tuple[Any, Any, int]:
        """Gradients by the rows (R, ...) of the first state and by the inputs (T, I, ...).

        Args:
            inputs: (T, I, ...). by_states: (T + 1, L, ...), gradient of the loss by the logged rows of every state.

        Returns:
            Both gradients, and the first arm that was not finite on the way forward, or -1.
        """
        batch, steps = rows.shape[1:], len(by_states) - 1
        _, states, bad = self._forward.run(rows, fixed, inputs, steps, False, 1)
        if bad >= 0:
            return None, None, bad
        inputs = np.broadcast_to(
            inputs if inputs.ndim == 2 + len(batch) else inputs[..., None], (*inputs.shape[:2], *batch)
        )
        backwards = np.concatenate([np.asarray(states), inputs, by_states[:-1]], axis=1)[::-1]
        last = np.zeros((len(self._adjoint.state), *batch))
        last[: by_states.shape[1]] = by_states[-1]
        values = np.asarray(fixed)
        prepared = self._backward.fixed([values[int(node.name)] for node in self._adjoint.parameters])
        first, by_inputs, bad = self._backward.run(last, prepared, backwards, steps, False, 1)
        return np.asarray(first), np.asarray(by_inputs)[::-1], bad
