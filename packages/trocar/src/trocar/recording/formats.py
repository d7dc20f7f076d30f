"""Files of recordings: csv and npz. Both store every number exactly.

CSV: provenance in comment lines, then a header of names and units, then the numbers, each as the shortest text that
reads back as the same number. Files from other programs can be read if their header has the same names and units, such
as `t [s],q_yaw [rad],dq_yaw [rad/s]`. npz: an entry per channel, and `about`, which holds names, units and provenance
as JSON.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar.errors import TrocarError, check_known, shown
from trocar.files import check_memory, memory, read_whole, size
from trocar.recording.motor_columns import SPACES, TIP_COMMANDS, UNITS
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.recording.recording import Recording

# Entries of an npz file may unpack to this many bytes, or to this many times the size of the file. Numbers do not
# compress better, so a zip bomb costs no more time and memory than a recording.
UNPACKED, RATIO = 2**28, 200
ZIP_HEADER = 30  # [bytes], length of the header in front of an entry, without its name
ABOUT = {"joints": list, "joint_units": list, "space": str, "extra_units": dict, "provenance": dict}  # types in JSON
_TITLE = re.compile(r"(.*)\[([^\[\]]*)\]")
_VECTOR_COLUMN = re.compile(r"(.+)\[(\d+)\]")


class CsvTable:
    """A CSV file of comment lines that begin with #, a header and rows of numbers, which `numbers` parses.

    Blank lines are ignored. `example` is a header for the message if the file has none.

    Attributes:
        comments: comment lines without their #. titles: column titles. place: file and line of the header.
    """

    def __init__(self, path: Path, example: str) -> None:
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
            try:  # Python reads 1_0 as 10; in a table it is a typing error
                rows.append([float(cell) for cell in line.replace("_", "?").split(",")])
            except ValueError:
                rows.append([_number(*cell, place, empty) for cell in zip(cells, self.titles, strict=True)])
        return np.array(rows), [k for _, k, _ in self._rows]


def _number(cell: str, title: str, place: str, empty: float | None) -> float:
    if empty is not None and not cell.strip():
        return empty
    try:
        return float(cell.replace("_", "?"))
    except ValueError:
        raise TrocarError(f"{place}: {shown(cell.strip())} in column {shown(title)} is not a number") from None


def csv_text(recording: Recording) -> str:
    """The text of a csv file."""
    lines = ["# trocar recording"]
    if recording.space != "joints":
        lines.append(f"# space: {recording.space}")
    lines += [f"# {key}: {json.dumps(value, allow_nan=False)}" for key, value in recording.provenance.items()]
    columns = _columns(recording)
    lines.append(",".join(columns))
    lines += [",".join(map(repr, row)) for row in np.column_stack(list(columns.values())).tolist()]
    return "\n".join(lines) + "\n"


def read_csv(path: Path) -> tuple[dict[str, Any], list[int]]:
    """The fields of a recording in a csv file, and the line of each row."""
    file = CsvTable(path, "t [s],q_yaw [rad]")
    fields, columns = _header(file.titles, file.place)
    table, lines = file.numbers()
    for group, places in columns.items():
        (fields[group] if group else fields).update({name: table[:, where] for name, where in places.items()})
    entries = [comment.partition(":") for comment in file.comments if ":" in comment]
    provenance = {key.strip(): _json_or_text(value.strip()) for key, _, value in entries}
    if provenance.get("space") in SPACES:
        fields["space"] = provenance.pop("space")
    return fields | {"provenance": provenance}, lines


def without_repeats(fields: dict[str, Any], lines: list[int]) -> tuple[dict[str, Any], list[int]]:
    """Fields and lines without the rows that have the time of the row before, and the number of those rows."""
    t = np.asarray(fields["t"])
    if t.ndim != 1 or not (repeats := np.concatenate([[False], t[1:] == t[:-1]])).any():
        return fields, lines

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: kept(channel) for name, channel in value.items()}
        return value[~repeats] if isinstance(value, np.ndarray) and len(value) == len(t) else value

    channels = {name: kept(fields[name]) for name in ("t", *UNITS, "commands", "extra") if name in fields}
    provenance = {**fields["provenance"], "dropped_rows": int(repeats.sum())}
    remaining = [line for line, dropped in zip(lines, repeats, strict=False) if not dropped]
    return fields | channels | {"provenance": provenance}, remaining


def _json_or_text(value: str) -> Any:
    """Decode a comment value; comments of other programs need not be JSON."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _header(titles: list[str], place: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Fields derived from the titles, and the columns by field ("" for the recording's own channels) and name."""
    columns_of: dict[str, int] = {}
    units: dict[str, str] = {}
    for i, title in enumerate(titles):
        match = _TITLE.fullmatch(title)
        if match is None:
            raise TrocarError(f"{place}: column {shown(title)} has no unit; write it as 'q_yaw [rad]'")
        name = match[1].rstrip()
        if name in columns_of:
            raise TrocarError(f"{place}: column {shown(name)} occurs twice")
        columns_of[name], units[name] = i, match[2]
    if units.get("t") != "s":
        raise TrocarError(f"{place}: the column 't [s]' is missing")
    joints = [name.removeprefix("q_") for name in columns_of if name.startswith("q_") and "[" not in name]
    if not joints:
        raise TrocarError(f"{place}: no column gives a joint position, such as 'q_yaw [rad]'")
    joint_units = [units[f"q_{joint}"] for joint in joints]
    columns: dict[str, dict[str, Any]] = {"": {"t": columns_of.pop("t")}, "commands": {}, "extra": {}}
    for group, prefix, name in [(*group, name) for group in (("", ""), ("commands", "command_")) for name in UNITS]:
        start = f"{prefix}{name}_"
        if not any(column.startswith(start) and "[" not in column for column in columns_of):
            continue
        for joint, unit in zip(joints, joint_units, strict=True):
            check_known(f"{place}: unit of q_{joint}", UNITS["q"], unit)
            if units.get(start + joint) != UNITS[name][unit]:
                raise TrocarError(f"{place}: the column '{start}{joint} [{UNITS[name][unit]}]' is missing")
        columns[group][name] = [columns_of.pop(start + joint) for joint in joints]
    extra_units: dict[str, str] = {}
    vectors: dict[str, list[int]] = {}
    for column, i in columns_of.items():
        vector = _VECTOR_COLUMN.fullmatch(column)
        name = vector[1] if vector else column
        if vector is None:
            columns["extra"][name] = i
        elif vector[2] != str(len(vectors.setdefault(name, []))):
            raise TrocarError(f"{place}: column {shown(column)} is out of order")
        else:
            vectors[name].append(i)
        if extra_units.setdefault(name, units[column]) != units[column]:
            raise TrocarError(f"{place}: columns of {shown(name)} have different units")
    for command, (_, components) in TIP_COMMANDS.items():
        if f"command_{command}" in vectors:
            if extra_units.pop(f"command_{command}") != components:
                raise TrocarError(f"{place}: the columns of 'command_{command}' must be in [{components}]")
            columns["commands"][command] = vectors.pop(f"command_{command}")
    columns["extra"] |= vectors
    names = {"joints": joints, "joint_units": joint_units, "extra_units": extra_units}
    return {"q": None, "dq": None, **names, "commands": {}, "extra": {}}, columns


