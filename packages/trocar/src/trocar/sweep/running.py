"""The loop of a sweep for every executor: chunks of rows, written as soon as they are evaluated."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trocar
from trocar.errors import TrocarError, check_type, shown
from trocar.files import write_whole
from trocar.sweep import results as folders
from trocar.sweep.executors import Chunk, Evaluated, Job, check_executor, evaluated, load_executor
from trocar.sweep.results import Manifest, Range, Results, unify
from trocar.sweep.study import Study, function_study, load_study
from trocar.sweep.table import Columns, as_table, fingerprint, matched, size

MIN_TIME, MAX_TIME = 0.5, 10.0  # duration of a chunk [s]
SHARES = 20  # remaining chunks per worker to aim for, unless chunks become shorter than MIN_TIME
MAX_CHUNK = 20_000  # rows; bounds the memory
MAX_GROWTH = 16  # from one chunk to the next; the first is a single call


@dataclass(frozen=True)
class Progress:
    """State of a running sweep: rows done, total rows, failed rows of this run, and estimated time left [s]."""

    done: int
    rows: int
    errors: int
    seconds_left: float


def run(
    study: str | Path | Study | Callable[..., Any],
    table: Any = None,
    output: str | Path = "sweep",
    *,
    executor: str = "serial",
    workers: int | None = None,
    address: str | None = None,
    resume: bool = False,
    rows: int | None = None,
    seed: int = 0,
    batch: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Results:
    """Run a study over its table and return the results, which are stored in the folder `output`.

    If the function raises, the column `error` of that row contains the exception. If a worker process is lost, the
    sweep ends with an error; the finished rows are kept, and `resume` continues with the others. Ray itself runs the
    rows of a lost worker or node again.

    Args:
        study: a function with the parameters as arguments, or the name or file of a study (see `load_study`).
        table: the parameters, one row per call: a dictionary of columns, a list of rows, a pyarrow or pandas
            table (see also `grid`). If the function has an argument `seed` that the table lacks, each row gets a seed.
            Default: the table of the study, with about `rows` rows.
        executor: "serial", "processes" or "ray". All give the same rows.
        workers: number of workers. Default: one per core. address: address of a Ray cluster. Default: this machine.
        resume: continue an interrupted sweep in the same folder.
        seed: seed of the table and of the rows' seeds.
        batch: for a function: call it with columns of this many rows.
        progress: function called after every chunk.
    """
    if not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise TrocarError(f"seed must be an integer of 0 or more, got {shown(seed)}")
    if rows is not None and (not isinstance(rows, int) or rows < 1):
        raise TrocarError(f"rows must be an integer of 1 or more, got {shown(rows)}")
    check_type("output", output, (str, Path), "a folder")
    check_type("resume", resume, bool, "True or False")
    check_executor(executor, workers, address)
    if not isinstance(study, str | Path | Study):
        chosen = function_study(study, batch)
    elif batch is not None:
        raise TrocarError("batch applies to functions only; a study defines BATCH")
    else:
        chosen = study if isinstance(study, Study) else load_study(study)
    if table is None and chosen.module is None:
        raise TrocarError("a sweep of a function requires a table: sweep(function, {'kp': [10, 20]}, 'results')")
    columns = matched(as_table(chosen.table(rows, seed) if table is None else table), chosen.run, seed)
    code: Any = {"trocar": trocar.__version__, "study": chosen.name, "source": chosen.source}
    parameters: Any = {"rows": size(columns), "table": fingerprint(columns), "parameters": tuple(columns)}
    manifest = Manifest(**code, **parameters, batch=chosen.batch or 0)
    place = Path(output)
    folders.check_place(place, resume)
    loader = (lambda: chosen.run) if executor == "serial" else chosen.shippable()
    job = Job(loader, chosen.batch, manifest.fingerprint, manifest.trocar)
    with folders.locked(place):
        if pending := folders.missing(folders.begin(place, manifest, resume), manifest.rows):
            with load_executor(executor, job, workers, address) as (count, submit):
                chunks = Chunks(columns, pending, manifest.step, count)
                for chunk, outcome in evaluated(submit, chunks, 1 if executor == "serial" else 2 * count):
                    name = f"part-{chunk.start:09d}-{chunk.stop:09d}.parquet"
                    write_whole(place / folders.ROWS / name, outcome.content)
                    state = chunks.finished(chunk, outcome)
                    if progress is not None:
                        progress(state)
        unify(place)
    return Results(place)


class Chunks:
    """Pending rows in chunks that begin at multiples of `step`; their size follows from the speed of finished ones."""

    def __init__(self, columns: Columns, ranges: list[Range], step: int, workers: int) -> None:
        self._columns, self._ranges, self._step, self._workers = columns, deque(ranges), step, workers
        self._left = self._pending = sum(stop - start for start, stop in ranges)  # rows not handed out, not finished
        self._first, self._errors, self._begin = self._pending, 0, time.monotonic()
        self._last, self.seconds_per_row = 0, math.inf

    def __iter__(self) -> Iterator[Chunk]:
        while self._ranges:
            start, stop = self._ranges.popleft()
            end = min(stop, start + max(1, round(self.rows() / self._step)) * self._step)
            if end < stop:
                self._ranges.appendleft((end, stop))
            self._left -= end - start
            yield Chunk(start, {name: column[start:end] for name, column in self._columns.items()})

    def rows(self) -> int:
        """Number of rows in the next chunk; the first is a single call."""
        if math.isinf(self.seconds_per_row):
            return self._step
        share = self._left * self.seconds_per_row / (SHARES * self._workers)
        rows = min(max(MIN_TIME, share), MAX_TIME) / self.seconds_per_row
        self._last = int(min(math.ceil(rows), max(self._last, self._step) * MAX_GROWTH, MAX_CHUNK))
        return max(self._last, self._step)

    def finished(self, chunk: Chunk, outcome: Evaluated) -> Progress:
        """Count a finished chunk; returns the state of the sweep."""
        self.seconds_per_row = max(outcome.seconds, 1e-9) / len(chunk)
        self._pending -= len(chunk)
        self._errors += outcome.errors
        seconds = (time.monotonic() - self._begin) / (self._first - self._pending)  # per row, of all workers together
        total = size(self._columns)
        return Progress(total - self._pending, total, self._errors, seconds * self._pending)
