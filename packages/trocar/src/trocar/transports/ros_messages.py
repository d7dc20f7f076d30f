"""Classes of plain objects with default values for the ROS messages and services of the table ros_messages.toml.

A new message is one line of the table; `ros_conversion` converts its fields by their types.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from trocar.errors import check_known
from trocar.transports.ros_time import Duration, Time

_PRIMITIVES = re.compile(r"(bool|string|time|duration|u?int\d+|float\d+)(\[\d*\])?")
_PLAIN: dict[str, type] = {"bool": bool, "string": str, "time": Time, "duration": Duration}


class Field(NamedTuple):
    """A field of a message: its name, its type with package, and the attribute of the bus message that it carries."""

    name: str
    kind: str
    attribute: str


class RosMessage:
    """A message: its fields by position (all of them) or by name."""

    _table: tuple[Field, ...] = ()
    _fields: Mapping[str, str] = {}  # types by name
    _type = ""
    __slots__: tuple[str, ...] = ()
    __hash__ = None  # type: ignore[assignment]  # mutable

    if TYPE_CHECKING:  # the fields

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self.__slots__
        if values and (named or len(values) != len(names)):
            raise TypeError(f"{self._type} takes all of its fields {list(names)} by position, or some by name")
        unknown = sorted(set(named) - set(names))
        if unknown:
            raise AttributeError(f"{self._type} has no field {', '.join(unknown)}; it has {', '.join(names)}")
        named = dict(zip(names, values, strict=True)) if values else named
        for name, kind in self._fields.items():
            setattr(self, name, named[name] if name in named else _default(kind))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            _same(getattr(self, name), getattr(other, name)) for name in self.__slots__
        )

    def __repr__(self) -> str:
        return "\n".join(_lines(self)) or "{}"

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        return dict(cls._fields)


def _same(a: Any, b: Any) -> bool:
    return list(a) == list(b) if hasattr(a, "__len__") and not isinstance(a, str) else bool(a == b)


def _lines(message: RosMessage, indent: str = "") -> list[str]:
    lines: list[str] = []
    for name in message.__slots__:
        value = getattr(message, name)
        if isinstance(value, RosMessage):
            lines += [f"{indent}{name}:", *_lines(value, indent + "  ")]
        elif isinstance(value, Time | Duration):
            lines += [f"{indent}{name}:", f"{indent}  secs: {value.secs}", f"{indent}  nsecs: {value.nsecs}"]
        else:
            text = f'"{value}"' if isinstance(value, str) else value
            lines.append(f"{indent}{name}: {list(value) if hasattr(value, 'tolist') else text}")
    return lines


def _default(kind: str) -> Any:
    if kind.endswith("]"):
        element, _, length = kind[:-1].partition("[")
        return [_default(element) for _ in range(int(length or 0))]
    if kind in _PLAIN:
        return _PLAIN[kind]()
    if "/" in kind:
        return MESSAGES[kind]()
    return 0.0 if kind.startswith("float") else 0


def _message_class(full_name: str, text: str) -> type[RosMessage]:
    package, name = full_name.split("/")
    table = []
    for kind, own in (field.split() for field in text.split(",") if field.strip()):
        full = kind if "/" in kind or _PRIMITIVES.fullmatch(kind) else f"{package}/{kind}"
        field, _, attribute = own.partition("=")
        table.append(Field(field, full, attribute or field))
    members = {
        "_table": tuple(table),
        "_fields": {field.name: field.kind for field in table},
        "_type": full_name,
        "__slots__": tuple(field.name for field in table),
        "__module__": f"{package}.msg",
        "__doc__": f"{full_name}: {', '.join(f'{field.kind} {field.name}' for field in table) or 'no fields'}.",
    }
    return type(name, (RosMessage,), members)


def _service_class(full_name: str, text: str) -> Any:
    package, name = full_name.split("/")
    parts = zip(("Request", "Response"), text.split("---"), strict=True)
    classes = {part: _message_class(f"{full_name}{part}", fields) for part, fields in parts}
    return type(name, (), {**classes, "_type": full_name, "__module__": f"{package}.srv"})


_table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MESSAGES: dict[str, type[RosMessage]] = {name: _message_class(name, text) for name, text in _table["messages"].items()}
SERVICES: dict[str, Any] = {name: _service_class(name, text) for name, text in _table["services"].items()}


@functools.cache
def message_class(ros_type: str) -> type[RosMessage]:
    """Class of a message, or of a part of a service: crtk_msgs/QueryForwardKinematics_Request, ..._Response."""
    service, _, part = ros_type.rpartition("_")
    if service in SERVICES and part in ("Request", "Response"):
        return getattr(SERVICES[service], part)
    check_known("message type", MESSAGES, ros_type)
    return MESSAGES[ros_type]


def definition(message: type[RosMessage]) -> str:
    """Text of the .msg file of a message."""
    return "".join(f"{kind} {name}\n" for name, kind in message._fields.items())


def modules() -> dict[str, ModuleType]:
    """The packages as modules by name: std_msgs, std_msgs.msg, crtk_msgs.srv, ..."""
    by_name: dict[str, ModuleType] = {}

    def module(name: str) -> ModuleType:
        def refuse(missing: str) -> Any:
            raise AttributeError(missing if missing.startswith("__") else f"trocar run does not offer {name}.{missing}")

        if name not in by_name:
            by_name[name] = new = ModuleType(name, f"Stand-in for {name}.")
            new.__path__ = []  # a package, so that its parts can be imported
            new.__getattr__ = refuse  # type: ignore[method-assign]
            parent, _, own = name.rpartition(".")
            if parent:
                setattr(module(parent), own, new)
        return by_name[name]

    parts = {f"{name}{part}": getattr(SERVICES[name], part) for name in SERVICES for part in ("Request", "Response")}
    for folder, kinds in (("msg", MESSAGES), ("srv", SERVICES | parts)):
        for full_name, kind in kinds.items():
            package, name = full_name.split("/")
            setattr(module(f"{package}.{folder}"), name, kind)
    return by_name
