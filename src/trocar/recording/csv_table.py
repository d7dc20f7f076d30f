"""CSV files of numbers: comment lines that begin with #, a header, rows of numbers; blank lines are ignored."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trocar.errors import TrocarError, shown
from trocar.files import memory, read_whole
from trocar.spatial import Array


class CsvTable:
    """A CSV file with its header read; `numbers` parses the rows.

    Attributes:
        comments: comment lines without their #. titles: column titles. place: file and line of the header.
    """

    def __init__(self, path: Path, example: str) -> None:
        """`example` is a sample header, quoted in the error message if the file has no header."""
        try:
            # The numbers of a row take several times the memory of its text.
            text = read_whole(path, "table", memory() // 16).decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise TrocarError(f"{path}: not a text file: {error}") from None
        content = [(f"{path}, line {k}", k, line) for k, line in enumerate(text, start=1) if line.strip()]
        self.comments = [line.removeprefix("#") for _, _, line in content if line.startswith("#")]
        lines = [row for row in content if not row[2].startswith("#")]
        self._end = f"{path}, line {len(text) + 1}"
        if not lines:
            raise TrocarError(f"{self._end}: the file ends before a header such as {example!r}")
        (self.place, _, header), *self._rows = lines
        self.titles = [title.strip() for title in header.split(",")]

    def numbers(self, empty: float | None = None) -> tuple[Array, list[int]]:
        """Rows (N, columns) and the line of each; `empty` is the value of empty cells, None if they are errors."""
        if not self._rows:
            raise TrocarError(f"{self._end}: the file has no row of numbers")
        rows = []
        for place, _, line in self._rows:
            cells = line.split(",")
            if len(cells) != len(self.titles):
                raise TrocarError(f"{place}: {len(cells)} values, but the header names {len(self.titles)} columns")
            try:
                if "_" in line:  # Python reads 1_0 as 10; in a table it is a typing error
                    raise ValueError
                rows.append([float(cell) for cell in cells])
            except ValueError:
                rows.append([_number(*cell, place, empty) for cell in zip(cells, self.titles, strict=True)])
        return np.array(rows), [k for _, k, _ in self._rows]


def _number(cell: str, title: str, place: str, empty: float | None) -> float:
    if empty is not None and not cell.strip():
        return empty
    try:
        if "_" in cell:
            raise ValueError
        return float(cell)
    except ValueError:
        raise TrocarError(f"{place}: {shown(cell.strip())} in column {shown(title)} is not a number") from None
