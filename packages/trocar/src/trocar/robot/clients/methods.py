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
        function: Any = namespace[self.flat_name]
        function.__doc__, function.row = self.doc, self
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
        parameters = TABLE["parameters"].get(service.ros, service.parameters)
        doc = f"Answer of {service.name}{'; with extra: (value, result, message)' * ('extra' in parameters)}."
        yield Method(space, end, "ask", (service.name,), parameters, service.result, service.about or doc)


def _getters(topic: Topic, space: str, end: str) -> Iterator[Method]:
    parameters, content = "wait_timeout: float | None = None", TABLE["getters"].get(topic.message.__name__)
    if topic.message is m.JointState:
        for letter, (fields, doc) in content.items():
            result = "Joints" if len(fields) > 1 else "Stamped"
            doc = f"{doc} and the time of measurement [s]."
            yield Method(space, end[:-1] + letter, "read", (topic.name, tuple(fields), True), parameters, result, doc)
    elif content is not None:
        field, kind, doc = content
        stamped = topic.direction is Direction.state and topic.message not in _UNSTAMPED
        doc = f"{doc} and the time of measurement [s]." if stamped else f"{doc} of {topic.name}."
        result = "Stamped" if stamped else kind
        yield Method(space, end, "read", (topic.name, (field,), stamped), parameters, result, doc)


def _command(topic: Topic, space: str, end: str) -> Method:
    default = end.removeprefix("set_") if end.startswith("set_") else "value"
    name, doc = TABLE["commands"].get(end, (default, f"Send a command to {topic.name}."))
    kind, message = writer(topic)
    parameters = f"{name}: {kind}" if kind else ""
    if end == "servo_jp":
        parameters += ", setpoint_v: ArrayLike = ()"
    moves = end.startswith("move_")
    first = topic.name, message, moves
    return Method(space, end, "command", first, parameters, "MoveHandle" if moves else "None", doc)


def writer(topic: Topic) -> tuple[str, Callable[..., m.Message]]:
    """Type of the value that a topic transports, and the message made from it. The device checks the content."""
    kind: Any = topic.message
    if kind is m.Empty:
        return "", lambda *_: kind()
    if not topic.fields:
        return kind.__name__, lambda message: message
    if topic.message is m.JointState:
        return "ArrayLike", lambda *values: kind(**dict(zip(topic.fields, map(_row, values), strict=False)))
    field, content, _ = TABLE["getters"][kind.__name__]
    argument, convert = _CONVERTERS.get(content, ("ArrayLike", _row if field == "vector" else _matrix))
    return argument, lambda value: kind(**{field: convert(value)})


def _row(values: ArrayLike) -> Array:
    return np.array(values, dtype=float).reshape(-1)


def _matrix(values: ArrayLike) -> Array:
    return np.array(values, dtype=float)


# Argument of a command and its conversion to the content of a message, by the type of the content.
_CONVERTERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "bool": ("bool", bool),
    "float": ("float", float),
    "str": ("str", lambda text: text),
    "tuple[int, ...]": ("int", lambda button: (int(button),)),
}
