"""The interface of a backend. A new one is a module in `backends/` whose `BACKEND` is a subclass of `Backend`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, TypeAlias

import numpy as np

from trocar import checks
from trocar.batch import backends
from trocar.errors import TrocarError, check_known
from trocar.laws.program import Program
from trocar.laws.sources import array_source
from trocar.spatial import ArrayModule, Values

BACKENDS = tuple(sorted(module.name for module in iter_modules(backends.__path__)))
PRECISIONS = ("float64", "float32")
Fixed: TypeAlias = Any  # fixed values of a compiled program, in the form of its backend


class Kernel(ABC):
    """A compiled program for batches of any size.

    Attributes:
        program: the compiled program.
        run_function: steps all arms with inputs computed from the rows and the step number; None if the caller loops.
    """

    program: Program
    run_function: Callable[..., tuple[Values, Values, int]] | None = None

    @cached_property
    def preparation(self) -> Callable[[Sequence[Values]], tuple[Values, ...]]:
        """Function in NumPy from parameters () or (N,) to the fixed values."""
        return array_source.numpy_preparation(self.program)

    @abstractmethod
    def fixed(self, parameters: Sequence[Values]) -> Fixed:
        """Fixed values for parameters () or (N,)."""

    @abstractmethod
    def batch(self, fixed: Fixed) -> tuple[int, ...]:
        """Batch shape that the fixed values belong to, () for any."""

    @abstractmethod
    def run(
        self, rows: Values, fixed: Fixed, inputs: Values, steps: int, held: bool, every: int = 0
    ) -> tuple[Values, Values | None, int]:
        """Step all arms.

        Args:
            rows: (R,) or (R, N). fixed: (F,) or (F, N). inputs: (I,) or (I, N) if held, else (T, I) or (T, I, N).
            every: steps between samples of the log; 0 for no log.

        Returns:
            Rows after the steps; log (S, L) or (S, L, N); index of the first arm that is not finite, or -1.
        """

    def run_backwards(self, rows: Values, fixed: Fixed, inputs: Sequence[Values]) -> tuple[Values, Values, int]:
        """Step all arms backwards in time, for gradients.

        Args:
            inputs: arrays (T, ...) or (T, ..., N) whose rows are the inputs, used from the last step to the first.
                Those after the first may have more steps, which are ignored.

        Returns:
            Rows after the steps; outputs (T, O) or (T, O, N) in order of time; index of an arm as in `run`.
        """
        raise NotImplementedError

    def one(self, fixed: Fixed) -> Values:
        """A fast function for single steps of one arm, or None."""
        return None

    def in_place(self, rows: Values, fixed: Fixed) -> Values:
        """One arm with a copy of these rows that a call steps in place, or None."""
        return None


class Backend(ABC):
    """Compiles programs, and places arrays where they run.

    Attributes:
        name: of its module. arrays: NumPy, or a module with its functions. precision, dtype: of the numbers.
        threaded: takes a number of threads. in_host_memory: logs must fit into the memory of the host.
        own_gradients: differentiation of the library itself, which replaces `BatchArms.gradients`; "" for none.
    """

    name: ClassVar[str]
    default_precision: ClassVar[str] = "float64"
    threaded: ClassVar[bool] = False
    in_host_memory: ClassVar[bool] = True
    own_gradients: ClassVar[str] = ""
    arrays: ArrayModule = np

    def __init__(self, precision: str | None = None, threads: int = 1) -> None:
        self.precision, self.threads = precision or self.default_precision, threads
        self.dtype = np.dtype(self.precision)

    @abstractmethod
    def kernel(self, program: Program) -> Kernel:
        """The compiled program."""

    def traced(self, value: Values) -> bool:
        """True if a value is traced and so unknown until the function runs."""
        return False

    def check_finite(self, array: Values, name: str) -> None:
        """Raise an error that names the array unless all its values are finite."""
        if not self.traced(array) and not np.isfinite(array).all():
            raise TrocarError(f"{name} must be finite, got {np.asarray(array)[~np.isfinite(array)][0]}")

    def array(self, values: Values) -> Values:
        """Values as an array of this backend's type."""
        if isinstance(values, np.ndarray) or not hasattr(values, "dtype"):  # else an array of JAX or of a GPU
            values = checks.real_array("an array of joints or efforts", values)
        with np.errstate(over="ignore"):  # infinite in float32: refused like other values that are not finite
            return self.arrays.asarray(values, dtype=self.dtype)

    def placed(self, rows: Values) -> Values:
        """Rows in the memory of the backend."""
        return rows

    def fetched(self, array: Values) -> Values:
        """An array that `arrays` can work on."""
        return array

    def zeros(self, shape: Sequence[int]) -> Values:
        return self.arrays.zeros(shape, self.dtype)

    def joined(self, arrays: Sequence[Values]) -> Values:
        """Rows of several arrays, stacked."""
        return self.arrays.concatenate(arrays)


def backend(name: str, precision: str | None = None, threads: int = 1) -> Backend:
    """The backend of this name."""
    check_known("backend", BACKENDS, name)
    if precision is not None:
        check_known("precision", PRECISIONS, precision)
    kind: type[Backend] = import_module(f"trocar.batch.backends.{name}").BACKEND
    if threads > 1 and not kind.threaded:
        raise TrocarError(f"threads applies to the C backend only, not to {name}")
    return kind(precision, threads)
