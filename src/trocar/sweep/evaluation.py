"""Evaluation of a chunk of rows in any process: results and errors, encoded as a Parquet file."""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import trocar
from trocar.errors import TrocarError, shown
from trocar.sweep.extras import optional
from trocar.sweep.study import Code
from trocar.sweep.table import ERROR, ROW, Columns, size

FINGERPRINT = b"trocar.sweep"  # key of the sweep's fingerprint in the metadata of a partition
MAX_ERROR = 2000  # characters


@dataclass(frozen=True)
class Job:
    """Data shared by the chunks of one sweep.

    Attributes:
        code: code of the study's function; in the process that defined it, the function itself.
        fingerprint: fingerprint of the sweep, stored in its partitions.
        batch: rows per call; None: single values.
        version: version of trocar on the machine that started the sweep.
        parent: process that started the sweep.
    """

    code: Code | Callable[..., Any]
    batch: int | None
    fingerprint: str
    version: str
    parent: int = field(default_factory=os.getpid)


@dataclass(frozen=True)
class Chunk:
    """Rows from `start` on, with their parameters."""

    start: int
    columns: Columns

    @property
    def stop(self) -> int:
        return self.start + size(self.columns)

    def __len__(self) -> int:
        return size(self.columns)


@dataclass(frozen=True)
class Evaluated:
    """A chunk's results as the content of a Parquet file, with the number of failed rows and the elapsed time [s]."""

    content: bytes
    errors: int
    seconds: float


_functions: dict[str, Callable[..., Any]] = {}  # loaded in this process, by the sweep's fingerprint


def evaluate(job: Job, chunk: Chunk) -> Evaluated:
    """Run the rows of a chunk. An exception of the function becomes the error of its row only."""
    if trocar.__version__ != job.version:
        raise TrocarError(
            f"a worker has trocar {trocar.__version__}, the sweep was started with {job.version}; install the same one"
        )
    function = _function(job)
    begin = time.perf_counter()
    if job.batch is None:
        results, errors = _single(function, chunk.columns)
    else:
        results, errors = _batched(function, chunk.columns, job.batch)
    seconds = time.perf_counter() - begin
    return Evaluated(encoded(job.fingerprint, chunk, results, errors), sum(e is not None for e in errors), seconds)


def _function(job: Job) -> Callable[..., Any]:
    """The study's function, loaded once per process, so it can keep data between calls."""
    if not isinstance(job.code, Code):
        return job.code
    if job.fingerprint not in _functions:
        if os.getppid() == job.parent:
            threading.Thread(target=_end_with, args=(job.parent,), daemon=True).start()
        try:
            _functions[job.fingerprint] = job.code.load()
        except TrocarError:
            raise
        except Exception as error:
            raise TrocarError(f"the study cannot be loaded in a worker process: {_error(error)}") from error
    return _functions[job.fingerprint]


