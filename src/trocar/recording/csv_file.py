"""Recordings as CSV: provenance in comment lines, then a header of names and units, then the numbers.

Every number is written as the shortest text that reads back as the same number. Files from other programs
can be read if their header has the same names and units, such as `t [s],q_yaw [rad],dq_yaw [rad/s]`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar.errors import TrocarError, check_known, shown
from trocar.recording.csv_table import CsvTable
from trocar.recording.motor_columns import SPACES, TIP_COMMANDS, UNITS
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.recording.recording import Recording

_FIRST_LINE = "# trocar recording"
_VECTOR_COLUMN = re.compile(r"(.+)\[(\d+)\]")


def text(recording: Recording) -> str:
    """The text of the file."""
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
    for group, places in columns.items():
        (fields[group] if group else fields).update({name: table[:, where] for name, where in places.items()})
    entries = [comment.partition(":") for comment in file.comments if ":" in comment]
    provenance = {key.strip(): _json_or_text(value.strip()) for key, _, value in entries}
    if provenance.get("space") in SPACES:
        fields["space"] = provenance.pop("space")
    return fields | {"provenance": provenance}, lines


def _json_or_text(value: str) -> Any:
    """Decode a comment value; comments of other programs need not be JSON."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _header(titles: list[str], place: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Fields derived from the titles, and the columns of each channel by field ("commands", "extra", or "" for the
    recording's own channels) and name."""
    columns_of: dict[str, int] = {}
    units: dict[str, str] = {}
    for i, title in enumerate(titles):
        name, bracket, unit = title.removesuffix("]").rpartition("[")
        if not (bracket and title.endswith("]")) or "]" in unit:
            raise TrocarError(f"{place}: column {shown(title)} has no unit; write it as 'q_yaw [rad]'")
        name = name.rstrip()
        if name in columns_of:
            raise TrocarError(f"{place}: column {shown(name)} occurs twice")
        columns_of[name], units[name] = i, unit
    if units.get("t") != "s":
        raise TrocarError(f"{place}: the column 't [s]' is missing")
    joints = [name.removeprefix("q_") for name in columns_of if name.startswith("q_") and "[" not in name]
    if not joints:
        raise TrocarError(f"{place}: no column gives a joint position, such as 'q_yaw [rad]'")
    joint_units = [units[f"q_{joint}"] for joint in joints]
    columns: dict[str, dict[str, Any]] = {"": {"t": columns_of.pop("t")}, "commands": {}, "extra": {}}
    for group, start in (("", ""), ("commands", "command_")):
        for name in UNITS:
            prefix = f"{start}{name}_"
            if not any(column.startswith(prefix) and "[" not in column for column in columns_of):
                continue
            for joint, unit in zip(joints, joint_units, strict=True):
                check_known(f"{place}: unit of q_{joint}", UNITS["q"], unit)
                components = UNITS[name][unit]
                if units.get(prefix + joint) != components:
                    raise TrocarError(f"{place}: the column '{prefix}{joint} [{components}]' is missing")
            columns[group][name] = [columns_of.pop(prefix + joint) for joint in joints]
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
