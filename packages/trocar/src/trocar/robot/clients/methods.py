"""Python methods of the rows of the interface table, with the names of the packages crtk 1.4 and dvrk 2.4.

`tools/client_rows.py` writes them as code, `rows.py`: a new row of the table is a new method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.robot import messages as m
from trocar.robot.interface import TABLE, Direction, Interface, Topic
from trocar.spatial import Array

Stamped = tuple[Array, float]  # a value and the time of measurement [s]
Gains = Mapping[str, float]  # of a control law, by name
Joints = tuple[Array, Array, Array, float]  # positions, velocities, efforts and the time of measurement [s]

_UNSTAMPED = (m.Rotation,)  # states whose getters return the bare value


@dataclass(frozen=True)
class Method:
    """A method of a client.

    Attributes:
        space: namespace of its topic. name: without the namespace. hook: method of `DeviceClient` that it calls with
            `first`, which begins with the topic, and its own arguments. parameters, result: types, as in source code.
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
    kind = _argument(topic)
    parameters = f"{name}: {kind}" if kind else ""
    if end == "servo_jp":
        parameters += ", setpoint_v: ArrayLike = ()"
    moves = end.startswith("move_")
    first = topic.name, topic.message, topic.fields, moves
    return Method(space, end, "command", first, parameters, "MoveHandle" if moves else "None", doc)


def _argument(topic: Topic) -> str:
    """Type of the value that a command takes; "" for none."""
    kind = topic.message
    if kind is m.Empty or not topic.fields:
        return "" if kind is m.Empty else kind.__name__
    content = "" if kind is m.JointState else TABLE["getters"][kind.__name__][1]
    return _CONVERTERS[content][0] if content in _CONVERTERS else "ArrayLike"


def written(kind: type[m.Message], fields: tuple[str, ...], *values: Any) -> m.Message:
    """A message with values in its fields; without fields, the value is the message. The device checks the content."""
    make: Any = kind
    if kind is m.Empty:
        return kind()
    if not fields:
        return next(iter(values))
    if kind is m.JointState:
        return make(**dict(zip(fields, map(_row, values), strict=False)))
    field, content, _ = TABLE["getters"][kind.__name__]
    _, convert = _CONVERTERS.get(content, ("", _row if field == "vector" else _matrix))
    return make(**{field: convert(*values)})


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