def _columns(recording: Recording) -> dict[str, Array]:
    """Every column (N,) under its title, such as `q_yaw [rad]`."""
    columns = {"t [s]": recording.t}
    channels = [("", name, getattr(recording, name)) for name in UNITS]
    channels += [("command_", name, value) for name, value in recording.commands.items() if name in UNITS]
    for prefix, name, value in channels:
        if value is not None:
            for j, (joint, unit) in enumerate(zip(recording.joints, recording.joint_units, strict=True)):
                columns[f"{prefix}{name}_{joint} [{UNITS[name][unit]}]"] = value[:, j]
    tip = {name: unit for name, (_, unit) in TIP_COMMANDS.items() if name in recording.commands}
    others = [(f"command_{name}", recording.commands[name], unit) for name, unit in tip.items()]
    others += [(name, value, recording.extra_units[name]) for name, value in recording.extra.items()]
    for name, value, unit in others:
        parts = {name: value} if value.ndim == 1 else {f"{name}[{i}]": column for i, column in enumerate(value.T)}
        columns |= {f"{part} [{unit}]": column for part, column in parts.items()}
    return columns


# -- npz ---------------------------------------------------------------------------------------------------------------


def npz_bytes(recording: Recording) -> bytes:
    """The content of an npz file."""
    arrays: dict[str, Any] = {"t": recording.t}
    arrays |= {name: getattr(recording, name) for name in UNITS if getattr(recording, name) is not None}
    arrays |= {f"command/{name}": value for name, value in recording.commands.items()}
    arrays |= {f"extra/{name}": value for name, value in recording.extra.items()}
    about = {name: kind(getattr(recording, name)) for name, kind in ABOUT.items()}
    buffer = io.BytesIO()
    np.savez(buffer, about=np.array(json.dumps(about, allow_nan=False)), **arrays)
    return buffer.getvalue()


