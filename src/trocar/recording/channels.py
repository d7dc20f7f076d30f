"""Names and units of the channels of a recording."""

from __future__ import annotations

import re

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
