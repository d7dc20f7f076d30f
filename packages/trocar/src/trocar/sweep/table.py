"""Tables of parameters: one row per simulation of a sweep. Also imports the optional packages of sweeps."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trocar.errors import TrocarError, check_type, shown, suggestion
from trocar.sweep.packages import optional

ROW, ERROR = "row", "error"  # columns of every result: row number, and error or null
SEED = "seed"
FINGERPRINT = b"trocar.sweep"  # key of the sweep's fingerprint in the metadata of a partition
MAX_ROWS = 10_000_000  # of a table
MAX_FILE = 2 * 2**30  # size of the file of a table [bytes]

Columns = dict[str, np.ndarray]


def grid(repeats: int = 1, **values: Iterable[Any]) -> Columns:
    """Table of all combinations of the given values; the last name varies fastest. Each combination is repeated."""
    if not isinstance(repeats, int) or repeats < 1:
        raise TrocarError(f"repeats must be an integer of 1 or more, got {shown(repeats)}")
    if not values:
        raise TrocarError("a grid requires at least one parameter: grid(kp=[10, 20], kd=[1, 2])")
    axes = {}
    for name, axis in values.items():
        try:
            axes[name] = _column(name, list(axis))
        except TypeError:
            raise _not_a_column(name, axis) from None
    shape = [len(axis) for axis in axes.values()]
    _check_size(math.prod(shape) * repeats)
    indices = np.repeat(np.indices(shape).reshape(len(axes), -1), repeats, axis=1)
    return {name: axis[indices[k]] for k, (name, axis) in enumerate(axes.items())}


def as_table(table: Any) -> Columns:
    """Columns (N,) of numbers, flags or text, from a dictionary of columns, a list of rows, pyarrow or pandas."""
    if hasattr(table, "to_pydict"):
        table = table.to_pydict()
    elif hasattr(table, "to_dict") and hasattr(table, "columns"):
        table = table.to_dict("list")
    elif isinstance(table, list | tuple):
        table = _transposed(table)
    check_type("table", table, Mapping, "a dictionary of columns, a list of rows, or a pyarrow or pandas table")
    columns = {name: _column(name, values) for name, values in table.items()}
    if not columns:
        raise TrocarError("the table has no columns")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise TrocarError(f"the columns of the table must have the same length, got {shown(lengths)}")
    _check_size(next(iter(lengths.values())))
    return columns


def read_table(path: str | Path) -> Columns:
    """Table of parameters from a CSV file with a header, or a Parquet file."""
    check_type("table", path, (str, Path), "a file NAME.csv or NAME.parquet")
    path = Path(path)
    if path.suffix not in (".csv", ".parquet"):
        raise TrocarError(f"a table must be a file NAME.csv or NAME.parquet, got {path}")
    if not path.is_file():
        raise TrocarError(f"the table {path} {'is a folder' if path.is_dir() else 'does not exist'}; name a file")
    if path.stat().st_size > MAX_FILE:
        raise TrocarError(f"the table {path} is larger than 2 GB; split it")
    arrow = optional("pyarrow")
    try:
        if path.suffix == ".csv":
            table = optional("pyarrow.csv").read_csv(path)
        else:
            table = optional("pyarrow.parquet").ParquetFile(path).read()
        names = table.column_names
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise TrocarError(f"the table {path} cannot be read: {error}") from None
    if len(set(names)) < len(names):
        raise TrocarError(f"the table {path} has two columns with the same name: {shown(names)}")
    try:
        return as_table(table)
    except UnicodeDecodeError as error:
        raise TrocarError(f"the table {path} has text that is not UTF-8: {error}") from None
    except TrocarError as error:
        raise TrocarError(f"{path}: {error}") from None


def size(columns: Mapping[str, np.ndarray]) -> int:
    """Number of rows."""
    return len(next(iter(columns.values())))


def fingerprint(columns: Mapping[str, np.ndarray]) -> str:
    """Hash of the names, types and values of a table."""
    digest = hashlib.sha256()
    for name, column in columns.items():
        digest.update(json.dumps([name, column.dtype.kind, len(column)]).encode())
        digest.update(json.dumps(column.tolist()).encode() if column.dtype.kind == "U" else column.tobytes())
    return digest.hexdigest()


def matched(columns: Columns, function: Callable[..., Any], seed: int) -> Columns:
    """The table for a function, with a column `seed` if the function takes one that the table lacks.

    Raises an error unless the columns match the arguments of the function.
    """
    try:
        arguments = inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C
        return columns
    kinds = {argument.kind for argument in arguments.values()}
    if inspect.Parameter.VAR_POSITIONAL in kinds or inspect.Parameter.POSITIONAL_ONLY in kinds:
        forms = "by name, without *args or positional-only ones"
        raise TrocarError(f"the function of a sweep must take its parameters {forms}")
    if SEED in arguments and SEED not in columns:
        seeds = np.random.SeedSequence(seed).generate_state(size(columns), np.uint64)
        columns = columns | {SEED: (seeds >> np.uint64(1)).astype(np.int64)}
    named = [name for name, a in arguments.items() if a.kind is not inspect.Parameter.VAR_KEYWORD]
    for name in columns if inspect.Parameter.VAR_KEYWORD not in kinds else ():
        if name not in named:
            raise TrocarError(f"the table has a parameter that the study does not take: {suggestion(name, named)}")
    missing = [name for name in named if name not in columns and arguments[name].default is inspect.Parameter.empty]
    if missing:
        raise TrocarError(f"the study requires the parameter {', '.join(missing)}, which the table lacks")
    return columns


def _transposed(rows: list[Any] | tuple[Any, ...]) -> dict[str, list[Any]]:
    for number, row in enumerate(rows):
        check_type("a row of the table", row, Mapping, "a dictionary by parameter")
        if set(row) != set(rows[0]):
            names = shown(list(row)), shown(list(rows[0]))
            raise TrocarError(f"row {number} of the table has the parameters {names[0]}, row 0 {names[1]}")
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def _column(name: object, values: Any) -> np.ndarray:
    if not isinstance(name, str) or not name.isidentifier():
        raise TrocarError(f"the name of a parameter must be a valid Python name, got {shown(name)}")
    if name in (ROW, ERROR):
        raise TrocarError(f"{name!r} is a column of the results and cannot be a parameter")
    try:
        column = np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        column = np.empty(())
    if column.ndim != 1:
        raise _not_a_column(name, values)
    if column.dtype.kind in "iu" and (not column.size or column.max() < 2**63):
        return np.ascontiguousarray(column, np.int64)
    if column.dtype.kind == "f":
        return np.ascontiguousarray(column, np.float64)
    if column.dtype.kind == "b":
        return column
    texts = list(values)  # from the list, because an array would convert numbers to text
    if column.dtype.kind in "UOT" and all(isinstance(text, str) for text in texts):
        joined = "".join(texts)
        if "\0" in joined or joined.encode(errors="ignore").decode() != joined:
            raise TrocarError(f"the parameter {name!r} has text that is not valid UTF-8")
        return np.asarray(texts, dtype=np.str_)
    raise _not_a_column(name, values)


def _not_a_column(name: str, values: Any) -> TrocarError:
    return TrocarError(f"the parameter {name!r} must be a list of numbers, flags or text, got {shown(values)}")


def _check_size(rows: int) -> None:
    if not 1 <= rows <= MAX_ROWS:
        raise TrocarError(f"a table has 1 to {MAX_ROWS:,} rows, got {rows:,}")
