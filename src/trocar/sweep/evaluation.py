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
from trocar.sweep.study import Loader
from trocar.sweep.table import ERROR, ROW, Columns, size

FINGERPRINT = b"trocar.sweep"  # key of the sweep's fingerprint in the metadata of a partition
MAX_ERROR = 2000  # characters
POLL_INTERVAL = 0.2  # between checks that the parent process still runs [s]


@dataclass(frozen=True)
class Job:
    """Data shared by the chunks of one sweep.

    Attributes:
        load: returns the study's function. batch: rows per call; None: single values.
        fingerprint: fingerprint of the sweep, stored in its partitions.
        version: version of trocar on the machine that started the sweep. parent: process that started it.
    """

    load: Loader
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
        return self.start + len(self)

    def __len__(self) -> int:
        return size(self.columns)


@dataclass(frozen=True)
class Evaluated:
    """A chunk's results as the content of a Parquet file, with the number of failed rows and the elapsed time [s]."""

    content: bytes
    errors: int
    seconds: float


Outcome = dict[str, Any] | str  # results of a row, or its error
_functions: dict[str, Callable[..., Any]] = {}  # loaded in this process, by the sweep's fingerprint


def evaluate_in_worker(job: Job, chunk: Chunk) -> Evaluated:
    """Evaluate a chunk in a worker process, which loads the function once, so that it can keep data between calls."""
    if job.fingerprint not in _functions:
        if trocar.__version__ != job.version:
            versions = f"a worker has trocar {trocar.__version__}, the sweep was started with {job.version}"
            raise TrocarError(f"{versions}; install the same one")
        if os.getppid() == job.parent:
            threading.Thread(target=_end_with, args=(job.parent,), daemon=True).start()
        try:
            _functions[job.fingerprint] = job.load()
        except TrocarError:
            raise
        except Exception as error:
            raise TrocarError(f"the study cannot be loaded in a worker process: {_error(error)}") from error
    return evaluate(_functions[job.fingerprint], job, chunk)


def _end_with(parent: int) -> None:
    """End this worker process when its parent has ended for any reason, in the middle of a row too."""
    while os.getppid() == parent:
        time.sleep(POLL_INTERVAL)
    os._exit(1)


def evaluate(function: Callable[..., Any], job: Job, chunk: Chunk) -> Evaluated:
    """Run the rows of a chunk. An exception of the function becomes the error of its row only."""
    begin, columns = time.perf_counter(), chunk.columns
    outcomes: list[Outcome] = []
    if job.batch is None:
        for values in zip(*(column.tolist() for column in columns.values()), strict=True):
            outcomes += _called(function, dict(zip(columns, values, strict=True)))
    else:
        for start in range(0, len(chunk), job.batch):
            part = {name: column[start : start + job.batch] for name, column in columns.items()}
            outcomes += _called(function, part, size(part))
    seconds = time.perf_counter() - begin
    return Evaluated(_encoded(job.fingerprint, chunk, outcomes), sum(isinstance(x, str) for x in outcomes), seconds)


def _called(function: Callable[..., Any], arguments: Mapping[str, Any], rows: int | None = None) -> list[Outcome]:
    """Outcomes of one call. If a call with several rows raises, they are run one by one to find the failing one.

    rows: number of rows, with columns as arguments and results; None: one row of single values.
    """
    try:
        result = function(**arguments)
        if not isinstance(result, Mapping) or (rows and not result):
            content = "columns" if rows else "results"
            raise TrocarError(f"a study must return a dictionary of {content}, got {shown(result)}")
        if rows is None:
            return [_plain(result)]
        columns = {name: np.asarray(column) for name, column in result.items()}
        for name, column in columns.items():
            if column.ndim == 0 or len(column) != rows:
                raise TrocarError(f"the result {name!r} must have {rows} rows, got {shown(column)}")
        values = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [_plain(dict(zip(columns, row, strict=True))) for row in values]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # including SystemExit: a study must not end the sweep
        if rows is None or rows == 1:
            return [_error(error)]
    parts = ({name: column[k : k + 1] for name, column in arguments.items()} for k in range(rows))
    return [outcome for part in parts for outcome in _called(function, part, 1)]


def _plain(result: Mapping[Any, Any]) -> dict[str, Any]:
    """The results of one row as plain Python values."""
    row = {}
    for name, value in result.items():
        if not isinstance(name, str) or not name:
            raise TrocarError(f"the name of a result must be text, got {shown(name)}")
        plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        if isinstance(plain, tuple):
            plain = list(plain)
        if not all(isinstance(x, int | float | str | None) for x in (plain if isinstance(plain, list) else [plain])):
            raise TrocarError(f"the result {name!r} must be a number, flag, text or 1-D array, got {shown(value)}")
        row[name] = plain
    return row


def _encoded(fingerprint: str, chunk: Chunk, outcomes: Sequence[Outcome]) -> bytes:
    """Content of a Parquet file: row numbers, parameters, results and errors."""
    arrow = optional("pyarrow")
    columns: dict[str, Any] = {ROW: np.arange(chunk.start, chunk.stop)}
    columns |= {name: column.tolist() if column.dtype.kind == "U" else column for name, column in chunk.columns.items()}
    for name in dict.fromkeys(name for row in outcomes if isinstance(row, dict) for name in row):
        if name in columns or name == ERROR:
            raise TrocarError(f"the study returns {name!r}, which is a parameter or a reserved name; rename the result")
        values = [row.get(name) if isinstance(row, dict) else None for row in outcomes]
        try:
            columns[name] = arrow.array(values)
        except (arrow.ArrowException, OverflowError):
            types = shown(sorted({type(value).__name__ for value in values if value is not None}))
            allowed = "must have one type, a number, flag, text or 1-D array"
            raise TrocarError(f"the study's result {name!r} {allowed}, got {types}") from None
    columns[ERROR] = arrow.array([row if isinstance(row, str) else None for row in outcomes], arrow.string())
    table = arrow.table(columns).replace_schema_metadata({FINGERPRINT: fingerprint.encode()})
    buffer = io.BytesIO()
    optional("pyarrow.parquet").write_table(table, buffer)
    return buffer.getvalue()


def _error(error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # a message that cannot be formatted
        text = type(error).__name__
    return text.encode(errors="replace").decode()[:MAX_ERROR]
