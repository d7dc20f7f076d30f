"""Results of a sweep in its folder: a manifest, and the rows as Parquet files, each written atomically.

    DIR/manifest.json                         version, study, fingerprint of the table
    DIR/rows/part-000000000-000000128.parquet  rows 0 to 127

A row is done if its file exists, and is not computed again. At the end all files get the same schema.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from trocar import file_locks
from trocar.errors import TrocarError, check_known, check_type, shown
from trocar.files import check_writable, read_json, write_json, write_whole
from trocar.sweep.packages import optional
from trocar.sweep.table import ERROR, FINGERPRINT, MAX_ROWS, ROW

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = 1
MANIFEST, ROWS = "manifest.json", "rows"
_NAME = re.compile(r"part-(\d{9})-(\d{9})\.parquet")
_STRAY = re.compile(r"\.(part-\d{9}-\d{9}\.parquet|manifest\.json)\.[0-9a-f]{16}\.tmp")
Range = tuple[int, int]  # first row, and last row plus one
Figures: TypeAlias = "list[tuple[Figure, str]]"  # with captions


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Identity of a sweep, which prevents mixing the rows of two sweeps.

    Attributes:
        trocar: version. study: name. source: hash of the study's source, "" if unavailable.
        rows: number of rows of the table. table: its fingerprint. parameters: its columns.
        batch: rows per call; 0: single values.
    """

    trocar: str
    study: str
    source: str
    rows: int
    table: str
    parameters: tuple[str, ...]
    batch: int
    format: int = FORMAT

    @property
    def fingerprint(self) -> str:
        """Identity of the sweep, stored in every partition."""
        return ":".join(str(x) for x in (self.format, self.trocar, self.study, self.source, self.table, self.batch))

    @property
    def step(self) -> int:
        """Partitions begin at multiples of this number."""
        return self.batch or 1


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a sweep's folder, checked field by field."""
    path, there = folder / MANIFEST, _exists(folder)
    if not path.is_file():
        what = "does not exist" if not there else "is not a sweep folder: it has no manifest.json"
        raise TrocarError(f"{folder} {what}")
    content = read_json(path, "manifest")
    if not isinstance(content, Mapping):
        raise TrocarError(f"{path} is not a sweep manifest")
    if content.get("format") != FORMAT:
        raise TrocarError(f"{path} has the format {shown(content.get('format'))}; this version reads {FORMAT}")
    types = {"trocar": str, "study": str, "source": str, "table": str, "rows": int, "batch": int, "parameters": list}
    for name, kind in types.items():
        if not isinstance(content.get(name), kind) or isinstance(content.get(name), bool):
            raise TrocarError(f"{path}: {name!r} must be {kind.__name__}, got {shown(content.get(name))}")
    values = {name: content[name] for name in types}
    if not all(isinstance(name, str) for name in values["parameters"]):
        raise TrocarError(f"{path}: 'parameters' must be a list of names, got {shown(values['parameters'])}")
    if not (1 <= values["rows"] <= MAX_ROWS and 0 <= values["batch"] <= MAX_ROWS):
        raise TrocarError(f"{path}: 'rows' and 'batch' must be at most {MAX_ROWS:,}")
    return Manifest(**values | {"parameters": tuple(values["parameters"])})


def check_place(folder: Path, resume: bool) -> None:
    """Raise an error, before anything is created, if results cannot be written or there is no sweep to resume."""
    if "\0" in str(folder):
        raise TrocarError(f"output must be a folder, got {shown(str(folder))}")
    if _exists(folder) and not folder.is_dir():
        raise TrocarError(f"{folder} is a file; name a folder for the results")
    check_writable(folder / MANIFEST, folder / ROWS / "part")
    if resume:
        read_manifest(folder)


def _exists(folder: Path) -> bool:
    try:
        return folder.exists()
    except OSError as error:  # such as a name that is too long
        raise TrocarError(f"{folder} cannot be a folder of results: {error.strerror}") from None


