"""Executors of a sweep: chunks of rows evaluated in this process, in several (loky of joblib), or on a Ray cluster.

The results and errors of a chunk are the content of a Parquet file.
"""

from __future__ import annotations

import io
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import trocar
from trocar.errors import TrocarError, check_known, shown
from trocar.interrupts import deaf_processes
from trocar.sweep.packages import check_installed, optional
from trocar.sweep.study import Loader
from trocar.sweep.table import ERROR, FINGERPRINT, ROW, Columns, size

MAX_ERROR = 2000  # characters
POLL_INTERVAL = 0.2  # between checks that the parent process still runs [s]
REQUIRED = {"serial": (), "processes": ("joblib", "cloudpickle"), "ray": ("ray", "cloudpickle")}  # packages
MAX_WORKERS = 4096
RETRIES = 2  # Ray's retries of a chunk whose worker or node was lost
LOOPBACK = "127.0.0.1"
OBJECT_STORE = 200 * 2**20  # of a local Ray cluster, which transfers partitions [bytes]
MAX_PATH = 30  # length of the temporary folder of a local cluster: socket paths in it are limited to 107 bytes
# One thread per worker: otherwise linear algebra starts one thread per core in every worker.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
# A local Ray cluster listens on loopback, with a token that exists in the environment of this process only.
LOCAL_RAY = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # keeps Ray on loopback; despite its name also on Linux
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # workers use this Python, also under `uv run`
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # no warning without a GPU
}
_LOST = "the finished rows are kept: continue with resume=True (--resume), or run the others with executor='serial'"

_ray_is_local = False  # Ray was imported with the environment of a local cluster
Submit = Callable[["Chunk"], "Future[Evaluated]"]
Outcome = dict[str, Any] | str  # results of a row, or its error
_functions: dict[str, Callable[..., Any]] = {}  # loaded in this process, by the sweep's fingerprint


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


def check_executor(name: str, workers: int | None, address: str | None) -> None:
    """Raise an error, before anything is created, if the options of an executor are wrong or a package is missing."""
    check_known("executor", REQUIRED, name)
    check_installed("pyarrow", *REQUIRED[name])
    if workers is not None and (not isinstance(workers, int) or not 1 <= workers <= MAX_WORKERS):
        raise TrocarError(f"workers must be an integer from 1 to {MAX_WORKERS}, got {shown(workers)}")
    if address is not None and name != "ray":
        raise TrocarError(f"address is the address of a Ray cluster; use executor='ray', not {name!r}")
    if name == "serial" and workers not in (None, 1):
        raise TrocarError(f"the serial executor has one worker, got workers={workers}; use processes or ray")


def load_executor(
    name: str, job: Job, workers: int | None, address: str | None
) -> AbstractContextManager[tuple[int, Submit]]:
    """Number of workers, and a function that starts a chunk. All executors give the same rows.

    Args:
        name: "serial", "processes" or "ray". workers: default one per core available to this process (Ray: of the
            cluster). address: address of a Ray cluster (HOST:PORT or "auto"). Default: RAY_ADDRESS, else a local one.
    """
    if name == "ray":
        return _ray(job, workers, address or os.environ.get("RAY_ADDRESS"))
    return _serial(job) if name == "serial" else _processes(job, workers or _cores())


def evaluated(submit: Submit, chunks: Iterable[Chunk], capacity: int) -> Iterator[tuple[Chunk, Evaluated]]:
    """Chunks with their results as they finish, with at most `capacity` of them started and unfinished."""
    running: dict[Future[Evaluated], Chunk] = {}
    for chunk in chunks:
        running[submit(chunk)] = chunk
        if len(running) >= capacity:
            yield from _first(running)
    while running:
        yield from _first(running)


def _first(running: dict[Future[Evaluated], Chunk]) -> Iterator[tuple[Chunk, Evaluated]]:
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        yield running.pop(future), future.result()


@contextmanager
def _serial(job: Job) -> Iterator[tuple[int, Submit]]:
    function = job.load()

    def submit(chunk: Chunk) -> Future[Evaluated]:
        future: Future[Evaluated] = Future()
        future.set_result(evaluate(function, job, chunk))
        return future

    yield 1, submit


@contextmanager
def _processes(job: Job, workers: int) -> Iterator[tuple[int, Submit]]:
    """Processes of loky: other programs than the user's script, which is not run again."""
    loky = optional("joblib.externals.loky")
    environment = {name: os.environ.get(name, "1") for name in THREADS}
    environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    pool = loky.ProcessPoolExecutor(max_workers=workers, env=environment)

    def submit(chunk: Chunk) -> Future[Evaluated]:
        with deaf_processes():  # that this starts
            future: Future[Evaluated] = pool.submit(evaluate_in_worker, job, chunk)
            return future

    try:
        yield workers, submit
    except loky.BrokenProcessPool:
        raise TrocarError(f"a worker process was killed, by a crash or for lack of memory; {_LOST}") from None
    finally:
        pool.shutdown(wait=True, kill_workers=True)