def _end_with(parent: int) -> None:
    """End this worker process when its parent has ended for any reason, in the middle of a row too."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def encoded(
    fingerprint: str, chunk: Chunk, results: Mapping[str, Sequence[Any]], errors: Sequence[str | None]
) -> bytes:
    """Content of a Parquet file: row numbers, parameters, results and errors."""
    arrow = optional("pyarrow")
    for name in results:
        if name in (ROW, ERROR) or name in chunk.columns:
            raise TrocarError(f"the study returns {name!r}, which is a parameter or a reserved name; rename the result")
    columns: dict[str, Any] = {ROW: np.arange(chunk.start, chunk.stop)}
    columns |= {name: column.tolist() if column.dtype.kind == "U" else column for name, column in chunk.columns.items()}
    columns |= {name: _arrow_column(arrow, name, values) for name, values in results.items()}
    columns[ERROR] = arrow.array(errors, arrow.string())
    table = arrow.table(columns).replace_schema_metadata({FINGERPRINT: fingerprint.encode()})
    buffer = io.BytesIO()
    optional("pyarrow.parquet").write_table(table, buffer)
    return buffer.getvalue()


def _arrow_column(arrow: Any, name: str, values: Sequence[Any]) -> Any:
    try:
        return arrow.array(values)
    except (arrow.ArrowException, OverflowError):
        kinds = sorted({type(value).__name__ for value in values if value is not None})
        raise TrocarError(
            f"the study's result {name!r} must have one type, a number, flag, text or 1-D array, got {shown(kinds)}"
        ) from None


def _single(function: Callable[..., Any], columns: Columns) -> tuple[dict[str, list[Any]], list[str | None]]:
    rows: list[dict[str, Any] | None] = []
    errors: list[str | None] = []
    lists = {name: column.tolist() for name, column in columns.items()}
    for k in range(size(columns)):
        try:
            rows.append(_row(function(**{name: values[k] for name, values in lists.items()})))
            errors.append(None)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # including SystemExit: a study must not end the sweep
            rows.append(None)
            errors.append(_error(error))
    names = list(dict.fromkeys(name for row in rows if row is not None for name in row))
    return {name: [None if row is None else row.get(name) for row in rows] for name in names}, errors


def _row(result: Any) -> dict[str, Any]:
    """A result with plain Python values."""
    if not isinstance(result, Mapping):
        raise TrocarError(f"a study must return a dictionary of results, got {shown(result)}")
    row = {}
    for name, value in result.items():
        if not isinstance(name, str) or not name:
            raise TrocarError(f"the name of a result must be text, got {shown(name)}")
        plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        if isinstance(plain, tuple):
            plain = list(plain)
        flat = plain if isinstance(plain, list) else [plain]
        if not all(isinstance(x, int | float | str | None) for x in flat):
            raise TrocarError(f"the result {name!r} must be a number, flag, text or 1-D array, got {shown(value)}")
        row[name] = plain
    return row


def _batched(
    function: Callable[..., Any], columns: Columns, batch: int
) -> tuple[dict[str, list[Any]], list[str | None]]:
    """Run calls of `batch` rows each. If one raises, its rows are run one by one to find the failing row."""
    parts: list[dict[str, list[Any]]] = []
    errors: list[str | None] = []
    for start in range(0, size(columns), batch):
        part = {name: column[start : start + batch] for name, column in columns.items()}
        count = size(part)
        whole = _columns_or_error(function, part)
        if isinstance(whole, dict):
            parts.append(whole)
            errors += [None] * count
            continue
        for k in range(count):
            one = _columns_or_error(function, {n: c[k : k + 1] for n, c in part.items()}) if count > 1 else whole
            parts.append(one if isinstance(one, dict) else {})
            errors.append(None if isinstance(one, dict) else one)
    names = list(dict.fromkeys(name for result in parts for name in result))
    results: dict[str, list[Any]] = {name: [] for name in names}
    done = 0
    for result in parts:
        count = len(next(iter(result.values()))) if result else 1
        done += count
        for name in names:
            results[name] += result.get(name, [None] * count)
    assert done == len(errors)
    return results, errors


def _columns_or_error(function: Callable[..., Any], columns: Columns) -> dict[str, list[Any]] | str:
    """Result columns of one call, or the error that it raised."""
    count = size(columns)
    try:
        result = function(**columns)
        if not isinstance(result, Mapping) or not result:
            raise TrocarError(f"a study with BATCH must return a dictionary of columns, got {shown(result)}")
        arrays = {name: np.asarray(column) for name, column in result.items()}
        for name, column in arrays.items():
            if column.ndim not in (1, 2) or len(column) != count or column.dtype.kind not in "biufU":
                raise TrocarError(f"the result {name!r} must have {count} rows of numbers or text, got {shown(column)}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return _error(error)
    return {name: column.tolist() for name, column in arrays.items()}


def _error(error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # a message that cannot be formatted
        text = type(error).__name__
    return text.encode(errors="replace").decode()[:MAX_ERROR]
