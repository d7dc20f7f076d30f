"""Devices and motion commands among the topics of a ROS system, for ROS 1 and ROS 2 alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from trocar.robot.interface import INTERFACES, Direction, Topic

MOTIONS = re.compile(r"/(servo|move|interpolate)_\w+$|/(hold|free)$")
# Commands of efforts and wrenches, which an arm obeys until the next command.
EFFORTS = ("servo_jf", "servo_cf", "servo_cs", "servo_ci")

# Kinds of devices by a topic that only they have, and kinds that have the same with more; the first that fits counts.
KINDS = {
    "jaw/measured_js": "PSM",
    "gripper/measured_js": "MTM",
    "endoscope_type": "ECM",
    "trajectory_j/ratio": "ARM",
    "set_reference_arm": "SUJ",
    "power_on": "SYSTEM",
    "teleop/enable": "CONSOLE",
    "coag": "FOOT_PEDALS",
    "alignment_offset": "TELEOP_PSM",
    "local/measured_cp": "SUJ_ARM",
}
# Topics of the table by type in ROS, and by name and type.
BY_TYPE = {t.ros: t for interface in INTERFACES.values() for t in interface.topics}
_BY_NAME = {(t.name, t.ros): t for interface in INTERFACES.values() for t in interface.topics}


def _listed(name: str, ros: str) -> Topic | None:
    """The topic of the table that a name ends in, below a device."""
    parts = name.split("/")
    endings = ("/".join(parts[k:]) for k in range(1, len(parts)))
    return next((_BY_NAME[ending, ros] for ending in endings if (ending, ros) in _BY_NAME), None)


def topics_of_nodes(
    published: Mapping[str, str], subscribed: Mapping[str, str], latched: Collection[str] | None = None
) -> dict[str, Topic]:
    """Topics of other nodes as on a bus, of types that the table has.

    Clients publish commands and subscribe to states. Of a topic that is both published and subscribed, the table
    decides which end is the robot's.

    Args:
        published, subscribed: types in ROS by name. latched: names of events. Default: those of the table.
    """
    topics: dict[str, Topic] = {}
    for name, ros in {**subscribed, **published}.items():
        if ros not in BY_TYPE:
            continue
        known = _listed(name, ros)
        usual = known.direction if known is not None else Direction.state
        if name in subscribed and (name not in published or usual is Direction.command):
            direction = Direction.command
        elif usual is Direction.event if latched is None else name in latched:
            direction = Direction.event
        else:
            direction = Direction.state
        topics[name] = replace(known or BY_TYPE[ros], name=name, direction=direction)
    return topics


def devices(topics: Iterable[str]) -> dict[str, str]:
    """Kind of interface of every device among topics."""
    names = tuple(topics)
    kinds: dict[str, str] = {}
    for own, kind in KINDS.items():
        for name in names:
            device = name.removesuffix(f"/{own}")
            if device and device != name:
                kinds.setdefault(device, kind)
    return kinds
