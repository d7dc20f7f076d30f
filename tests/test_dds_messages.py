"""Messages of ROS 2: bytes, names and hashes, compared with rosbags."""

import dataclasses

import numpy as np

import pytest

from tests import odd_values
from trocar.crtk import messages as m
from trocar.crtk.interface import INTERFACES
from trocar.crtk.standins.ros_conversion import to_ros
from trocar.crtk.standins.ros_time import Time
from trocar.errors import TrocarError
from trocar.ros.dds import cdr, types
from trocar.ros.dds.template import Template

TOPIC_TYPES = {topic.ros for interface in INTERFACES.values() for topic in interface.topics}
SERVICE_TYPES = {service.ros for interface in INTERFACES.values() for service in interface.services}
ALL_TYPES = sorted(
    TOPIC_TYPES | {f"{name}_{part}" for name in SERVICE_TYPES for part in ("Request", "Response")}
) + [types.PARTICIPANT_INFO]
ROUNDS = odd_values.rounds(20)
TEXTS = ("", "a", "yaw", "PSM1_base", "Ünïcode", "x" * 33)


def random_message(name, rng):
    """A message of a type with random values in all fields."""
    made = types.message_class(name)()
    for field in types.fields(name):
        if field.name != types.UNUSED:
            setattr(made, field.name, random_value(field, rng))
    return made


def random_value(field, rng):
    if field.count is not None:
        length = field.count or int(rng.integers(0, 8))
        if field.kind in types.PRIMITIVES:
            return np.array([random_one(field.kind, rng) for _ in range(length)], types.PRIMITIVES[field.kind])
        return [random_one(field.kind, rng) for _ in range(length)]
    return random_one(field.kind, rng)


def random_one(kind, rng):
    if kind == "string":
        return TEXTS[rng.integers(len(TEXTS))]
    if kind == "time":
        return Time.of(int(rng.integers(0, 2**31)) * 10**9 + int(rng.integers(0, 10**9)))
    if kind == "bool":
        return bool(rng.integers(2))
    if kind.startswith("float"):
        return float(rng.choice([0.0, -1.5, 1e300 if kind == "float64" else 1e30, rng.normal()]))
    if kind in types.PRIMITIVES:
        limits = np.iinfo(kind)
        return int(rng.integers(limits.min, limits.max, dtype=kind, endpoint=True))
    return random_message(kind, rng)


def in_rosbags(message, name):
    """The same message as an object of rosbags."""
    store = types.type_store()
    values = {}
    for field in types.fields(name):
        value = 0 if field.name == types.UNUSED else getattr(message, field.name)
        if field.kind == "time":
            value = store.types["builtin_interfaces/msg/Time"](sec=value.secs, nanosec=value.nsecs)
        elif field.kind not in types.PRIMITIVES and field.kind != "string":
            one = field.count is None
            value = in_rosbags(value, field.kind) if one else [in_rosbags(x, field.kind) for x in value]
        values[field.name] = value
    return store.types[types.bag_name(name)](**values)


def same(a, b, name):
    """Compare two messages field by field, to the bit."""
    for field in types.fields(name):
        if field.name == types.UNUSED:
            continue
        x, y = getattr(a, field.name), getattr(b, field.name)
        nested = field.kind not in types.PRIMITIVES and field.kind not in ("string", "time")
        if field.count is not None and not nested:
            assert list(x) == list(y)
        elif field.count is not None:
            assert len(x) == len(y)
            for one, other in zip(x, y, strict=True):
                same(one, other, field.kind)
        elif nested:
            same(x, y, field.kind)
        else:
            assert x == y


@pytest.mark.parametrize("name", ALL_TYPES)
def test_bytes_are_those_of_rosbags_and_decode_to_the_same_message(name):
    rng = np.random.default_rng(odd_values.SEED)
    for _ in range(ROUNDS):
        message = random_message(name, rng)
        ours = cdr.encode(message, name)
        assert ours == bytes(types.type_store().serialize_cdr(in_rosbags(message, name), types.bag_name(name)))
        same(cdr.decode(ours, name), message, name)
