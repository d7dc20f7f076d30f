"""Numbers of PyKDL: conversion of arguments, indices, comparison and the printed form."""

from __future__ import annotations

from typing import Any

from trocar.spatial import Array

EPSILON = 1e-6  # PyKDL's tolerance of comparisons


def number(value: Any) -> float:
    """A scalar argument; text is refused."""
    if isinstance(value, str | bytes):
        raise TypeError(f"a number is required, got {value!r}")
    return float(value)


def is_scalar(value: Any) -> bool:
    """True for a factor: a Python or numpy number, not an array."""
    return hasattr(value, "__float__") and not getattr(value, "shape", ())


def checked_index(kind: str, index: Any, size: int) -> int:
    """An index from 0 to size - 1; PyKDL has no negative ones."""
    if not hasattr(index, "__index__"):
        raise TypeError(f"{kind} indices are integers, got {index!r}")
    if not 0 <= index < size:
        raise IndexError(f"{kind} index out of range")
    return int(index)


def checked_pair(kind: str, pair: Any, rows: int, columns: int) -> tuple[int, int]:
    """Row and column of an element."""
    if not (isinstance(pair, tuple) and len(pair) == 2):
        raise TypeError(f"{kind} elements are {kind.lower()}[row, column], got {kind.lower()}[{pair!r}]")
    return checked_index(kind, pair[0], rows), checked_index(kind, pair[1], columns)


def close(a: Array, b: Array, epsilon: float) -> bool:
    """True if all elements differ by less than epsilon."""
    return bool((abs(a - b) < epsilon).all())


def row(values: Array) -> str:
    """Numbers as PyKDL prints them."""
    return ",".join(f"{x:12.6g}" for x in values)
