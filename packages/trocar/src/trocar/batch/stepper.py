"""The compiled step of a control law: its inputs as one array, its fixed values, its longest time step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trocar import checks
from trocar.batch.backend import Backend, Fixed, Kernel
from trocar.batch.parameters import BatchParameters
from trocar.batch.state import Layout
from trocar.errors import TrocarError
from trocar.laws.program import Program
from trocar.mechanics import Mechanism
from trocar.mechanics.static_friction import RESOLVED
from trocar.spatial import Values

MIN_TIMESTEP, MAX_TIMESTEP = 1e-9, 0.1  # [s]; longer steps resolve no motion of an arm


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


@dataclass
class Stepper:
    """A compiled step, and its most recently used fixed values.

    Attributes:
        others: values of the other fixed inputs, by name.
        last: time step, fixed values and gains used last.
    """

    mechanism: Mechanism
    program: Program
    layout: Layout
    kernel: Kernel
    parameters: BatchParameters
    others: Mapping[str, Values]
    # one tuple, because threads may step with different dt
    last: tuple[float | None, Fixed, Mapping[str, Values] | None] = field(default=(None, None, None), init=False)

    def prepared(self, dt: Values, batch: tuple[int, ...], gains: Mapping[str, Values] | None = None) -> Fixed:
        """Fixed values for this time step and batch shape; the most recent ones are kept.

        Args:
            gains: (n,) or (n, N) by name.
        """
        if checks.is_number(dt) or isinstance(dt, np.ndarray) or not hasattr(dt, "dtype"):  # not an array of JAX
            dt = checks.number("dt", dt, MIN_TIMESTEP, MAX_TIMESTEP, "s")
            last_dt, fixed, last_gains = self.last
            if dt == last_dt and _same(gains, last_gains):
                check_sizes(self.kernel.batch(fixed), batch)
                return fixed
            check_resolved(self.mechanism, self.parameters, dt)
        known = {"dt": dt, **self.others}
        for name, gain in (gains or {}).items():
            known |= {f"{name}@{j}": gain[j] for j in range(self.layout.n)}
        names = [node.name for node in self.program.parameters]
        values = [known[name] if name in known else self.parameters.entry(name) for name in names]
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


def _same(gains: Mapping[str, Values] | None, last: Mapping[str, Values] | None) -> bool:
    if gains is None or last is None:
        return gains is last
    known = all(isinstance(value, np.ndarray) for value in gains.values())
    return known and all(np.array_equal(value, last[name]) for name, value in gains.items())


def check_sizes(parameters: tuple[int, ...], batch: tuple[int, ...]) -> None:
    """Raise an error unless parameters are shared by all arms or match their number."""
    if parameters and parameters != batch:
        arms = f"{batch[0]} arms" if batch else "one arm"
        raise TrocarError(f"the parameters have values for {parameters[0]} arms, but the state has {arms}")


def held_inputs(backend: Backend, values: Sequence[Values], n: int, batch: tuple[int, ...]) -> Values:
    """Rows (I,), or (I, N) if one of the arrays (n,) or (n, N) has a value for each arm; None is zero."""
    return _joined(backend, values, (n,), batch, "")


def inputs_over_time(backend: Backend, values: Sequence[Values], n: int, batch: tuple[int, ...]) -> Values:
    """Rows (T, I) or (T, I, N) of arrays (T, n) or (T, n, N); None is zero."""
    lengths = {len(x) for x in values if x is not None and hasattr(x, "__len__") and getattr(x, "ndim", 1) > 0}
    if len(lengths) != 1 or not all(lengths):
        got = ", ".join(map(str, sorted(lengths))) or "none"
        raise TrocarError(
            f"efforts and references must share a number of steps T, (T, {n}) or (T, {n}, N), got {got}; "
            "pass steps= to hold them constant"
        )
    (steps,) = lengths
    return _joined(backend, values, (steps, n), batch, "; pass steps= to hold them constant")


def _joined(
    backend: Backend, values: Sequence[Values], shared: tuple[int, ...], batch: tuple[int, ...], remedy: str
) -> Values:
    np_, each = backend.arrays, (*shared, *batch)
    arrays = [np_.zeros(shared, backend.dtype) if x is None else backend.array(x) for x in values]
    for x in arrays:
        if x.shape not in (shared, each):
            other = f" or {each}" if batch else ""
            raise TrocarError(f"efforts and references must have shape {shared}{other}, got {x.shape}{remedy}")
    if any(x.shape == each for x in arrays) and batch:
        arrays = [x if x.shape == each else np_.broadcast_to(x[..., None], each) for x in arrays]
    return arrays[0] if len(arrays) == 1 else np_.concatenate(arrays, axis=len(shared) - 1)
