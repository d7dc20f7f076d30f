"""Tables of numbers without header, the format of published identification recordings: q, dq, tau of every column."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.files import memory, read_whole
from trocar.recording.motor_columns import column_units, space_of, table_columns
from trocar.recording.recording import InvalidRecording, Recording

LINE = 100_000  # most characters of the first line
RATE = 200.0  # [Hz], sampling rate of the tables of Wang et al. 2019


def is_table(path: Path) -> bool:
    """True if the first line of a text file holds numbers only."""
    with open(path, encoding="utf-8-sig", errors="replace") as stream:
        first = stream.readline(LINE)
    try:
        return len([float(x) for x in first.split(",")]) > 0
    except ValueError:
        return False


def read_table(path: Path, arm: Arm, columns: Sequence[str] | None = None, rate: float | None = None) -> Recording:
    """Read a table of 3 n columns, q (n), dq (n), tau (n), in SI units.

    Args:
        columns: n joints or motors of the arm. Default: those of the published tables of this arm.
        rate: samples per second [Hz]. Default: 200.
    """
    columns = table_columns(arm) if columns is None else tuple(columns)
    rate = RATE if rate is None else rate
    try:
        text = read_whole(path, "table", memory() // 4).decode("utf-8-sig")
        rows = np.loadtxt(text.splitlines(), delimiter=",", ndmin=2)
    except TrocarError:
        raise
    except ValueError as error:
        raise TrocarError(f"{path}: not a table of numbers separated by commas: {error}") from None
    if not (np.isfinite(rate) and rate > 0):
        raise TrocarError(f"the rate of a table must be positive [Hz], got {rate}")
    n = len(columns)
    if rows.shape[1] != 3 * n:
        raise TrocarError(
            f"{path}: {rows.shape[1]} columns; a table without header needs {3 * n}, positions, velocities and efforts "
            f"of {', '.join(columns)}. For any other layout, add a header such as 't [s],q_yaw [rad],...'"
        )
    bad = np.argwhere(~np.isfinite(rows))
    if bad.size:
        row, column = (int(i) for i in bad[0])
        what = ("q", "dq", "tau")[column // n]
        raise InvalidRecording(f"{path}, line {row + 1}: {what} of {columns[column % n]} is {rows[row, column]}")
    q, dq, tau = np.split(rows, 3, axis=1)
    return Recording(
        t=np.arange(len(rows)) / rate,
        q=q,
        dq=dq,
        tau=tau,
        joints=columns,
        joint_units=column_units(arm, columns),
        space=space_of(arm, columns),
        provenance={"file": path.name, "arm": arm.name, "rate": rate},
    )
