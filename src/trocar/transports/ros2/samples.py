"""cyclonedds samples with encoded bytes: `cdr` encodes and decodes messages, not cyclonedds.

The classes still describe their fields, so that other participants can check the type.
"""

from __future__ import annotations

import functools
from typing import Any, cast

from cyclonedds.idl import make_idl_struct
from cyclonedds.idl import types as idl

from trocar.transports.ros2.types import PRIMITIVES, Field, dds_name, fields

# Identity of a request (client and call), before the message in both directions (rmw_cyclonedds).
REQUEST_HEADER = 16
_HEADER = {"client": idl.uint64, "number": idl.int64}


@functools.cache
def sample_class(name: str) -> Any:
    """Class of the samples of a message type; `sample_class(name)(cdr)` is a sample, and `sample.cdr` its bytes."""
    made = make_idl_struct(name, dds_name(name), _members(name), dataclassify=False)
    return _of_bytes(made)


def _of_bytes(made: Any) -> Any:
    made.__idl_annotations__["extensibility"] = "final"
    made.__init__ = _keep
    made.serialize = _bytes
    made.deserialize = made.deserialize_key = classmethod(_of)
    return made


def _keep(self: Any, cdr: bytes) -> None:
    self.cdr = cdr


def _bytes(self: Any, **_options: object) -> bytes:
    cdr: bytes = self.cdr
    return cdr


def _of(cls: Any, data: bytes, **_options: object) -> Any:
    return cls(data)


def _members(name: str) -> dict[str, Any]:
    header = _HEADER if name.endswith(("_Request", "_Response")) else {}
    return header | {field.ros: _member(field) for field in fields(name)}


def _member(field: Field) -> Any:
    kind, listed = _kind(field.kind), cast(Any, idl.array if field.length else idl.sequence)
    if field.length is None:
        return kind
    return listed[kind, field.length] if field.length else listed[kind]


@functools.cache
def _kind(kind: str) -> Any:
    if kind == "string":
        return str
    if kind == "bool":
        return bool
    if kind in PRIMITIVES:
        return getattr(idl, kind)
    if kind == "time":
        made = make_idl_struct(
            "Time", "builtin_interfaces::msg::dds_::Time_", {"sec": idl.int32, "nanosec": idl.uint32}
        )
    else:
        made = make_idl_struct(kind.partition("@")[0].rpartition("/")[2], dds_name(kind), _members(kind))
    made.__idl_annotations__["extensibility"] = "final"
    return made
