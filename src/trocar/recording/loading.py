"""Loading a recording from any supported file: npz, csv with header, a table without, ROS 1 and ROS 2 bags."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trocar.arms import ARMS, load_arm
from trocar.errors import TrocarError, check_type
from trocar.recording.bag_file import SUFFIXES as BAG_SUFFIXES
from trocar.recording.bag_file import is_bag, read_bag
from trocar.recording.motor_columns import space_of
from trocar.recording.recording import SUFFIXES as OWN_SUFFIXES
from trocar.recording.recording import Recording
from trocar.recording.table_file import is_table, read_table

SUFFIXES = (*OWN_SUFFIXES, *BAG_SUFFIXES)


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
) -> Recording:
    """Load a recording of one arm, in the joints of that arm.

    Reads .npz and .csv as `Recording.save` writes them, a .csv of other origin with the same names and units,
    a table without header as Wang et al. 2019 published it (q, dq and tau of every column, SI units), and ROS 1 or
    ROS 2 bags that hold `measured_js` (needs the extra `bags`).

    Args:
        arm: PSM, PSM_Si, ECM, ECM_Si, MTML or MTMR, for files that do not name their arm; tables and bags need it.
        as_recorded: keep motor columns instead of converting them to joints.
        columns: joints or motors in a table without header. Default: as published for this arm.
        rate: samples per second of a table without header [Hz]. Default: 200.
        namespace: arm in a bag, such as PSM1; needed if the bag holds several.
    """
    check_type("path", path, (str, os.PathLike), "the path of a recording")
    path = Path(path)
    if not os.path.exists(path):  # also False for a name that is too long, for which Path.exists raises
        raise TrocarError(f"the recording {path} does not exist; `trocar sim` writes one")
    if arm is not None:
        load_arm(arm)  # report an unknown arm before any problem of the file
    if is_bag(path):
        return read_bag(path, load_arm(_named(path, arm)), namespace)
    if path.suffix.lower() == ".csv" and is_table(path):
        recording = read_table(path, load_arm(_named(path, arm)), columns, rate)
    else:
        recording = Recording.load(path)
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
