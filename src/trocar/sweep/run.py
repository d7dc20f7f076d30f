"""The loop of a sweep for every executor: submits chunks and writes partitions until all rows are done."""

from __future__ import annotations

import inspect
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trocar
from trocar.errors import TrocarError, check_known, check_type, shown
from trocar.sweep import folder as folders
from trocar.sweep.evaluation import Chunk, Evaluated, Job, failed
from trocar.sweep.executors import EXECUTORS, Executor, Lost, load_executor
from trocar.sweep.extras import check_installed
from trocar.sweep.folder import Manifest, Range
from trocar.sweep.results import Results, unify
from trocar.sweep.study import Study, function_study, load_study
from trocar.sweep.table import Columns, as_table, check_fits, fingerprint, size, with_seeds

SHORTEST, LONGEST = 0.5, 10.0  # duration of a chunk [s]
SHARES = 20  # remaining chunks per worker to aim for, unless chunks become shorter than SHORTEST
LARGEST_CHUNK = 20_000  # rows; bounds the memory
GROWTH = 16  # largest growth from one chunk to the next; the first is a single call


@dataclass(frozen=True)
class Progress:
    """State of a running sweep: rows done, total rows, failed rows of this run, and estimated time left [s]."""

    done: int
    rows: int
    errors: int
    seconds_left: float


def sweep(
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
    retries: int = 2,
    progress: Callable[[Progress], None] | None = None,
) -> Results:
    """Run a study over its table and return the results, which are stored in the folder `output`.

    If the function raises, the column `error` of that row contains the exception. Rows of a lost worker are run again.

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
        retries: retries of rows of a lost worker before the loss becomes their error.
        progress: function called after every chunk.
    """
    if not isinstance(retries, int) or retries < 0:
        raise TrocarError(f"retries must be an integer of 0 or more, got {shown(retries)}")
    if not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise TrocarError(f"seed must be an integer of 0 or more, got {shown(seed)}")
    if rows is not None and (not isinstance(rows, int) or rows < 1):
        raise TrocarError(f"rows must be an integer of 1 or more, got {shown(rows)}")
    check_type("output", output, (str, Path), "a folder")
    check_type("resume", resume, bool, "True or False")
    if "\0" in str(output):
        raise TrocarError(f"output must be a folder, got {shown(output)}")
    check_known("executor", EXECUTORS, executor)
    check_installed("pyarrow", *(["ray"] if executor == "ray" else []))  # before anything is created
    chosen = _chosen(study, batch)
    if table is None and chosen.module is None:
        raise TrocarError("a sweep of a function requires a table: sweep(function, {'kp': [10, 20]}, 'results')")
    columns = as_table(chosen.table(rows, seed) if table is None else table)
    if _takes_seed(chosen):
        columns = with_seeds(columns, seed)
    check_fits(columns, chosen.run)
    manifest = Manifest(
        trocar=trocar.__version__,
        study=chosen.name,
        source=chosen.source,
        rows=size(columns),
        table=fingerprint(columns),
        parameters=tuple(columns),
        batch=chosen.batch or 0,
    )
    place = Path(output)
    folders.check_place(place)
    code = chosen.run if executor == "serial" else chosen.shippable()
    job = Job(code, chosen.batch, manifest.fingerprint, manifest.trocar)
    if resume:
        folders.read_manifest(place)  # before a folder is created
    with folders.locked(place):
        done = folders.begin(place, manifest, resume)
        pending = Pending(columns, folders.missing(done, manifest.rows), manifest.step)
        if pending:
            with load_executor(executor, job, workers, address) as running:
                _run(running, pending, job, place, retries, progress or (lambda state: None))
        unify(place)
    return Results(place)


def _chosen(study: object, batch: int | None) -> Study:
    if isinstance(study, str | Path | Study):
        if batch is not None:
            raise TrocarError("batch applies to functions only; a study defines BATCH")
        return study if isinstance(study, Study) else load_study(study)
    return function_study(study, batch)  # type: ignore[arg-type]


