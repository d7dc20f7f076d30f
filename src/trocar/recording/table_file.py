"""Tables of numbers without header, as identification recordings were published: q, dq and tau of every column."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trocar.errors import TrocarError
from trocar.recording.recording import InvalidRecording, Recording


def is_table(path: Path) -> bool:
    """Whether the first line of a text file holds numbers only."""
    with open(path, encoding="utf-8-sig", errors="replace") as stream:
        first = stream.readline()
    try:
        return len([float(x) for x in first.split(",")]) > 0
    except ValueError:
        return False


def read_table(path: Path, joints: Sequence[str], units: Sequence[str], rate: float) -> Recording:
    """A table of 3 n columns, q (n), dq (n), tau (n), sampled at `rate` [Hz]; SI units."""
    try:
        rows = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig")
    except ValueError as error:
        raise TrocarError(f"{path}: not a table of numbers separated by commas: {error}") from None
    if not (np.isfinite(rate) and rate > 0):
        raise TrocarError(f"the rate of a table must be positive [Hz], got {rate}")
    n = len(joints)
    if rows.shape[1] != 3 * n:
        raise TrocarError(
            f"{path}: {rows.shape[1]} columns; a table without header needs {3 * n}, positions, velocities and efforts "
            f"of {', '.join(joints)}. For another layout write a header such as 't [s],q_yaw [rad],...'"
        )
    bad = np.argwhere(~np.isfinite(rows))
    if bad.size:
        row, column = (int(i) for i in bad[0])
        what = ("q", "dq", "tau")[column // n]
        raise InvalidRecording(f"{path}, line {row + 1}: {what} of {joints[column % n]} is {rows[row, column]}")
    q, dq, tau = np.split(rows, 3, axis=1)
    return Recording(
        t=np.arange(len(rows)) / rate,
        q=q,
        dq=dq,
        tau=tau,
        joints=joints,
        joint_units=units,
        provenance={"file": path.name, "rate": rate},
    )
