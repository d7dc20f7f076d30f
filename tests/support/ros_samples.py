"""Samples of ROS topics and services with random content, intact or damaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype

from trocar.transports.codec import Codec, bag_name

TEXTS = ("", "a", "yaw", "PSM1_base", "Ünïcode", "x" * 33)


def random_message(ros_type: str, rng: np.random.Generator, ros: Codec) -> Any:
    """A message of rosbags with random values in all fields."""
    return _random_nested(bag_name(ros_type), rng, ros.store)


def _random_nested(name: str, rng: np.random.Generator, store: Any) -> Any:
    values = {field: _random_value(node, content, rng, store) for field, (node, content) in store.fielddefs[name][1]}
    if name == "builtin_interfaces/msg/Time" and rng.integers(10):
        values["nanosec"] %= 10**9
    return store.types[name](**values)


def _random_value(node: Any, content: Any, rng: np.random.Generator, store: Any) -> Any:
    if node in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        element, length = content
        count = length if node == Nodetype.ARRAY else rng.integers(0, 8)
        values = [_random_value(element[0], element[1], rng, store) for _ in range(count)]
        numeric = element[0] == Nodetype.BASE and element[1][0] != "string"
        return np.array(values, element[1][0]) if numeric else values
    if node == Nodetype.NAME:
        return _random_nested(content, rng, store)
    kind = content[0]
    if kind == "string":
        return TEXTS[rng.integers(len(TEXTS))]
    if kind == "bool":
        return bool(rng.integers(2))
    if kind.startswith("float"):
        return float(rng.choice([0.0, -1.5, 1e300 if kind == "float64" else 1e30, rng.normal()]))
    limits = np.iinfo(kind)
    if rng.integers(4) == 0:
        return (int(limits.min), 0, int(limits.max))[rng.integers(3)]
    return int(rng.integers(limits.min, limits.max, dtype=kind, endpoint=True))


def damaged(sample: bytes, rng: np.random.Generator) -> bytes:
    """A sample with some bytes changed, removed or doubled; sometimes unchanged."""
    data = bytearray(sample)
    for _ in range(rng.integers(0, 4)):
        match rng.integers(4):
            case 0 if data:
                data[rng.integers(len(data))] = rng.integers(256)
            case 1:
                del data[rng.integers(len(data) + 1) :]
            case 2 if len(data) >= 8:
                at = int(rng.integers(len(data) - 4))
                data[at : at + 4] = int(rng.choice([0, 1, 2**16, 2**31 - 1, 2**32 - 1])).to_bytes(4, "little")
            case 3:
                data += bytes(rng.integers(0, 256, rng.integers(0, 20), dtype=np.uint8))
    return bytes(data)
