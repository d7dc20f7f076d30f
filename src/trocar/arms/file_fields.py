"""Reading the fields of a TOML file, with errors that name the file and the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trocar.errors import TrocarError, check_known
from trocar.spatial import ROTATION_TOLERANCE, Array

_MISSING: Any = object()


class Fields:
    """The fields of one file. Each is checked as it is read; `check_all_read` then finds misspelt ones.

    Attributes:
        name: name of the file, without its suffix.
    """

    def __init__(self, table: Mapping[str, Any], path: str) -> None:
        self._table, self._path = table, path
        self._read: list[str] = []
        self.name = Path(path).name.removesuffix(".toml")

    def check_all_read(self) -> None:
        check_known(f"{self._path}: field", self._read, *self._table)

    def number(self, key: str, default: float = _MISSING, *, least: float = -np.inf) -> float:
        value = float(self._array(key, (), default))
        if value < least:
            raise self._error(key, f"must be at least {least:g}, got {value:g}")
        return value

    def vector(self, key: str, size: int, default: Sequence[float] = _MISSING) -> Array:
        return self._array(key, (size,), default)

    def numbers(self, key: str) -> tuple[float, ...]:
        value = self._get(key)
        if not (isinstance(value, list) and value):
            raise self._error(key, f"must be a list of numbers, got {value!r}")
        return tuple(self._array(key, (len(value),)).tolist())

    def rotation(self, key: str) -> Array:
        R = self._array(key, (3, 3))
        off = np.abs(R @ R.T - np.eye(3)).max()
        if off > ROTATION_TOLERANCE or np.linalg.det(R) < 0:
            what = "mirrors" if off <= ROTATION_TOLERANCE else f"differs from orthonormal by {off:.2g}"
            raise self._error(key, f"must be a rotation; this matrix {what} (write sqrt(1/2) with all its digits)")
        return R

    def invertible(self, key: str, size: int) -> Array:
        C = self._array(key, (size, size))
        if np.linalg.cond(C) > 1e6:
            raise self._error(key, "is singular: some motion of the motors would move no joint")
        return C

    def limits(self, key: str) -> dict[str, float]:
        """A joint: { lower, upper, effort } [rad, N m]."""
        joint = self._nested(key, ("lower", "upper", "effort"))
        values = {name: joint.number(name) for name in ("lower", "upper")} | {"effort": joint.number("effort", least=0)}
        if values["lower"] > values["upper"]:
            raise self._error(key, f"has lower {values['lower']:g} > upper {values['upper']:g}")
        return values

    def span(self, key: str, size: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """{ lower, upper }, a vector each."""
        ends = self._nested(key, ("lower", "upper"))
        lower, upper = ends.vector("lower", size), ends.vector("upper", size)
        if (lower > upper).any():
            i = int(np.argmax(lower > upper))
            raise self._error(key, f"has lower {lower[i]:g} > upper {upper[i]:g} at entry {i + 1}")
        return tuple(lower.tolist()), tuple(upper.tolist())

    def flag(self, key: str, default: bool) -> bool:
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self._error(key, f"must be true or false, got {value!r}")
        return value

    def text(self, key: str) -> str:
        value = self._get(key)
        if not (isinstance(value, str) and value.strip()):
            raise self._error(key, f"must be a text that is not empty, got {value!r}")
        return value

    def choice(self, key: str, known: Sequence[str], default: str) -> str:
        value = self._get(key, default)
        check_known(f"{self._path}: '{key}':", known, value)
        return str(value)

    def some_of(self, key: str, known: Sequence[str]) -> tuple[str, ...]:
        words = self.words(key, _MISSING)
        if not words:
            raise self._error(key, f"must name at least one of {', '.join(known)}")
        check_known(f"{self._path}: '{key}':", known, *words)
        return words

    def words(self, key: str, default: Sequence[str] = ()) -> tuple[str, ...]:
        value = self._get(key, default)
        if not (isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)):
            raise self._error(key, f"must be a list of texts, got {value!r}")
        return tuple(value)

    def _nested(self, key: str, allowed: Sequence[str]) -> Fields:
        value = self._get(key)
        if not isinstance(value, dict):
            raise self._error(key, f"must be {{ {', '.join(allowed)} }}, got {value!r}")
        check_known(f"{self._path}: field of '{key}'", allowed, *value)
        return Fields(value, f"{self._path}: '{key}'")

    def _array(self, key: str, shape: tuple[int, ...], default: Any = _MISSING) -> Array:
        value = self._get(key, default)
        size = " x ".join(map(str, shape))
        expected = f"{size} finite numbers" if shape else "a finite number"
        flat = np.array(value, dtype=object).ravel() if _even(value) else [None]
        plain = all(isinstance(x, int | float) and not isinstance(x, bool) for x in flat)
        array = np.array(value if plain else np.nan, dtype=float)
        if array.shape != shape or not np.isfinite(array).all():
            raise self._error(key, f"must be {expected}, got {value!r}")
        array.setflags(write=False)
        return array

    def _get(self, key: str, default: Any = _MISSING) -> Any:
        self._read.append(key)
        if key in self._table:
            return self._table[key]
        if default is _MISSING:
            raise TrocarError(f"{self._path} has no field '{key}'")
        return default

    def _error(self, key: str, problem: str) -> TrocarError:
        return TrocarError(f"{self._path}: '{key}' {problem}")


def _even(value: Any) -> bool:
    """True if nested lists are as long as each other, so that they make an array."""
    if not isinstance(value, list | tuple):
        return True
    kinds = {len(v) if isinstance(v, list) else None for v in value}
    return len(kinds) <= 1 and all(_even(v) for v in value)