@contextmanager
def _ray(job: Job, workers: int | None, address: str | None) -> Iterator[tuple[int, Submit]]:
    """Tasks on a Ray cluster: an existing one, or a local one that lives as long as the sweep.

    The local cluster stores its files in a temporary folder that is removed at the end.
    """
    with ExitStack() as running:
        if address is None and not _used_ray():
            running.enter_context(_local_environment())
        ray = optional("ray")
        if not ray.is_initialized():
            folder = None if address else temporary_folder()
            if folder is not None:
                running.callback(shutil.rmtree, folder, ignore_errors=True)
            running.callback(ray.shutdown)
            _connect(ray, workers, address, folder)
        count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        # a task uses one core: its arithmetic is single-threaded
        task, shared = ray.remote(max_retries=RETRIES, num_cpus=1)(evaluate_in_worker), ray.put(job)
        try:
            yield count, lambda chunk: task.remote(shared, chunk).future()
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, TrocarError):  # concerns the whole study, not a row
                raise TrocarError(str(error.cause)) from None
            cause = f"{type(error.cause).__name__}: {error.cause}".partition("\n")[0]
            raise TrocarError(f"a Ray worker cannot run the study: {cause}") from error
        except ray.exceptions.RayError as error:
            raise TrocarError(f"Ray lost a chunk of rows ({type(error).__name__}); {_LOST}") from error


def _used_ray() -> bool:
    """True if this process is connected to a cluster. Raises if Ray was imported, which fixes its settings."""
    if "ray" not in sys.modules:
        return False
    connected = bool(optional("ray").is_initialized())
    if not connected and not _ray_is_local:
        reason = "Ray was imported before the sweep, so a local cluster could not be kept on loopback"
        raise TrocarError(f"{reason}; call ray.init() before the sweep, or give the address of a cluster")
    return connected


@contextmanager
def _local_environment() -> Iterator[None]:
    """The environment of a local cluster. Ray reads it when it is imported, so it never changes in a process."""
    global _ray_is_local
    _ray_is_local = True
    before = {name: os.environ[name] for name in LOCAL_RAY if name in os.environ}
    os.environ.update(LOCAL_RAY)
    try:
        yield
    finally:
        for name in LOCAL_RAY:
            del os.environ[name]
        os.environ.update(before)


def _connect(ray: Any, workers: int | None, address: str | None, folder: Path | None) -> None:
    options: dict[str, Any] = {"address": address}
    if folder is not None:
        options = {"num_cpus": workers or _cores(), "include_dashboard": False, "object_store_memory": OBJECT_STORE}
        options |= {"_node_ip_address": LOOPBACK, "_temp_dir": str(folder)}
    try:
        ray.init(logging_level="ERROR", log_to_driver=False, configure_logging=False, **options)
    except (ConnectionError, ValueError, RuntimeError, OSError, TimeoutError) as error:
        where = f"no Ray cluster at {address}" if address else "a local Ray cluster could not be started"
        raise TrocarError(f"{where}: {' '.join(str(error).split())}") from error
    host = ray.util.get_node_ip_address()
    if folder is not None and host != LOOPBACK:
        raise TrocarError(f"Ray listens on {host} instead of {LOOPBACK}; use executor='processes'")


def temporary_folder() -> Path:
    """A new folder with a path short enough for the sockets in it."""
    place = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="trocar-ray-", dir=place if len(place) <= MAX_PATH else "/tmp"))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
    row = {}
    for name, value in result.items():
        if not isinstance(name, str) or not name or not _is_unicode(name):
            raise TrocarError(f"the name of a result must be text, got {shown(name)}")
        plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        if isinstance(plain, tuple):
            plain = list(plain)
        values = plain if isinstance(plain, list) else [plain]
        if not all(isinstance(x, int | float | str | None) for x in values):
            raise TrocarError(f"the result {name!r} must be a number, flag, text or 1-D array, got {shown(value)}")
        if not all(_is_unicode(x) for x in values if isinstance(x, str)):
            raise TrocarError(f"the result {name!r} must be valid Unicode text, got a lone surrogate in {shown(value)}")
        row[name] = plain
    return row


def _is_unicode(text: str) -> bool:
    """True if UTF-8 can encode a text: half a surrogate pair is possible in Python, but in no file."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
