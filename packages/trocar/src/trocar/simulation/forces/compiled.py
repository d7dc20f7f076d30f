"""Forces between two steps of MuJoCo in C: loops (step_forces.c) over the laws that NumPy computes without a compiler.

An arm has a few dozen elements, for which NumPy spends nearly all of its time on its calls. Both forms are generated
from the same graphs. They are equal up to rounding: sums have another order, and NumPy has its own exponential.
"""

from __future__ import annotations

import ctypes
import logging
import os
import re
import struct
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trocar.c_library import library
from trocar.errors import TrocarError
from trocar.laws.cables import cable_torque
from trocar.laws.coulomb import coulomb_friction
from trocar.laws.dahl import dahl_effort, dahl_state
from trocar.laws.law import ScalarLaw
from trocar.laws.slip import TWISTS, slip_rate
from trocar.laws.sources.c_source import c_laws
from trocar.spatial import Array

CHOICE = "TROCAR_COMPILED"  # environment variable: 0 for NumPy, 1 for C or an error. Default: C if it can be built
SOURCE = Path(__file__).with_name("step_forces.c")
TERMS = 16  # most coefficients of a cable in C; fewer are preceded by zeros
EXACT = "-ffp-contract=off"  # operations as in NumPy


class Bound(NamedTuple):
    """A function of step_forces.c with the arrays that it reads and writes.

    Attributes:
        run: calls it. words: its structure. values: what keeps the arrays in memory.
    """

    run: Callable[[], None]
    words: ctypes.Array[ctypes.c_char]
    values: Mapping[str, Any]


def compiled(function: str, **values: Any) -> Bound | None:
    """A function of step_forces.c, or None if NumPy computes the forces.

    Args:
        values: fields of its structure by name: arrays, numbers, the arrays of `sparse`, another function or None.
    """
    loaded = step_library(os.environ.get(CHOICE, ""))
    if loaded is None:
        return None
    call = getattr(loaded, f"trocar_{function}")
    call.argtypes, call.restype = (ctypes.c_void_p,), None
    fields = _structures()[function.capitalize()]
    words = ctypes.create_string_buffer(b"".join(_words(values[name]) for name in fields))
    return Bound(partial(call, ctypes.addressof(words)), words, values)


def sparse(matrix: Array) -> tuple[Array, Array, Array]:
    """A matrix (k, n) by rows: the first entry of each row, then columns and values of all entries."""
    rows, columns = map(np.ascontiguousarray, np.nonzero(matrix))
    return np.searchsorted(rows, np.arange(len(matrix) + 1)), columns, matrix[rows, columns]


@cache
def step_library(choice: str) -> ctypes.PyDLL | None:
    """step_forces.c with its laws, or None if NumPy computes the forces; choice: see `CHOICE`."""
    if choice not in ("", "0", "1"):
        raise TrocarError(f"{CHOICE} must be 0 (NumPy) or 1 (C), got {choice!r}")
    if choice == "0":
        return None
    laws = [ScalarLaw(law) for law in (dahl_state, dahl_effort, coulomb_friction)]
    laws += [ScalarLaw(cable_torque, vectors={"coefficients": TERMS}), ScalarLaw(slip_rate, vectors=TWISTS)]
    try:
        loaded = library("\n".join([c_laws(*laws), f"#define TERMS {TERMS}", SOURCE.read_text()]), EXACT)
    except TrocarError as error:
        if choice == "1":
            raise
        logging.getLogger("trocar").info("forces are computed by NumPy, which is slower: %s", error)
        return None
    return ctypes.PyDLL(loaded._name)  # keeps the interpreter's lock, which takes longer to release than the loops


@cache
def _structures() -> dict[str, list[str]]:
    """Names of the fields of all structures of step_forces.c, in order."""
    structures = re.findall(r"typedef struct \{([^}]*)\} (\w+);", SOURCE.read_text())
    return {name: re.findall(r"(\w+)(?=[,;])", body) for body, name in structures}


def _words(value: Any) -> bytes:
    """A field as it is in the structure; all are as long as an address."""
    if isinstance(value, Bound):
        return _words(ctypes.addressof(value.words))
    if isinstance(value, tuple):
        return b"".join(map(_words, value))
    if isinstance(value, float):
        return struct.pack("d", value)
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        assert value.itemsize == struct.calcsize("q"), value.dtype
        value = value.ctypes.data
    return struct.pack("q", value or 0)
