"""The C backend: programs as shared libraries on the CPU, with NumPy arrays, built by the system's C compiler."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from trocar.batch.backend import Backend, Fixed, Kernel
from trocar.c_library import library
from trocar.errors import TrocarError
from trocar.laws.program import Program
from trocar.laws.sources.c_source import c_source
from trocar.spatial import Array

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_long
_RUN = (*(_POINTER, _POINTER, _LONG, _LONG), *(_POINTER, _LONG, _LONG, _LONG), *(_POINTER, _LONG, _LONG, _LONG, _LONG))


class CBackend(Backend):
    """Compiles programs with the system's C compiler; `threads` run a batch."""

    name, threaded = "c", True

    def kernel(self, program: Program) -> CKernel:
        return CKernel(program, self.precision, self.threads)


BACKEND = CBackend


class InPlace:
    """One arm that advances by one step per call.

    Attributes:
        rows: state (R,). inputs: inputs (I,) of the next step.
    """

    __slots__ = ("_address", "_call", "_owned", "inputs", "rows")

    def __init__(self, call: Any, rows: Array, fixed: Array, inputs: Array) -> None:
        self.rows, self.inputs, self._call = rows, inputs, call
        pointers = np.array([array.ctypes.data for array in (rows, fixed, inputs)], dtype=np.uintp)
        self._address, self._owned = pointers.ctypes.data, (pointers, fixed)

    def __call__(self) -> int:
        """Take a step. Returns -1, or 0 if the state is no longer finite."""
        bad: int = self._call(self._address)
        return bad


class OneStep:
    """Single steps of one arm with fixed values; a function that any number of threads may call.

    Attributes:
        shape: shape of the inputs.
    """

    __slots__ = ("_create", "_free", "shape")

    def __init__(self, create: Callable[[], InPlace], inputs: int) -> None:
        self._create, self.shape = create, (inputs,)
        self._free: list[InPlace] = []

    def __call__(self, rows: Array, inputs: Array) -> Array | None:
        """Rows (R,) after a step, None if they are not finite."""
        # Written out without further calls, because the step itself takes only a fifth of a microsecond.
        try:
            arm = self._free.pop()
        except IndexError:  # the first call, or others are running in threads
            arm = self._create()
        arm.rows[...] = rows
        arm.inputs[...] = inputs
        bad = arm._call(arm._address)
        new: Array = arm.rows.copy()
        self._free.append(arm)
        return new if bad < 0 else None


class CKernel(Kernel):
    """A compiled program. The code for one arm and for many is built on first use."""

    def __init__(self, program: Program, precision: str, threads: int) -> None:
        self.program, self._precision, self._threads = program, precision, threads
        self._dtype = np.dtype(precision)

    def fixed(self, parameters: Sequence[Array]) -> Array:
        """Fixed values (F,), or (F, N) if a parameter differs between arms."""
        values = self.preparation(parameters)
        return np.array(np.broadcast_arrays(*values), dtype=self._dtype) if values else np.empty(0, self._dtype)

    def one(self, fixed: Array) -> OneStep:
        """Single steps of one arm."""
        rows = np.zeros(len(self.program.state), self._dtype)
        return OneStep(lambda: self.in_place(rows, fixed), len(self.program.inputs))

    def in_place(self, rows: Array, fixed: Array) -> InPlace:
        """One arm with a copy of these rows, for repeated steps."""
        copy = np.array(rows, dtype=self._dtype)
        return InPlace(self._one, copy, fixed, np.zeros(max(1, len(self.program.inputs)), self._dtype))

    def batch(self, fixed: Fixed) -> tuple[int, ...]:
        return fixed.shape[1:]

    def run(
        self, rows: Array, fixed: Array, inputs: Array, steps: int, held: bool, every: int = 0
    ) -> tuple[Array, Array | None, int]:
        program, batch = self.program, rows.shape[1:]
        arms = batch[0] if batch else 1
        rows = np.array(rows, dtype=self._dtype, order="C")
        inputs = np.ascontiguousarray(inputs, dtype=self._dtype)
        each = inputs.ndim == (1 if held else 2) + 1  # a value for each arm
        log = None
        if every:
            log = np.empty((-(-steps // every), program.logged + len(program.outputs), *batch), self._dtype)
        bad = _function(self._vector if batch else self._scalar, "trocar_run", _RUN)(
            rows.ctypes.data,
            fixed.ctypes.data,
            *((arms, 1) if fixed.ndim == 2 else (1, 0)),
            inputs.ctypes.data,
            0 if held else inputs[0].size,
            *((arms, 1) if each else (1, 0)),
            None if log is None else log.ctypes.data,
            max(1, every),
            arms,
            steps,
            self._threads,
        )
        return rows, log, bad

    def run_backwards(self, rows: Array, fixed: Array, inputs: Sequence[Array]) -> tuple[Array, Array, int]:
        batch, steps = rows.shape[1:], len(inputs[0])
        whole = [x if x.ndim == 2 + len(batch) else x[..., None] for x in inputs]
        joined = np.concatenate([np.broadcast_to(x[:steps], (steps, x.shape[1], *batch)) for x in whole], axis=1)
        rows, log, bad = self.run(rows, fixed, joined[::-1], steps, False, 1)
        assert log is not None
        return rows, log[::-1], bad

    @cached_property
    def _one(self) -> Any:
        return _function(self._scalar, "trocar_one", (_POINTER,))

    @cached_property
    def _scalar(self) -> ctypes.CDLL:
        return library(c_source(self.program, self._precision, lanes=False))

    @cached_property
    def _vector(self) -> ctypes.CDLL:
        return library(c_source(self.program, self._precision, lanes=True))


def _function(loaded: ctypes.CDLL, name: str, arguments: Sequence[Any]) -> Any:
    try:
        function = getattr(loaded, name)
    except AttributeError:
        raise TrocarError(f"compiled code in {loaded._name} lacks {name}; remove the file and try again") from None
    function.argtypes, function.restype = arguments, _LONG
    return function
