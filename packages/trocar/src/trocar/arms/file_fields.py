"""Reading the fields of a TOML file, with errors that name the file and the field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trocar.errors import TrocarError, check_known, shown
from trocar.spatial import ROTATION_TOLERANCE, Array

# Largest plausible number of an arm or a scene, in SI units; a larger one has a wrong unit or exponent.
MAX_NUMBER = 1e6
MIN_MASS, MAX_MASS = 1e-9, 1e4  # [kg]
MAX_LENGTH = 100.0  # [m], and [rad] for angles listed among lengths

_MISSING: Any = object()


class Fields:
    """The fields of one file. Each is checked when it is read; `check_all_read` then reports misspelt ones.

    Attributes:
        path: the file, and the table in it. name: name of the file, without its suffix.
    """

    def __init__(self, table: Mapping[str, Any], path: str) -> None:
        self._table, self.path = table, path
        self._read: list[str] = []
        self.name = Path(path).name.removesuffix(".toml")

    def check_all_read(self) -> None:
        check_known(f"{self.path}: field", self._read, *self._table)

    def check_known(self, known: Sequence[str]) -> None:
        """Raise an error that names the first field that is not among the known ones."""
        check_known(f"{self.path}: field", known, *self._table)

    def number(
        self, key: str, default: float = _MISSING, *, least: float = -np.inf, most: float = MAX_NUMBER, unit: str = ""
    ) -> float:
        value = float(self._array(key, (), default, most, unit))
        if value < least:
            raise self._error(key, f"must be at least {least:g}{_in(unit)}, got {value:g}")
        return value

    def positive(self, key: str, default: float = _MISSING, *, most: float = MAX_NUMBER, unit: str = "") -> float:
        value = self.number(key, default, most=most, unit=unit)
        if value <= 0:
            raise self._error(key, f"must be positive{_in(unit)}, got {value:g}")
        return value

    def vector(
        self, key: str, size: int, default: Sequence[float] = _MISSING, *, most: float = MAX_NUMBER, unit: str = ""
    ) -> Array:
        return self._array(key, (size,), default, most, unit)

    def table(self, key: str) -> Fields:
        """The fields of the table [key]."""
        value = self._get(key)
        if not isinstance(value, dict):
            raise self._error(key, f"must be a table [{key}], got {shown(value)}")
        return Fields(value, f"{self.path}: {key}")

    def tables(self, key: str) -> dict[str, Fields]:
        """The fields of the tables [key.NAME], by name; empty if there is no `key`."""
        entries = self._get(key, {})
        if not isinstance(entries, dict):
            raise self._error(key, f"must hold tables [{key}.NAME], got {shown(entries)}")
        for name, entry in entries.items():
            if not isinstance(entry, dict):
                raise TrocarError(f"{self.path}: {key}.{name} must be a table [{key}.{name}], got {shown(entry)}")
        return {name: Fields(entry, f"{self.path}: {key}.{name}") for name, entry in entries.items()}

    def __iter__(self) -> Iterator[str]:
        """Names of the fields in the table."""
        return iter(self._table)

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def rows(self, key: str, sizes: Sequence[int], expected: str, *, most: float = MAX_NUMBER) -> list[list[float]]:
        """A list of lists of numbers, each as long as one of `sizes`; empty if there is no `key`."""
        rows = self._get(key, [])
        if not (isinstance(rows, list) and all(isinstance(row, list) and len(row) in sizes for row in rows)):
            raise self._error(key, f"must be a list of {expected}, got {shown(rows)}")
        return [Fields({key: row}, self.path).vector(key, len(row), most=most).tolist() for row in rows]

    def numbers_by_name(self, key: str, expected: str) -> dict[str, float]:
        """A table of numbers."""
        entries = self._get(key)
        if not (isinstance(entries, dict) and entries):
            raise self._error(key, f"must hold {expected}, got {shown(entries)}")
        inner = Fields(entries, f"{self.path}.{key}")
        return {name: inner.number(name) for name in entries}

    def numbers(self, key: str) -> tuple[float, ...]:
        value = self._get(key)
        if not (isinstance(value, list) and value):
            raise self._error(key, f"must be a list of numbers, got {shown(value)}")
        return tuple(self._array(key, (len(value),)).tolist())

    def rotation(self, key: str) -> Array:
        R = self._array(key, (3, 3))
        off = np.abs(R @ R.T - np.eye(3)).max()
        if off > ROTATION_TOLERANCE or np.linalg.det(R) < 0:
            what = "mirrors" if off <= ROTATION_TOLERANCE else f"differs from orthonormal by {off:.2g}"
            raise self._error(key, f"must be a rotation; this matrix {what} (write sqrt(1/2) with all its digits)")
        return R

    def array(self, key: str, shape: tuple[int, ...]) -> Array:
        """Numbers, nested as in an array of this shape."""
        return self._array(key, shape)

    def invertible(self, key: str, size: int) -> Array:
        C = self._array(key, (size, size))
        if np.linalg.cond(C) > 1e6:
            raise self._error(key, "is singular: some motor motion would move no joint")
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
            raise self._error(key, f"must be true or false, got {shown(value)}")
        return value

    def text(self, key: str) -> str:
        value = self._get(key)
        if not (isinstance(value, str) and value.strip()):
            raise self._error(key, f"must be a non-empty string, got {shown(value)}")
        return value

    def is_text(self, key: str) -> bool:
        return isinstance(self._table.get(key), str)

    def choice(self, key: str, known: Sequence[str], default: str) -> str:
        value = self._get(key, default)
        check_known(f"{self.path}: '{key}':", known, value)
        return str(value)

    def some_of(self, key: str, known: Sequence[str]) -> tuple[str, ...]:
        words = self.words(key, _MISSING)
        if not words:
            raise self._error(key, f"must name at least one of {', '.join(known)}")
        check_known(f"{self.path}: '{key}':", known, *words)
        return words

    def words(self, key: str, default: Sequence[str] = ()) -> tuple[str, ...]:
        value = self._get(key, default)
        if not (isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)):
            raise self._error(key, f"must be a list of strings, got {shown(value)}")
        return tuple(value)

    def _nested(self, key: str, allowed: Sequence[str]) -> Fields:
        value = self._get(key)
        if not isinstance(value, dict):
            raise self._error(key, f"must be {{ {', '.join(allowed)} }}, got {shown(value)}")
        check_known(f"{self.path}: field of '{key}'", allowed, *value)
        return Fields(value, f"{self.path}: '{key}'")

    def _array(
        self, key: str, shape: tuple[int, ...], default: Any = _MISSING, most: float = MAX_NUMBER, unit: str = ""
    ) -> Array:
        value = self._get(key, default)
        size = " x ".join(map(str, shape))
        expected = f"{size} finite numbers" if shape else "a finite number"
        flat = np.array(value, dtype=object).ravel() if _even(value) else [None]
        plain = all(isinstance(x, int | float) and not isinstance(x, bool) for x in flat)
        try:
            array = np.array(value if plain else np.nan, dtype=float)
        except OverflowError:  # an integer of hundreds of digits
            array = np.full(len(flat), np.inf)
        if array.shape != shape or not np.isfinite(array).all():
            raise self._error(key, f"must be {expected}, got {shown(value)}")
        if np.abs(array).max(initial=0.0) > most:
            raise self._error(key, f"must be at most {most:g}{_in(unit)} in magnitude, got {shown(value)}")
        array.setflags(write=False)
        return array

    def _get(self, key: str, default: Any = _MISSING) -> Any:
        self._read.append(key)
        if key in self._table:
            return self._table[key]
        if default is _MISSING:
            raise TrocarError(f"{self.path} has no field '{key}'")
        return default

    def error(self, problem: str) -> TrocarError:
        """An error about the table as a whole."""
        return TrocarError(f"{self.path}: {problem}")

    def _error(self, key: str, problem: str) -> TrocarError:
        return TrocarError(f"{self.path}: '{key}' {problem}")


def _in(unit: str) -> str:
    return f" [{unit}]" if unit else ""


def _even(value: Any) -> bool:
    """True if nested lists have equal lengths, so that they form an array."""
    if not isinstance(value, list | tuple):
        return True
    kinds = {len(v) if isinstance(v, list) else None for v in value}
    return len(kinds) <= 1 and all(_even(v) for v in value)