def described_arrays(path: Path, kind: str, limit: int) -> tuple[dict[str, Any], Any]:
    """Arrays of an .npz file of at most `limit` bytes, and its JSON entry `about`. kind: of the file, for messages."""
    content = read_whole(path, kind, limit)
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise TrocarError(f"{path}: not a {kind}: not an .npz file, or a truncated one")
    try:
        arrays = npz_arrays(content)
        return arrays, json.loads(str(arrays.pop("about")))
    except KeyError:
        raise TrocarError(f"{path}: not a {kind}: it has no entry 'about'") from None
    except RecursionError:
        raise TrocarError(f"{path}: not a {kind}: 'about' is nested too deeply") from None
    except Exception as error:  # any exception of the zip, npy and JSON readers
        raise TrocarError(f"{path}: not a {kind}: {error}") from None


def read_npz(path: Path) -> dict[str, Any]:
    """The fields of a recording in an npz file."""
    arrays, about = described_arrays(path, "recording", memory() // 2)
    if isinstance(about, dict):
        about = {"space": "joints", **about}  # files of version 0.1 have no space
    if not isinstance(about, dict) or {key: type(value) for key, value in about.items()} != ABOUT:
        raise TrocarError(f"{path}: not a recording: 'about' must hold {', '.join(ABOUT)}")
    fields: dict[str, Any] = {"q": None, "dq": None, **about, "commands": {}, "extra": {}}
    for name, array in arrays.items():
        group, _, channel = name.rpartition("/")
        if group in ("command", "extra"):
            fields["commands" if group == "command" else "extra"][channel] = array
        elif name == "t" or name in UNITS:
            fields[name] = array
        else:
            raise TrocarError(f"{path}: the entry {shown(name)} belongs to no recording")
    if "t" not in fields:
        raise TrocarError(f"{path}: t is missing")
    return fields


def npz_arrays(content: bytes) -> dict[str, Any]:
    """The arrays of an .npz file. Sizes are checked before unpacking, so a small file cannot exhaust the memory."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        _check_entries(entries)
        total = sum(entry.file_size for entry in entries)
        if total > max(UNPACKED, RATIO * len(content)):
            raise TrocarError(f"its entries unpack to {size(total)}, from a file of {size(len(content))}")
        check_memory(3.0 * total, "unpacking it", "Record fewer rows or channels")
        return {entry.filename.removesuffix(".npy"): npy_array(_unpacked(archive, entry)) for entry in entries}


def _check_entries(entries: list[zipfile.ZipInfo]) -> None:
    """Refuse entries that share a name or bytes of the file: each would unpack the same bytes again."""
    names = Counter(entry.filename for entry in entries)
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if names[entry.filename] > 1:
            raise TrocarError(f"the entry {shown(entry.filename)} occurs {names[entry.filename]} times")
        if entry.header_offset < end:
            raise TrocarError(f"the entry {shown(entry.filename)} overlaps another one")
        if entry.flag_bits & 0x1:
            raise TrocarError(f"the entry {shown(entry.filename)} is encrypted")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise TrocarError(f"the entry {shown(entry.filename)} is neither stored nor deflated, as NumPy writes them")
        end = entry.header_offset + ZIP_HEADER + entry.compress_size


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry. At most the stated size is unpacked: `archive.read` would unpack all and then cut it."""
    with archive.open(entry) as stream:
        return stream.read(entry.file_size)


def npy_array(data: bytes) -> Any:
    """Read an array in NumPy's format; the size in its header must match the number of bytes that follow."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, _, dtype = read_header(stream)
    claimed, there = math.prod(shape) * dtype.itemsize, len(data) - stream.tell()
    if dtype.kind not in "biufU" or min(shape, default=0) < 0 or claimed != there:
        raise TrocarError(f"an array {shape} of {dtype} in {there} bytes")
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