def begin(folder: Path, manifest: Manifest, resume: bool) -> list[Range]:
    """Create the folder of a new sweep, or check that it belongs to this one; return the ranges of finished rows."""
    if not (folder / MANIFEST).exists():
        if strange := sorted(path.name for path in folder.iterdir() if not _STRAY.fullmatch(path.name)):
            what = f"is not empty and contains no sweep (it has {shown(strange[0])})"
            raise TrocarError(f"{folder} {what}; use a new or empty folder")
        write_json(folder / MANIFEST, asdict(manifest))
        (folder / ROWS).mkdir(exist_ok=True)
        return []
    there = read_manifest(folder)
    for name, what in _REASONS.items():
        old, new = getattr(there, name), getattr(manifest, name)
        if old != new:
            reason = what if name in ("source", "table") else f"{what}: {old}, not {new}"
            raise TrocarError(f"{folder} contains another sweep: {reason}. Use another folder; nothing was changed")
    (folder / ROWS).mkdir(exist_ok=True)
    done = [rows for rows, _ in checked_partitions(folder, manifest)]
    if done and not resume:
        count = f"{sum(stop - start for start, stop in done)} of {manifest.rows} rows done"
        remedy = "continue it with resume=True, or use another folder"
        raise TrocarError(f"{folder} already contains this sweep with {count}; {remedy}")
    for path in (*folder.iterdir(), *(folder / ROWS).iterdir()):
        if _STRAY.fullmatch(path.name):  # left by a run that was killed while writing
            path.unlink(missing_ok=True)
    return done


_REASONS = {
    "trocar": "it was made with another version of trocar",
    "study": "it belongs to another study",
    "source": "the code of the study has changed",
    "rows": "its table has another number of rows",
    "parameters": "its table has other parameters",
    "table": "its table has other values",
    "batch": "its rows were run in batches of another size",
}


def partitions(folder: Path) -> list[tuple[Range, Path]]:
    """Ranges and files of the existing partitions, in order of rows."""
    ranges = []
    for path in (folder / ROWS).iterdir() if (folder / ROWS).is_dir() else ():
        if match := _NAME.fullmatch(path.name):
            ranges.append(((int(match[1]), int(match[2])), path))
        elif not path.name.startswith("."):
            raise TrocarError(f"{path} is not a partition of the sweep; move it elsewhere")
    return sorted(ranges)


