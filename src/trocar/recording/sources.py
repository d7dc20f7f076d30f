"""Recordings by path, whatever wrote them: npz, csv with header, a table without, ROS bags."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trocar.errors import TrocarError
from trocar.recording.bag_file import is_bag, read_bag
from trocar.recording.recording import Recording
from trocar.recording.table_file import is_table, read_table


def open_recording(
    path: str | Path,
    *,
    joints: Sequence[str],
    units: Sequence[str],
    columns: Sequence[str],
    column_units: Sequence[str],
    rate: float,
    namespace: str | None = None,
) -> Recording:
    """A recording of an arm.

    Args:
        joints, units: of the arm, for bags. columns, column_units, rate: of a table without header.
        namespace: of the arm in a bag.
    """
    path = Path(path)
    if not path.exists():
        raise TrocarError(f"the recording {path} does not exist")
    if is_bag(path):
        return read_bag(path, joints, units, namespace)
    if path.suffix.lower() == ".csv" and is_table(path):
        return read_table(path, columns, column_units, rate)
    return Recording.load(path)
