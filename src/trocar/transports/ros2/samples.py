"""cyclonedds samples with encoded bytes: `codec` encodes and decodes messages, not cyclonedds.

The classes still describe their fields, so that other participants can check the type.
"""

from __future__ import annotations

import functools
from typing import Any, cast

from cyclonedds.idl import make_idl_struct
from cyclonedds.idl import types as idl
from cyclonedds.idl.annotations import final
from rosbags.interfaces import Nodetype

from trocar.transports.codec import bag_name, codec
from trocar.transports.ros2.names import dds_name


def sample_class(ros_type: str, store: Any = None) -> Any:
    """Class of the samples of a type; `sample_class(ros_type)(cdr)` is a sample, and `sample.cdr` its bytes.

    Args:
        store: types of rosbags. Default: those of the codec.
    """
    return _sample_class(ros_type, codec(2).store if store is None else store)


@functools.cache
def _sample_class(ros_type: str, store: Any) -> Any:
    members = _members(bag_name(ros_type), store)
    sample: Any = make_idl_struct(ros_type.rpartition("/")[2], dds_name(ros_type), members, dataclassify=False)
    final(sample)
    sample.__init__ = _keep
    sample.serialize = _bytes
    sample.deserialize = sample.deserialize_key = classmethod(_of)
    return sample


def _keep(self: Any, cdr: bytes) -> None:
    self.cdr = cdr


def _bytes(self: Any, **_options: object) -> bytes:
    cdr: bytes = self.cdr
    return cdr


def _of(cls: Any, data: bytes, **_options: object) -> Any:
    return cls(data)


def _members(bag_type: str, store: Any) -> dict[str, Any]:
    return {name: _member(description, store) for name, description in store.fielddefs[bag_type][1]}


def _member(description: Any, store: Any) -> Any:
    """Type of a field in IDL, by its description in rosbags."""
    node, content = description
    if node in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        element, length = _member(content[0], store), content[1]
        return cast(Any, idl.array)[element, length] if node == Nodetype.ARRAY else cast(Any, idl.sequence)[element]
    if node == Nodetype.NAME:
        return _nested(content, store)
    plain = {"string": str, "bool": bool, "char": idl.uint8, "byte": idl.uint8}
    return plain.get(content[0]) or getattr(idl, content[0])


@functools.cache
def _nested(bag_type: str, store: Any) -> Any:
    ros_type = bag_type.replace("/msg/", "/")
    return final(make_idl_struct(ros_type.rpartition("/")[2], dds_name(ros_type), _members(bag_type, store)))