class Pending:
    """Pending rows, handed out in chunks that begin at multiples of `step`."""

    def __init__(self, columns: Columns, ranges: list[Range], step: int) -> None:
        self.columns, self.step, self.rows = columns, step, size(columns)
        self._ranges = deque(ranges)
        self._again: deque[Chunk] = deque()
        self.left = sum(stop - start for start, stop in ranges)  # rows not handed out

    def __bool__(self) -> bool:
        return bool(self._ranges or self._again)

    def next(self, rows: int) -> Chunk:
        """The next chunk, with about `rows` rows."""
        if self._again:
            return self._again.popleft()
        start, stop = self._ranges.popleft()
        end = min(stop, start + max(1, round(rows / self.step)) * self.step)
        if end < stop:
            self._ranges.appendleft((end, stop))
        self.left -= end - start
        return self._chunk(start, end, 0)

    def again(self, chunk: Chunk) -> None:
        """Retry a lost chunk one call at a time, so that a row that kills its worker does not affect the others."""
        for start in range(chunk.start, chunk.stop, self.step):
            self._again.append(self._chunk(start, min(start + self.step, chunk.stop), chunk.attempts + 1))

    def _chunk(self, start: int, stop: int, attempts: int) -> Chunk:
        return Chunk(start, {name: column[start:stop] for name, column in self.columns.items()}, attempts)


class Pace:
    """Size of the next chunk, from the speed of recent ones."""

    def __init__(self, workers: int, step: int) -> None:
        self._workers, self._step = workers, step
        self._last = 0
        self.seconds_per_row = math.inf

    def see(self, rows: int, seconds: float) -> None:
        """Record that a chunk of `rows` rows took this many seconds."""
        self.seconds_per_row = max(seconds, 1e-9) / rows

    def rows(self, left: int) -> int:
        """Number of rows in the next chunk, with `left` pending rows."""
        if math.isinf(self.seconds_per_row):
            return self._step
        share = left * self.seconds_per_row / (SHARES * self._workers)
        wanted = min(max(SHORTEST, share), LONGEST) / self.seconds_per_row
        self._last = int(min(math.ceil(wanted), max(self._last, self._step) * GROWTH, LARGEST_CHUNK))
        return max(self._last, self._step)


def _run(
    executor: Executor, pending: Pending, job: Job, folder: Path, retries: int, progress: Callable[[Progress], None]
) -> None:
    pace = Pace(executor.workers, pending.step)
    flying, done, errors = 0, pending.rows - pending.left, 0
    first, begin = done, time.monotonic()
    while pending or flying:
        while pending and flying < executor.capacity:
            executor.submit(pending.next(pace.rows(pending.left)))
            flying += 1
        for chunk, outcome in executor.finished():
            flying -= 1
            if isinstance(outcome, Lost):
                if chunk.attempts < retries:
                    pending.again(chunk)
                    continue
                outcome = failed(job, chunk, f"lost: {outcome.reason}, in {chunk.attempts + 1} attempts")
            else:
                pace.see(len(chunk), outcome.seconds)
            if pending and flying < executor.capacity:  # give the worker new work before writing the file
                executor.submit(pending.next(pace.rows(pending.left)))
                flying += 1
            _keep(folder, chunk, outcome)
            done += len(chunk)
            errors += outcome.errors
            rate = (time.monotonic() - begin) / (done - first)
            progress(Progress(done, pending.rows, errors, rate * (pending.rows - done)))


def _keep(folder: Path, chunk: Chunk, outcome: Evaluated) -> None:
    folders.write_partition(folder, chunk.start, chunk.stop, outcome.content)


def _takes_seed(study: Study) -> bool:
    try:
        return "seed" in inspect.signature(study.run).parameters
    except (TypeError, ValueError):
        return False
