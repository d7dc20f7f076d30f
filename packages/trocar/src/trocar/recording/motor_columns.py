"""Channels of a recording: names, units, and columns of motors instead of joints.

q = T q_columns and tau_columns = T' tau, with T from the coupling of the arm and its instrument.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from trocar.arms import Arm
from trocar.arms.tables import read, stem
from trocar.errors import TrocarError, UnknownName
from trocar.spatial import Array

# Units of the joint channels by the unit of the joint's position.
UNITS: dict[str, dict[str, str]] = {
    "q": {"rad": "rad", "m": "m"},
    "dq": {"rad": "rad/s", "m": "m/s"},
    "ddq": {"rad": "rad/s^2", "m": "m/s^2"},
    "tau": {"rad": "N m", "m": "N"},
}
SPACES = ("joints", "motors")  # coordinates of the columns
# Commands that are not joint channels: columns and unit.
TIP_COMMANDS: dict[str, tuple[str, str]] = {"tip_position": ("xyz", "m")}

NAME = re.compile(r"[A-Za-z][\w.-]*")
JOINT_COLUMN = re.compile(r"(command_)?(q|dq|ddq|tau)_(.+)")


def joint_from_columns(arm: Arm, columns: Sequence[str]) -> Array:
    """T (n, n) for columns that are each a joint or a motor of the arm."""
    inverse = np.linalg.inv(arm.motors.coupling)
    rows = []
    for name in columns:
        if name in arm.joint_names:
            rows.append(np.eye(arm.n)[arm.joint_names.index(name)])
        elif name in arm.motors.names:
            rows.append(inverse[arm.motors.names.index(name)])
        else:
            raise UnknownName(f"joint or motor of {arm.name}", name, (*arm.joint_names, *arm.motors.names))
    column_from_joint = np.array(rows)
    if len(rows) != arm.n or abs(np.linalg.det(column_from_joint)) < 1e-9:
        raise TrocarError(f"{', '.join(columns)} do not determine the {arm.n} joints of {arm.name}")
    return np.linalg.inv(column_from_joint)


def column_units(arm: Arm, columns: Sequence[str]) -> tuple[str, ...]:
    """Unit of each column, "rad" or "m": the unit of the first joint that the column moves."""
    T = joint_from_columns(arm, columns)
    return tuple(arm.joint_units[int(np.flatnonzero(T[:, j])[0])] for j in range(arm.n))


def space_of(arm: Arm, columns: Sequence[str]) -> str:
    """ "motors" if any column is a motor and not a joint of the arm, otherwise "joints"."""
    return "motors" if set(columns) & (set(arm.motors.names) - set(arm.joint_names)) else "joints"


def table_columns(arm: Arm) -> tuple[str, ...]:
    """Columns of a table without header: as in the published tables of this arm, or its joints if there are none."""
    return tuple(read(stem(arm.name)).get("recordings", {}).get("columns", arm.joint_names))
