"""Python methods of the rows of the interface table, with the names of the packages crtk 1.4 and dvrk 2.4.

The clients in `devices` and `crtk.utils` of scripts are built from them: a new row of the table is a new method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trocar.robot import messages as m
from trocar.robot.interface import TABLE, Direction, Interface, Service, Topic
from trocar.spatial import Array

Stamped = tuple[Array, float]  # a value and the time of measurement [s]
Gains = Mapping[str, float]  # of a control law, by name
Joints = tuple[Array, Array, Array, float]  # positions, velocities, efforts and the time of measurement [s]

# Field of a message that a getter returns, its type and description; all of JointState in `_JOINTS`.
_CONTENT: dict[type[m.Message], tuple[str, str, str]] = {
    m.Pose: ("T", "Array", "Pose (4, 4) [m]"),
    m.Twist: ("vector", "Array", "Twist (6,) [m/s, rad/s]"),
    m.Wrench: ("vector", "Array", "Wrench (6,) [N, N m], computed from motor currents,"),
    m.Matrix: ("values", "Array", "Jacobian (6, n), linear rows first,"),
    m.Rotation: ("R", "Array", "Rotation (3, 3)"),
    m.Bool: ("value", "bool", "Last value"),
    m.Float: ("value", "float", "Last value"),
    m.String: ("value", "str", "Last text"),
    m.Joy: ("buttons", "tuple[int, ...]", "Last state (0 released, 1 pressed, 2 clicked)"),
}
_JOINTS = {
    "s": (("position", "velocity", "effort"), "Joint positions [rad, m], velocities, efforts [N m, N]"),
    "p": (("position",), "Joint positions [rad, m]"),
    "v": (("velocity",), "Joint velocities [rad/s, m/s]"),
    "f": (("effort",), "Joint efforts [N m, N]"),
}
# Parameters of services, by their type in ROS.
_SERVICES = {
    "crtk_msgs/QueryForwardKinematics": "jp: ArrayLike, extra: Any = None",
    "crtk_msgs/QueryInverseKinematics": "jp: ArrayLike, cp: ArrayLike, extra: Any = None",
    "cisst_msgs/ConvertFloat64Array": "values: ArrayLike",
}
Row = TypeVar("Row", Topic, Service)
_UNSTAMPED = (m.Rotation,)  # states whose getters return the bare value


@dataclass(frozen=True)
class Method:
    """A method of a client.

    Attributes:
        space: namespace of its topic. name: without the namespace. hook: method of `DeviceClient` that it calls with
            `first` and its own arguments. parameters, result: types, as in source code.
    """

    space: str
    name: str
    hook: str
    first: tuple[Any, ...]
    parameters: str
    result: str
    doc: str

    @property
    def flat_name(self) -> str:
        """Name with the namespace, such as trajectory_j_ratio."""
        return "_".join([*self.space.split("/"), self.name]).lstrip("_")

    def function(self) -> Callable[..., Any]:
        """The method as a function of a client; its attribute `row` is this object."""
        names = [parameter.partition(":")[0] for parameter in self.parameters.split(", ") if parameter]
        head = f"def {self.flat_name}({', '.join(['self', *filter(None, [self.parameters])])}) -> {self.result}:"
        body = f"return self.{self.hook}({', '.join(['*first', *names])})"
        namespace: dict[str, Any] = {"first": self.first}
        exec(f"from __future__ import annotations\n{head}\n    {body}", namespace)
        function: Callable[..., Any] = namespace[self.flat_name]
        function.__doc__, function.row = self.doc, self  # type: ignore[attr-defined]
        return function


def part(interface: Interface, prefix: str) -> Interface:
    """Rows of a namespace, without its name."""
    start = f"{prefix}/"

    def rows(of: tuple[Row, ...]) -> tuple[Row, ...]:
        return tuple(replace(row, name=row.name.removeprefix(start)) for row in of if row.name.startswith(start))

    return Interface(rows(interface.topics), rows(interface.services))


def methods(interface: Interface) -> Iterator[Method]:
    """Methods of all rows of an interface. A value that a command sets has a second getter: trajectory_j_get_ratio."""
    names = {topic.name for topic in interface.topics}
    for topic in interface.topics:
        space, slash, end = topic.name.rpartition("/")
        if topic.direction is Direction.command:
            yield _command(topic, space, end)
            continue
        for getter in _getters(topic, space, end):
            yield getter
            if f"{space}{slash}set_{end}" in names:
                yield replace(getter, name=f"get_{end}")
    for service in interface.services:
        space, _, end = service.name.rpartition("/")
        parameters = _SERVICES.get(service.ros, service.parameters)
        doc = f"Answer of {service.name}{'; with extra: (value, result, message)' * ('extra' in parameters)}."
        yield Method(space, end, "ask", (service.name,), parameters, service.result, service.about or doc)


def _getters(topic: Topic, space: str, end: str) -> Iterator[Method]:
    parameters = "wait_timeout: float | None = None"
    if topic.message is m.JointState:
        for letter, (fields, doc) in _JOINTS.items():
            result = "Joints" if len(fields) > 1 else "Stamped"
            doc = f"{doc} and the time of measurement [s]."
            yield Method(space, end[:-1] + letter, "read", (topic.name, fields, True), parameters, result, doc)
    elif topic.message in _CONTENT:
        field, kind, doc = _CONTENT[topic.message]
        stamped = topic.direction is Direction.state and topic.message not in _UNSTAMPED
        doc = f"{doc} and the time of measurement [s]." if stamped else f"{doc} of {topic.name}."
        result = "Stamped" if stamped else kind
        yield Method(space, end, "read", (topic.name, (field,), stamped), parameters, result, doc)


def _command(topic: Topic, space: str, end: str) -> Method:
    default = end.removeprefix("set_") if end.startswith("set_") else "value"
    name, doc = TABLE["commands"].get(end, (default, f"Send a command to {topic.name}."))
    kind, message = _writer(topic)
    parameters = f"{name}: {kind}" if kind else ""
    if end == "servo_jp":
        parameters += ", setpoint_v: ArrayLike = ()"
    moves = end.startswith("move_")
    first = topic.name, message, moves
    return Method(space, end, "command", first, parameters, "MoveHandle" if moves else "None", doc)


def _writer(topic: Topic) -> tuple[str, Callable[..., m.Message]]:
    """Type of the argument of a command, and the message made from it. The device checks the content."""
    kind: Any = topic.message
    if topic.message is m.JointState:
        if topic.name.endswith("servo_jp"):
            return "ArrayLike", lambda p, v: kind(position=_row(p), velocity=_row(v))
        field = {"v": "velocity", "f": "effort"}.get(topic.name[-1], "position")
        return "ArrayLike", lambda values: kind(**{field: _row(values)})
    if kind in (m.Twist, m.Wrench):
        return "ArrayLike", lambda vector: kind(vector=_row(vector))
    if kind in (m.Pose, m.Rotation):
        field = "T" if kind is m.Pose else "R"
        return "ArrayLike", lambda matrix: kind(**{field: np.array(matrix, dtype=float)})
    if kind in (m.Bool, m.Float):
        convert = bool if kind is m.Bool else float
        return convert.__name__, lambda value: kind(value=convert(value))
    return {
        m.String: ("str", lambda value: kind(value=value)),
        m.Joy: ("int", lambda button: kind(buttons=(button,))),
        m.Empty: ("", kind),
    }.get(kind, (kind.__name__, lambda message: message))


def _row(values: ArrayLike) -> Array:
    return np.array(values, dtype=float).reshape(-1)
