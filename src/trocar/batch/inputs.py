"""Efforts and references in the form that the generated code takes: all rows in one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trocar.errors import TrocarError


def held_inputs(backend: Any, values: Sequence[Any], n: int, batch: tuple[int, ...]) -> Any:
    """Rows (I,), or (I, N) if one of the arrays (n,) or (n, N) has a value for each arm; None is zero."""
    np = backend.arrays
    arrays = [np.zeros(n, backend.dtype) if x is None else backend.array(x) for x in values]
    return _joined(backend, arrays, (n,), batch, "")


def inputs_over_time(backend: Any, values: Sequence[Any], n: int, batch: tuple[int, ...]) -> Any:
    """Rows (T, I) or (T, I, N) of arrays (T, n) or (T, n, N); None is zero."""
    lengths = {len(x) for x in values if x is not None and hasattr(x, "__len__")}
    if len(lengths) != 1 or not all(lengths):
        got = ", ".join(map(str, sorted(lengths))) or "none"
        raise TrocarError(
            f"efforts and references must share a number of steps T, (T, {n}) or (T, {n}, N), got {got}; "
            "pass steps= to hold them constant"
        )
    (steps,) = lengths
    np = backend.arrays
    arrays = [np.zeros((steps, n), backend.dtype) if x is None else backend.array(x) for x in values]
    return _joined(backend, arrays, (steps, n), batch, "; pass steps= to hold them constant")


def _joined(backend: Any, arrays: list[Any], shared: tuple[int, ...], batch: tuple[int, ...], remedy: str) -> Any:
    np, each = backend.arrays, (*shared, *batch)
    for x in arrays:
        if x.shape not in (shared, each):
            other = f" or {each}" if batch else ""
            raise TrocarError(f"efforts and references must have shape {shared}{other}, got {x.shape}{remedy}")
    if any(x.shape == each for x in arrays) and batch:
        arrays = [x if x.shape == each else np.broadcast_to(x[..., None], each) for x in arrays]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=len(shared) - 1)
