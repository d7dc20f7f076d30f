"""The JAX backend: programs as traced functions, for jit, grad and vmap on any JAX device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np

from trocar.batch.backend import Backend, Fixed, Kernel
from trocar.batch.gradients import adjoint
from trocar.batch.state import BatchState, Layout
from trocar.errors import TrocarError
from trocar.laws.program import Program
from trocar.laws.sources import array_source
from trocar.spatial import Values

try:
    jax: Any = import_module("jax")
    jnp: Any = import_module("jax.numpy")
    MISSING = ""
except ImportError as error:
    MISSING = str(error)


class JaxBackend(Backend):
    """Traces programs with JAX. float64 requires JAX's x64 mode. Default precision: that of JAX's configuration."""

    name, own_gradients = "jax", "jax.grad"

    def __init__(self, precision: str | None = None, threads: int = 1) -> None:
        if MISSING:
            raise TrocarError(f'backend="jax" requires JAX ({MISSING}): pip install "trocar[batch]"')
        _register()
        self.arrays = jnp
        wide = bool(jax.config.read("jax_enable_x64"))
        super().__init__(precision or ("float64" if wide else "float32"), threads)
        if self.precision == "float64" and not wide:
            raise TrocarError(
                'float64 requires jax.config.update("jax_enable_x64", True) before any array is created; or use float32'
            )

    def traced(self, value: Values) -> bool:
        return isinstance(value, jax.core.Tracer)

    def kernel(self, program: Program) -> JaxKernel:
        return JaxKernel(program, self)


BACKEND = JaxBackend


class JaxKernel(Kernel):
    """A program that JAX compiles at its first call and for every new batch size."""

    def __init__(self, program: Program, backend: JaxBackend) -> None:
        self.program, self._backend = program, backend

    def fixed(self, parameters: Sequence[Values]) -> tuple[Values, ...]:
        """Fixed values, each () or (N,); constants if no parameter is traced."""
        if any(self._backend.traced(value) for value in parameters):
            return array_source.preparation(self.program, jnp)(parameters)
        return tuple(np.asarray(x, self._backend.dtype) for x in array_source.preparation(self.program, np)(parameters))

    def batch(self, fixed: Fixed) -> tuple[int, ...]:
        return max((tuple(np.shape(value)) for value in fixed), key=len, default=())

    def run(
        self, rows: Values, fixed: Sequence[Values], inputs: Values, steps: int, held: bool, every: int = 0
    ) -> tuple[Values, Values, int]:
        rows, log = self._compiled(rows, tuple(fixed), inputs, steps, held, every)
        return rows, log, self._first_bad(rows)

    def run_function(
        self,
        rows: Values,
        fixed: Sequence[Values],
        inputs: Callable[[Values, Values], Values],
        steps: int,
        every: int = 0,
    ) -> tuple[Values, Values, int]:
        """Step all arms with inputs computed from the rows and the step number."""
        rows, log = self._scan(rows, tuple(fixed), inputs, steps, every)
        return rows, log, self._first_bad(rows)

    @cached_property
    def _compiled(self) -> Any:
        def run(
            rows: Values, fixed: Fixed, inputs: Values, steps: int, held: bool, every: int
        ) -> tuple[Values, Values]:
            last = steps - 1  # an incomplete block asks for more
            return self._scan(rows, fixed, lambda _, k: inputs if held else inputs[jnp.minimum(k, last)], steps, every)

        return jax.jit(run, static_argnums=(3, 4, 5))

    def _scan(
        self, rows: Values, fixed: Fixed, inputs: Callable[[Values, Values], Values], steps: int, every: int
    ) -> tuple[Values, Values]:
        program, batch = self.program, rows.shape[1:]
        count = len(program.state)
        function = self._differentiable(fixed, batch)

        def step(x: tuple[Values, ...], k: Values) -> tuple[tuple[Values, ...], Values]:
            u = inputs(jnp.stack(x) if x else rows, k)
            u = u if u.ndim == len(batch) + 1 else u[:, None]  # the same for all arms
            outputs = function(x, tuple(jnp.broadcast_to(u[i], batch) for i in range(len(program.inputs))))
            new = tuple(outputs[:count])
            if steps % max(1, every):  # the last block is incomplete
                new = tuple(jnp.where(k < steps, after, before) for after, before in zip(new, x, strict=True))
            return new, jnp.stack([*x[: program.logged], *outputs[count:]]) if every else None

        def block(x: tuple[Values, ...], first: Values) -> tuple[tuple[Values, ...], Values]:
            x, samples = jax.lax.scan(step, x, first + jnp.arange(every))
            return x, samples[0]

        # The step occurs only once, because XLA takes seconds to compile it.
        x = tuple(rows[i] for i in range(count))
        if every > 1:
            x, log = jax.lax.scan(block, x, every * jnp.arange(-(-steps // every)))
        else:
            x, log = jax.lax.scan(step, x, jnp.arange(steps))
        return (jnp.stack(x) if x else rows), log

    def _differentiable(self, fixed: tuple[Values, ...], batch: tuple[int, ...]) -> Any:
        """The step as a function of tuples of rows, with generated derivatives: JAX's own take minutes to compile.

        Only fixed values that depend on traced parameters are differentiated.
        """
        traced = [k for k, value in enumerate(fixed) if self._backend.traced(value)]
        step, dtype = array_source.step(self.program, jnp, jax.lax.optimization_barrier), self._backend.dtype
        states, inputs = len(self.program.state), len(self.program.inputs)

        def merged(variables: Sequence[Values]) -> tuple[Values, ...]:
            values = list(fixed)
            for k, value in zip(traced, variables, strict=True):
                values[k] = value
            return tuple(values)

        @jax.custom_vjp
        def function(x: tuple[Values, ...], p: tuple[Values, ...], u: tuple[Values, ...]) -> tuple[Values, ...]:
            return tuple(jnp.broadcast_to(jnp.asarray(y, dtype), batch) for y in step(x, merged(p), u))

        def forward(x: Values, p: Values, u: Values) -> tuple[Values, Values]:
            return function(x, p, u), (x, p, u)

        def backward(residuals: Values, weights: Values) -> tuple[Values, ...]:
            x, p, u = residuals
            program = adjoint(self.program, traced)
            values = merged(p)
            prepared = array_source.preparation(program, jnp)([values[int(node.name)] for node in program.parameters])
            gradients = array_source.step(program, jnp, jax.lax.optimization_barrier)
            rows = gradients(weights[:states], prepared, (*x, *u, *weights[states:]))
            by_rows = [jnp.broadcast_to(jnp.asarray(y, dtype), batch) for y in rows]
            shared = [jnp.ndim(value) < len(batch) for value in p]
            by_p = (g.sum() if one else g for g, one in zip(by_rows[states + inputs :], shared, strict=True))
            return tuple(by_rows[:states]), tuple(by_p), tuple(by_rows[states : states + inputs])

        function.defvjp(forward, backward)
        variables = tuple(fixed[k] for k in traced)
        return lambda x, u: function(x, variables, u)

    def _first_bad(self, rows: Values) -> int:
        if self._backend.traced(rows) or not rows.size:
            return -1
        bad = np.flatnonzero(self.program.diverged(np.asarray(rows)))
        return int(bad[0]) if bad.size else -1


@cache
def _register() -> None:
    """Register states with JAX so that functions of states can be transformed."""

    def parts(state: BatchState) -> tuple[tuple[Values, Values], Layout]:
        return (state.rows, state.integral), state.layout

    def state(layout: Layout, children: Sequence[Values]) -> BatchState:
        return BatchState(children[0], layout, children[1])

    jax.tree_util.register_pytree_node(BatchState, parts, state)
