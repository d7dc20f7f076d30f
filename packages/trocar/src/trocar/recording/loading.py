"""Loading a recording from any supported file: npz, csv with header, a table without, ROS 1 and ROS 2 bags."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms import ARMS, Arm, load_arm
from trocar.errors import TrocarError, check_type
from trocar.files import check_regular, memory, read_whole
from trocar.recording.bag_file import SUFFIXES as BAG_SUFFIXES
from trocar.recording.bag_file import is_bag, read_bag
from trocar.recording.motor_columns import column_units, space_of, table_columns
from trocar.recording.recording import SUFFIXES as OWN_SUFFIXES
from trocar.recording.recording import InvalidRecording, Recording

SUFFIXES = (*OWN_SUFFIXES, *BAG_SUFFIXES)
MAX_LINE = 100_000  # characters of the first line of a table
RATE = 200.0  # [Hz], sampling rate of the tables of Wang et al. 2019


def is_recording(path: Path) -> bool:
    """True if a path names a recording, by its suffix or as the folder of a ROS 2 bag."""
    return path.suffix.lower() in SUFFIXES or is_bag(path)


def load_recording(
    path: str | os.PathLike[str],
    arm: str | None = None,
    *,
    as_recorded: bool = False,
    columns: Sequence[str] | None = None,
    rate: float | None = None,
    namespace: str | None = None,
    sensor: str | None = None,
    drop_repeats: bool = False,
) -> Recording:
    """Load a recording of one arm, in the joints of that arm.

    Reads .npz and .csv as `Recording.save` writes them, a .csv of other origin with the same names and units,
    a table without header as Wang et al. 2019 published it (q, dq and tau of every column, SI units), and ROS 1 or
    ROS 2 bags that hold `measured_js`, or `state_joint_current` from before CRTK (needs the extra `bags`).

    Args:
        arm: PSM, PSM_Si, ECM, ECM_Si, MTML or MTMR, for files that do not name their arm; tables and bags need it.
        as_recorded: keep motor columns instead of converting them to joints.
        columns: joints or motors in a table without header. Default: as published for this arm.
        rate: samples per second of a table without header [Hz]. Default: 200.
        namespace: arm in a bag, such as PSM1; needed if the bag holds several.
        sensor: topic of a force sensor in a bag (geometry_msgs/WrenchStamped), read as the channel `sensor_force`
            (N, 3) [N] in the sensor's axes; rows that it does not cover are dropped.
        drop_repeats: drop rows with the time of the row before, as `Recording.load` does.
    """
    check_type("path", path, (str, os.PathLike), "the path of a recording")
    path = Path(path)
    if not os.path.exists(path):  # also False for a name that is too long, for which Path.exists raises
        raise TrocarError(f"the recording {path} does not exist; `trocar sim` writes one")
    check_regular(path, "recording")
    if arm is not None:
        load_arm(arm)  # report an unknown arm before any problem of the file
    if is_bag(path):
        return read_bag(path, load_arm(_named(path, arm)), namespace, sensor)
    if sensor is not None:
        raise TrocarError(f"sensor names a topic of a bag, and {path} is not a bag; its sensors are its other channels")
    if path.suffix.lower() not in SUFFIXES:
        kinds = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise TrocarError(f"{path}: not a recording; give a file ending in {kinds}, or the folder of a ROS 2 bag")
    if path.suffix.lower() == ".csv" and is_table(path):
        recording = read_table(path, load_arm(_named(path, arm)), columns, rate)
    else:
        recording = Recording.load(path, drop_repeats=drop_repeats)
    name = recording.provenance.get("arm", arm)
    if not (isinstance(name, str) and name in ARMS):
        return recording
    robot = load_arm(name)
    if recording.space == "joints":
        recording = replace(recording, space=space_of(robot, recording.joints))
    return recording if as_recorded or recording.space == "joints" else recording.in_joints(robot)


def _named(path: Path, arm: str | None) -> str:
    if arm is None:
        raise TrocarError(f"{path} does not name its arm: pass arm={', '.join(map(repr, ARMS))}")
    return arm


def is_table(path: Path) -> bool:
    """True if the first line of a text file holds numbers only."""
    with open(path, encoding="utf-8-sig", errors="replace") as stream:
        first = stream.readline(MAX_LINE)
    try:
        return bool([float(x) for x in first.split(",")])
    except ValueError:
        return False


def read_table(path: Path, arm: Arm, columns: Sequence[str] | None = None, rate: float | None = None) -> Recording:
    """Read a table without header, the format of published recordings: q (n), dq (n), tau (n) in SI units."""
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
    for row, column in np.argwhere(~np.isfinite(rows)):
        what = f"{('q', 'dq', 'tau')[column // n]} of {columns[column % n]}"
        raise InvalidRecording(f"{path}, line {row + 1}: {what} is {rows[row, column]}")
    q, dq, tau = np.split(rows, 3, axis=1)
    names: dict[str, Any] = {"joints": columns, "joint_units": column_units(arm, columns)}
    names |= {"space": space_of(arm, columns), "provenance": {"file": path.name, "arm": arm.name, "rate": rate}}
    return Recording(t=np.arange(len(rows)) / rate, q=q, dq=dq, tau=tau, **names)