def checked_partitions(folder: Path, manifest: Manifest) -> list[tuple[Range, Path]]:
    """Ranges and files of the partitions. Raises an error that names a damaged, foreign or misplaced one."""
    arrow, parquet, remedy = optional("pyarrow"), optional("pyarrow.parquet"), "remove it to compute its rows again"
    checked, last = partitions(folder), 0
    for (start, stop), path in checked:
        aligned = start % manifest.step == 0 and (stop % manifest.step == 0 or stop == manifest.rows)
        if not (last <= start < stop <= manifest.rows and aligned):
            what = f"does not fit into a sweep of {manifest.rows} rows or overlaps another"
            raise TrocarError(f"{path} {what}; remove it")
        last = stop
        try:
            with parquet.ParquetFile(path) as file:
                schema, rows = file.schema_arrow, file.metadata.num_rows
        except (arrow.ArrowException, OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise TrocarError(f"{path} is damaged or incomplete ({reason}); {remedy}") from None
        if (schema.metadata or {}).get(FINGERPRINT) != manifest.fingerprint.encode():
            raise TrocarError(f"{path} belongs to another sweep than {folder / MANIFEST}; {remedy}")
        if rows != stop - start or ROW not in schema.names:
            raise TrocarError(f"{path} has {rows} rows but should have {stop - start} by its name; {remedy}")
    return checked


def missing(done: list[Range], rows: int) -> list[Range]:
    """Ranges of unfinished rows."""
    ranges, last = [], 0
    for start, stop in [*done, (rows, rows)]:
        if start > last:
            ranges.append((last, start))
        last = stop
    return ranges


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder against other runs; the lock is released when the process ends for any reason."""
    folder.mkdir(parents=True, exist_ok=True)
    if not file_locks.AVAILABLE:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            file_locks.lock(handle, wait=False)
        except BlockingIOError:
            raise TrocarError(f"another run is writing into {folder}; wait for it or use another folder") from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)


class Results:
    """The finished rows of a sweep, in order. The sweep may still be running or interrupted.

    `results["name"]` is a column of the rows without errors. The files are plain Parquet:
    `pandas.read_parquet("DIR/rows")` and `pyarrow.dataset.dataset("DIR/rows")` also read them.
    """

    def __init__(self, folder: str | Path) -> None:
        check_type("the folder of a sweep", folder, (str, Path), "a path")
        self.folder = Path(folder)
        self.manifest: Manifest = read_manifest(self.folder)
        self._partitions = checked_partitions(self.folder, self.manifest)
        if not self._partitions:
            raise TrocarError(f"{self.folder} has no finished rows yet; resume the sweep")

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}: {len(self)} of {self.manifest.rows} rows of {self.manifest.study})"

    def __len__(self) -> int:
        return sum(stop - start for (start, stop), _ in self._partitions)

    @cached_property
    def dataset(self) -> Any:
        """The rows as a `pyarrow.dataset.Dataset`."""
        files = [path for _, path in self._partitions]
        with self._readable():
            return optional("pyarrow.dataset").dataset(files, schema=_common_schema(files), format="parquet")

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (optional("pyarrow").ArrowException, OSError, ValueError) as error:
            raise TrocarError(f"the rows of {self.folder} cannot be read: {error}") from None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.dataset.schema.names)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Names of the columns that the study returned."""
        return tuple(name for name in self.columns if name not in (ROW, ERROR, *self.manifest.parameters))

    def table(self, columns: list[str] | None = None) -> Any:
        """All rows, including failed ones, as a `pyarrow.Table`, optionally with some columns only."""
        check_known("column", self.columns, *(columns or ()))
        with self._readable():
            return self.dataset.to_table(columns=columns)

    def batches(self, columns: list[str] | None = None, rows: int = 10_000) -> Iterator[Any]:
        """The rows as `pyarrow.RecordBatch` objects of at most `rows` rows, in order, in bounded memory."""
        check_known("column", self.columns, *(columns or ()))
        dataset = optional("pyarrow.dataset")
        for _, path in self._partitions:  # one at a time: a dataset reads ahead
            part = dataset.dataset([path], schema=self.dataset.schema, format="parquet")
            yield from part.to_batches(columns=columns, batch_size=rows, batch_readahead=1, fragment_readahead=1)

    def pandas(self) -> Any:
        """All rows as a `pandas.DataFrame`."""
        optional("pandas")
        return self.table().to_pandas()

    def __getitem__(self, name: str) -> Any:
        """Values (N,), or (N, k) for a column of arrays, of the N rows without errors, in order."""
        table = self.table(list(dict.fromkeys([name, ERROR])))
        values = table.filter(table[ERROR].is_null())[name].combine_chunks()
        if optional("pyarrow").types.is_list(values.type):
            return np.array(values.to_pylist(), dtype=float)
        return values.to_numpy(zero_copy_only=False)

    @property
    def errors(self) -> list[tuple[int, str]]:
        """Row number and error of every failed row."""
        dataset = optional("pyarrow.dataset")
        failed = self.dataset.to_table(columns=[ROW, ERROR], filter=dataset.field(ERROR).is_valid())
        return list(zip(failed[ROW].to_pylist(), failed[ERROR].to_pylist(), strict=True))


def unify(folder: Path) -> None:
    """Give all partitions the same schema, so that any Parquet reader can read them together.

    Schemas differ if a chunk lacks a column because all of its rows failed, or if it has only integers.
    """
    dataset, parquet = optional("pyarrow.dataset"), optional("pyarrow.parquet")
    files = [path for _, path in partitions(folder)]
    common = _common_schema(files)
    for path in files:
        schema = parquet.read_schema(path)
        if not schema.equals(common):
            table = dataset.dataset([path], schema=common, format="parquet").to_table()
            buffer = io.BytesIO()
            parquet.write_table(table.replace_schema_metadata(schema.metadata), buffer)
            write_whole(path, buffer.getvalue())


def _common_schema(files: list[Path]) -> Any:
    """A common schema: row, parameters and results in order of first appearance, then the error."""
    arrow, parquet = optional("pyarrow"), optional("pyarrow.parquet")
    schemas = [parquet.read_schema(path).remove_metadata() for path in files]
    try:
        common = arrow.unify_schemas(schemas, promote_options="permissive")
    except arrow.ArrowException as error:
        raise TrocarError(f"the study's results have different types in different rows: {error}") from None
    names = [name for name in common.names if name != ERROR]
    return arrow.schema([common.field(name) for name in [*names, ERROR]])
