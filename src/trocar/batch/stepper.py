"""The compiled step of a control law, with its fixed values and its longest time step."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from trocar import checks
from trocar.batch.parameters import BatchParameters
from trocar.batch.program import Program
from trocar.batch.state import Layout
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism

# Largest product of local frequency and time step: an elastic force held over a step is stable up to 2.
RESOLVED = 1.0


def check_resolved(mechanism: Mechanism, parameters: BatchParameters, dt: float) -> None:
    """Reject time steps that are too long for a Dahl element, whose force is held over a step.

    Right after a reversal an element acts as a spring of 2 F / delta. The stiffest arm counts, at the home position.
    """
    F, delta = parameters["dahl_F"], parameters["dahl_delta"]
    if not all(isinstance(x, np.ndarray) for x in (F, delta)) or not F.any():
        return  # traced values are not known
    F, delta = (x.reshape(len(x), -1) for x in (F, delta))  # arms last
    stiffness = (2.0 * F / delta).max(axis=1)
    drives = mechanism.tree.drives
    A = drives.A[drives.dahl_drive]
    M = mechanism.mass_matrix(np.array([mechanism.arm.home]))[0]  # as a batch: without Pinocchio
    squares = np.linalg.eigvals(np.linalg.solve(M, A.T @ (stiffness[:, None] * A))).real
    fastest = float(np.sqrt(squares.max()))
    if fastest * dt > RESOLVED:
        worst = int(np.argmax(stiffness * np.einsum("ki,ki->k", A, np.linalg.solve(M, A.T).T)))
        name = drives.names[int(drives.dahl_drive[worst])]
        raise TrocarError(
            f"friction with memory is too stiff for steps of {dt:.3g} s: it oscillates at {fastest:.4g} rad/s, mostly "
            f"drive '{name}'; use {RESOLVED / fastest:.2g} s or less, or make it Coulomb friction (Fc)"
        )


class Stepper:
    """A compiled step, and its most recently used fixed values.

    Args:
        others: values of the other fixed inputs, by name.

    Attributes:
        last: time step, fixed values and gains used last.
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
        self.last: tuple[float | None, Any, Mapping[str, Any] | None] = (None, None, None)

    def prepared(self, dt: Any, batch: tuple[int, ...], gains: Mapping[str, Any] | None = None) -> Any:
        """Fixed values for this time step and batch shape; the most recent ones are kept.

        Args:
            gains: (n,) or (n, N) by name.
        """
        if isinstance(dt, Real):
            dt = checks.positive("dt", float(dt))
            last_dt, fixed, last_gains = self.last
            if dt == last_dt and _same(gains, last_gains):
                check_sizes(self.kernel.batch(fixed), batch)
                return fixed
            check_resolved(self._mechanism, self._parameters, dt)
        known = {"dt": dt, **self._others}
        for name, gain in (gains or {}).items():
            known |= {f"{name}@{j}": gain[j] for j in range(self.layout.n)}
        names = [node.name for node in self.program.parameters]
        values = [known[name] if name in known else self._parameters.entry(name) for name in names]
        shapes = {np.shape(value) for value in values} - {()}
        if len(shapes) > 1:
            sizes = ", ".join(str(shape[0]) for shape in sorted(shapes))
            raise TrocarError(f"parameters, gains and surfaces belong to batches of different sizes: {sizes}")
        check_sizes(next(iter(shapes), ()), batch)
        fixed = self.kernel.fixed(values)
        if all(isinstance(value, float | np.ndarray) for value in values):
            copies = None if gains is None else {name: np.array(value) for name, value in gains.items()}
            self.last = dt, fixed, copies
        return fixed

    def with_parameters(self, parameters: BatchParameters) -> Stepper:
        return Stepper(self._mechanism, self.program, self.layout, self.kernel, parameters, self._others)


def _same(gains: Mapping[str, Any] | None, last: Mapping[str, Any] | None) -> bool:
    if gains is None or last is None:
        return gains is last
    known = all(isinstance(value, np.ndarray) for value in gains.values())
    return known and all(np.array_equal(value, last[name]) for name, value in gains.items())


def check_sizes(parameters: tuple[int, ...], batch: tuple[int, ...]) -> None:
    """Raise an error unless parameters are shared by all arms or match their number."""
    if parameters and parameters != batch:
        arms = f"{batch[0]} arms" if batch else "one arm"
        raise TrocarError(f"the parameters have values for {parameters[0]} arms, but the state has {arms}")
