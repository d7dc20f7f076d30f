"""The whole interface of the dVRK as one table, interface.toml: every topic and service of every kind of device.

In-process clients, ROS and DDS nodes and the conformance check use it. Names are relative to the device: `measured_js`
of PSM1 is `PSM1/measured_js`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from trocar.robot import messages as m

RATE = 100.0  # rate of state topics on the dVRK [Hz]


class Direction(StrEnum):
    """Sender and timing: the robot at a fixed rate, the robot on an event, or the client."""

    state = "state"
    event = "event"
    command = "command"


@dataclass(frozen=True)
class Topic:
    """A topic.

    Attributes:
        name: relative to its device, or absolute on a bus. message: its type. ros: the type in ROS.
        latched: a new subscriber receives the last message. rate: [Hz] of state topics, 0 otherwise.
    """

    name: str
    message: type[m.Message]
    direction: Direction
    ros: str

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of its message with the values of a command or event; () if that is nothing, or the whole message."""
        if self.message is m.JointState:
            field = {"v": "velocity", "f": "effort"}.get(self.name[-1], "position")
            return (field, "velocity") if self.name.endswith("servo_jp") else (field,)
        return tuple(TABLE["getters"].get(self.message.__name__, ())[:1])

    def values(self, message: m.Message) -> tuple[Any, ...]:
        """Values of a message, the arguments of the command."""
        if not self.fields and self.message is not m.Empty:
            return (message,)
        return tuple(getattr(message, field) for field in self.fields)

    @property
    def latched(self) -> bool:
        return self.direction is Direction.event

    @property
    def rate(self) -> float:
        return RATE if self.direction is Direction.state else 0.0


@dataclass(frozen=True)
class Service:
    """A service.

    Attributes:
        ros: type in ROS; "" for a service in process only. parameters, result, about: of its method in the client, if
            the type in ROS does not determine them.
    """

    name: str
    ros: str = ""
    parameters: str = ""
    result: str = "Any"
    about: str = ""


Row = TypeVar("Row", Topic, Service)


@dataclass(frozen=True)
class Interface:
    """Topics and services of one kind of device.

    Attributes:
        local: served in process only; not part of the dVRK's interface, and unknown to ROS, bags and the check.
    """

    topics: tuple[Topic, ...]
    services: tuple[Service, ...] = ()
    local: bool = False

    def __add__(self, other: Interface) -> Interface:
        return Interface(self.topics + other.topics, self.services + other.services)

    def part(self, space: str) -> Interface:
        """Rows of a namespace, without its name."""
        start = f"{space}/"

        def rows(of: tuple[Row, ...]) -> tuple[Row, ...]:
            return tuple(replace(row, name=row.name.removeprefix(start)) for row in of if row.name.startswith(start))

        return Interface(rows(self.topics), rows(self.services))

    def topic(self, name: str) -> Topic:
        return next(topic for topic in self.topics if topic.name == name)


TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _interface(kind: str) -> Interface:
    """Rows of a kind of device in the table; see the head of interface.toml."""
    rows, messages = TABLE[kind], TABLE["messages"]
    topics = tuple(
        Topic(name, getattr(m, messages[key][0]), Direction(direction), messages[key][1])
        for part in (rows, rows.get("last", {}))
        for direction in part
        if direction in tuple(Direction)
        for key, names in part[direction].items()
        for name in names
    )
    services = tuple(Service(name, ros) for ros, names in rows.get("service", {}).items() for name in names)
    local = tuple(Service(name, "", *method) for name, method in rows.get("local", {}).items())
    own = Interface(topics, services + local, local=bool(local))
    return _interface(rows["like"]) + own if "like" in rows else own


# Interfaces of the dVRK by kind of device; the other tables have names in lower case.
_OTHER = ("DEVICE", "SIMULATION", "SIMULATED_ARM")
INTERFACES: Mapping[str, Interface] = MappingProxyType(
    {kind: _interface(kind) for kind in TABLE if kind.isupper() and kind not in _OTHER}
)
ARM, PSM, ECM, MTM, SUJ, SUJ_ARM = (INTERFACES[kind] for kind in ("ARM", "PSM", "ECM", "MTM", "SUJ", "SUJ_ARM"))
SYSTEM, CONSOLE, FOOT_PEDALS = (INTERFACES[kind] for kind in ("SYSTEM", "CONSOLE", "FOOT_PEDALS"))
TELEOP_PSM, TELEOP_ECM = INTERFACES["TELEOP_PSM"], INTERFACES["TELEOP_ECM"]
PEDALS = tuple(topic.name for topic in FOOT_PEDALS.topics)
# The simulation itself, for windows in the same process.
SIMULATION, SIMULATED_ARM = _interface("SIMULATION"), _interface("SIMULATED_ARM")
# Namespaces of devices with clients of their own.
WRENCH_FRAME, LOCAL_FRAME = ARM.part("spatial"), ARM.part("local")
JAW, GRIPPER, SUJ_FRAME = PSM.part("jaw"), MTM.part("gripper"), SUJ_ARM.part("local")
# Rows that scripts can add to their own classes; no dVRK serves servo_jv and servo_cv.
FEATURES = Interface(
    (
        *ARM.topics,
        *WRENCH_FRAME.topics,
        Topic("servo_jv", m.JointState, Direction.command, "sensor_msgs/JointState"),
        Topic("servo_cv", m.Twist, Direction.command, "geometry_msgs/TwistStamped"),
    ),
    ARM.services,
)
