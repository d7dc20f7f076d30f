"""The compiled step of a control law, with its fixed values."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from trocar import checks
from trocar.batch.layout import Layout
from trocar.batch.parameters import BatchParameters
from trocar.batch.program import Program
from trocar.batch.timestep import check_resolved
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism


class Stepper:
    """A compiled step, and its most recently used fixed values.

    Args:
        others: values of the other fixed inputs, by name.

    Attributes:
        kept: time step, fixed values and gains used last.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        program: Program,
        layout: Layout,
        kernel: Any,
        parameters: BatchParameters,
        others: Mapping[str, Any],
    ) -> None:
        self._mechanism, self.program, self.layout, self.kernel = mechanism, program, layout, kernel
        self._parameters, self._others = parameters, others
        # one tuple, because threads may step with different dt
        self.kept: tuple[float | None, Any, Mapping[str, Any] | None] = (None, None, None)

    def prepared(self, dt: Any, batch: tuple[int, ...], gains: Mapping[str, Any] | None = None) -> Any:
        """Fixed values for this time step and batch shape; the most recent ones are kept.

        Args:
            gains: (n,) or (n, N) by name.
        """
        if isinstance(dt, Real):
            dt = checks.positive("dt", float(dt))
            kept_dt, fixed, kept_gains = self.kept
            if dt == kept_dt and _same(gains, kept_gains):
                check_sizes(self.kernel.batch(fixed), batch)
                return fixed
            check_resolved(self._mechanism, self._parameters, dt)
        given = {"dt": dt, **self._others}
        for name, gain in (gains or {}).items():
            given |= {f"{name}@{j}": gain[j] for j in range(self.layout.n)}
        names = [node.name for node in self.program.parameters]
        values = [given[name] if name in given else self._parameters.entry(name) for name in names]
        shapes = {np.shape(value) for value in values} - {()}
        if len(shapes) > 1:
            sizes = ", ".join(str(shape[0]) for shape in sorted(shapes))
            raise TrocarError(f"parameters, gains and surfaces belong to batches of different sizes: {sizes}")
        check_sizes(next(iter(shapes), ()), batch)
        fixed = self.kernel.fixed(values)
        if all(isinstance(value, float | np.ndarray) for value in values):
            copies = None if gains is None else {name: np.array(value) for name, value in gains.items()}
            self.kept = dt, fixed, copies
        return fixed

    def with_parameters(self, parameters: BatchParameters) -> Stepper:
        return Stepper(self._mechanism, self.program, self.layout, self.kernel, parameters, self._others)


def _same(gains: Mapping[str, Any] | None, kept: Mapping[str, Any] | None) -> bool:
    if gains is None or kept is None:
        return gains is kept
    known = all(isinstance(value, np.ndarray) for value in gains.values())
    return known and all(np.array_equal(value, kept[name]) for name, value in gains.items())


def check_sizes(parameters: tuple[int, ...], batch: tuple[int, ...]) -> None:
    """Raise an error unless parameters are shared by all arms or match their number."""
    if parameters and parameters != batch:
        arms = f"{batch[0]} arms" if batch else "one arm"
        raise TrocarError(f"the parameters have values for {parameters[0]} arms, but the state has {arms}")
