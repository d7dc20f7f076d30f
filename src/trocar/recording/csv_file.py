"""Recordings as CSV: provenance in comment lines, then a header of names and units, then the numbers.

Every number is written as the shortest text that reads back as the same number. A file of another origin reads too,
if its header has the same names and units, such as `t [s],q_yaw [rad],dq_yaw [rad/s]`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar.errors import TrocarError
from trocar.recording.channels import SPACES, TIP_COMMANDS, UNITS
from trocar.recording.csv_table import CsvTable
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.recording.recording import Recording

_FIRST_LINE = "# trocar recording"
_TITLE = re.compile(r"(?P<name>.*?)\s*\[(?P<unit>[^\[\]]*)\]")
_VECTOR_COLUMN = re.compile(r"(.+)\[(\d+)\]")


def text(recording: Recording) -> str:
    """The file's text."""
    lines = [_FIRST_LINE]
    if recording.space != "joints":
        lines.append(f"# space: {recording.space}")
    lines += [f"# {key}: {json.dumps(value, allow_nan=False)}" for key, value in recording.provenance.items()]
    columns = _columns(recording)
    lines.append(",".join(columns))
    lines += [",".join(map(repr, row)) for row in np.column_stack(list(columns.values())).tolist()]
    return "\n".join(lines) + "\n"


def read(path: Path) -> tuple[dict[str, Any], list[int]]:
    """The fields of a recording, and the line of each row."""
    file = CsvTable(path, "t [s],q_yaw [rad]")
    fields, columns = _header(file.titles, file.place)
    table, lines = file.numbers()
    for target, name, where in columns:
        target[name] = table[:, where]
    entries = [comment.partition(":") for comment in file.comments if ":" in comment]
    provenance = {key.strip(): _json_or_text(value.strip()) for key, _, value in entries}
    if provenance.get("space") in SPACES:
        fields["space"] = provenance.pop("space")
    return fields | {"provenance": provenance}, lines


def _json_or_text(value: str) -> Any:
    """Comments of other writers need not be JSON."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _header(titles: list[str], place: str) -> tuple[dict[str, Any], list[tuple[dict[str, Any], str, Any]]]:
    """The fields that follow from the titles, and where each channel goes: (mapping, name, columns)."""
    found: dict[str, int] = {}
    units: dict[str, str] = {}
    for i, title in enumerate(titles):
        match = _TITLE.fullmatch(title)
        if match is None:
            raise TrocarError(f"{place}: column {title!r} has no unit; write it as 'q_yaw [rad]'")
        if match["name"] in found:
            raise TrocarError(f"{place}: column {match['name']!r} occurs twice")
        found[match["name"]], units[match["name"]] = i, match["unit"]
    if units.get("t") != "s":
        raise TrocarError(f"{place}: the column 't [s]' is missing")
    joints = [name.removeprefix("q_") for name in found if name.startswith("q_") and "[" not in name]
    if not joints:
        raise TrocarError(f"{place}: no column gives a joint position, such as 'q_yaw [rad]'")
    joint_units = [units[f"q_{joint}"] for joint in joints]
    commands: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    extra_units: dict[str, str] = {}
    fields = {
        "q": None,
        "dq": None,
        "joints": joints,
        "joint_units": joint_units,
        "commands": commands,
        "extra": extra,
        "extra_units": extra_units,
    }
    columns: list[tuple[dict[str, Any], str, Any]] = [(fields, "t", found.pop("t"))]
    for command in (False, True):
        for name in UNITS:
            prefix = f"command_{name}_" if command else f"{name}_"
            present = [c for c in found if c.startswith(prefix) and "[" not in c]
            if not present:
                continue
            for joint, unit in zip(joints, joint_units, strict=True):
                wanted = UNITS[name].get(unit)
                if wanted is not None and units.get(prefix + joint) != wanted:
                    raise TrocarError(f"{place}: the column '{prefix}{joint} [{wanted}]' is missing")
            where = [found.pop(prefix + joint) for joint in joints]
            columns.append((commands if command else fields, name, where))
    vectors: dict[str, list[int]] = {}
    for column, i in found.items():
        vector = _VECTOR_COLUMN.fullmatch(column)
        if vector is None:
            columns.append((extra, column, i))
            extra_units[column] = units[column]
            continue
        name = vector[1]
        if int(vector[2]) != len(vectors.setdefault(name, [])):
            raise TrocarError(f"{place}: column {column!r} is out of order")
        vectors[name].append(i)
        if extra_units.setdefault(name, units[column]) != units[column]:
            raise TrocarError(f"{place}: columns of {name!r} have different units")
    for name, where in vectors.items():
        asked = name.removeprefix("command_")
        if asked != name and asked in TIP_COMMANDS:
            wanted = TIP_COMMANDS[asked][1]
            if extra_units.pop(name) != wanted:
                raise TrocarError(f"{place}: the columns of '{name}' must be in [{wanted}]")
            columns.append((commands, asked, where))
        else:
            columns.append((extra, name, where))
    return fields, columns


def _columns(recording: Recording) -> dict[str, Array]:
    """Every column (N,) under its title, such as `q_yaw [rad]`."""
    columns = {"t [s]": recording.t}
    channels = [("", name, getattr(recording, name)) for name in UNITS]
    channels += [("command_", name, value) for name, value in recording.commands.items() if name in UNITS]
    for prefix, name, value in channels:
        if value is not None:
            for j, (joint, unit) in enumerate(zip(recording.joints, recording.joint_units, strict=True)):
                columns[f"{prefix}{name}_{joint} [{UNITS[name][unit]}]"] = value[:, j]
    for name, (axes, unit) in TIP_COMMANDS.items():
        if name in recording.commands:
            columns |= {f"command_{name}[{i}] [{unit}]": recording.commands[name][:, i] for i in range(len(axes))}
    for name, value in recording.extra.items():
        unit = recording.extra_units[name]
        if value.ndim == 1:
            columns[f"{name} [{unit}]"] = value
        else:
            columns |= {f"{name}[{i}] [{unit}]": value[:, i] for i in range(value.shape[1])}
    return columns
