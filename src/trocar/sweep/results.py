"""Results of a sweep, read from its folder: whole, by column, or in batches of bounded size."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from trocar.errors import TrocarError, check_known, check_type
from trocar.files import write_whole
from trocar.sweep import folder as folders
from trocar.sweep.extras import optional
from trocar.sweep.folder import Manifest
from trocar.sweep.table import ERROR, ROW

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Figures: TypeAlias = "list[tuple[Figure, str]]"  # with captions


class Results:
    """The finished rows of a sweep, in order. The sweep may still be running or interrupted.

    `results["name"]` is a column of the rows without errors. The files are plain Parquet:
    `pandas.read_parquet("DIR/rows")` and `pyarrow.dataset.dataset("DIR/rows")` also read them.
    """

    def __init__(self, folder: str | Path) -> None:
        check_type("the folder of a sweep", folder, (str, Path), "a path")
        self.folder = Path(folder)
        self.manifest: Manifest = folders.read_manifest(self.folder)
        self._partitions = folders.checked_partitions(self.folder, self.manifest)
        if not self._partitions:
            raise TrocarError(f"{self.folder} has no finished rows yet; resume the sweep")

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}: {len(self)} of {self.manifest.rows} rows of {self.manifest.study})"

    def __len__(self) -> int:
        return sum(stop - start for (start, stop), _ in self._partitions)

    @cached_property
    def dataset(self) -> Any:
        """The rows as a `pyarrow.dataset.Dataset`."""
        arrow, dataset = optional("pyarrow"), optional("pyarrow.dataset")
        try:
            files = [path for _, path in self._partitions]
            return dataset.dataset(files, schema=_common_schema(files), format="parquet")
        except (arrow.ArrowException, OSError, ValueError) as error:
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
        arrow = optional("pyarrow")
        try:
            return self.dataset.to_table(columns=columns)
        except (arrow.ArrowException, OSError) as error:
            raise TrocarError(f"the rows of {self.folder} cannot be read: {error}") from None

    def batches(self, columns: list[str] | None = None, rows: int = 10_000) -> Iterator[Any]:
        """The rows as `pyarrow.RecordBatch` objects of at most `rows` rows, in order, in bounded memory."""
        check_known("column", self.columns, *(columns or ()))
        for _, path in self._partitions:  # one at a time: a dataset reads ahead
            dataset = optional("pyarrow.dataset")
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
    files = [path for _, path in folders.partitions(folder)]
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
