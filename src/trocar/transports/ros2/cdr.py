"""CDR, the encoding of DDS messages in ROS 2: plain CDR version 1 after a header of four bytes.

The result is byte-identical to that of rosbags; a test compares every type. Numbers are aligned to their size, counted
from the end of the header. Decoding does not trust its input: lengths are compared with the remaining bytes first.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.transports.ros2.types import PRIMITIVES, UNUSED, Field, fields, message_class
from trocar.transports.ros_time import Time

LITTLE, BIG = b"\x00\x01\x00\x00", b"\x00\x00\x00\x00"
HEADER = len(LITTLE)
LONGEST = 1 << 20  # largest message to decode [bytes]

Write = Callable[[bytearray, Any], None]
Read = Callable[["Bytes"], Any]


def encode(message: Any, name: str, prefix: bytes = b"") -> bytes:
    """Bytes of a message.

    Args:
        prefix: bytes between header and message, such as the identity of a request; a multiple of 8 bytes.
    """
    out = bytearray(prefix)
    _writer(name)(out, message)
    return LITTLE + bytes(out)


def decode(data: bytes, name: str, prefix: int = 0) -> Any:
    """The message in the bytes of a sample, as an object of `types.message_class`.

    Sequences of numbers are arrays of numpy. The first `prefix` bytes are skipped.

    Raises:
        TrocarError: the bytes are not a message of this type.
    """
    if len(data) > LONGEST:
        raise TrocarError(f"a sample of {name} has {len(data)} bytes, at most {LONGEST} are read")
    if len(data) < HEADER or data[0] != 0 or data[1] > 1:
        raise TrocarError(f"a sample of {name} is not in plain CDR: it begins with {data[:4].hex() or 'nothing'}")
    source = Bytes(data, "<" if data[1] else ">", HEADER + prefix)
    try:
        return _reader(name)(source)
    except (struct.error, ValueError, OverflowError) as error:
        raise TrocarError(f"a sample of {name} cannot be decoded: {error}") from error


class Bytes:
    """Bytes of a sample with a position. Byte order: "<" or ">"."""

    __slots__ = ("at", "data", "order")

    def __init__(self, data: bytes, order: str, at: int) -> None:
        self.data, self.order, self.at = data, order, at

    def align(self, size: int) -> None:
        self.at += -(self.at - HEADER) % size

    def count(self, smallest: int) -> int:
        """Length of a sequence whose elements take at least `smallest` bytes."""
        self.align(4)
        (found,) = struct.unpack_from(self.order + "I", self.data, self.at)
        self.at += 4
        if found * smallest > len(self.data) - self.at:
            raise ValueError(f"it announces {found} elements, {len(self.data) - self.at} bytes are left")
        return int(found)

    def take(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        if len(found) < size:
            raise ValueError(f"it ends after {len(self.data)} bytes")
        self.at += size
        return found


# -- messages ----------------------------------------------------------------------------------------------------------


@functools.cache
def _writer(name: str) -> Write:
    parts = [(field.name, _write_field(field)) for field in fields(name)]
    if parts[0][0] == UNUSED:
        return lambda out, message: out.append(0)

    def write(out: bytearray, message: Any) -> None:
        for key, part in parts:
            part(out, getattr(message, key))

    return write


@functools.cache
def _reader(name: str) -> Read:
    make, parts = message_class(name), [(field.name, _read_field(field)) for field in fields(name)]
    if parts[0][0] == UNUSED:
        return lambda source: make()

    def read(source: Bytes) -> Any:
        return make(**{key: part(source) for key, part in parts})

    return read


def _write_field(field: Field) -> Write:
    if field.length is None:
        return _write_one(field.kind)
    if field.kind in PRIMITIVES:
        return _write_numbers(field)
    one, name = _write_one(field.kind), field.name

    def write(out: bytearray, values: Any) -> None:
        _write_count(out, len(values), field.length, name)
        for value in values:
            one(out, value)

    return write


def _read_field(field: Field) -> Read:
    if field.length is None:
        return _read_one(field.kind)
    if field.kind in PRIMITIVES:
        return _read_numbers(field)
    one, fixed = _read_one(field.kind), field.length
    return lambda source: [one(source) for _ in range(fixed or source.count(1))]


def _write_count(out: bytearray, count: int, fixed: int | None, name: str) -> None:
    if not fixed:
        out.extend(bytes(-len(out) % 4))
        out.extend(struct.pack("<I", count))
    elif count != fixed:
        raise TrocarError(f"the field {name} has {fixed} elements, got {count}")


# -- values ------------------------------------------------------------------------------------------------------------


def _write_one(kind: str) -> Write:
    if kind == "string":
        return _write_string
    if kind == "time":
        return _write_time
    if kind not in PRIMITIVES:
        return _writer(kind)
    packer = struct.Struct("<" + PRIMITIVES[kind])

    def write(out: bytearray, value: Any) -> None:
        out.extend(bytes(-len(out) % packer.size))
        out.extend(packer.pack(value))

    return write


def _read_one(kind: str) -> Read:
    if kind == "string":
        return _read_string
    if kind == "time":
        return _read_time
    if kind not in PRIMITIVES:
        return _reader(kind)
    code = PRIMITIVES[kind]
    unpackers = {order: struct.Struct(order + ("B" if code == "?" else code)) for order in "<>"}
    size, make = unpackers["<"].size, bool if code == "?" else None

    def read(source: Bytes) -> Any:
        source.align(size)
        (value,) = unpackers[source.order].unpack_from(source.data, source.at)
        source.at += size
        return make(value) if make else value

    return read


def _write_string(out: bytearray, value: str) -> None:
    text = value.encode()
    out.extend(bytes(-len(out) % 4))
    out.extend(struct.pack("<I", len(text) + 1))
    out.extend(text)
    out.append(0)


def _read_string(source: Bytes) -> str:
    text = source.take(source.count(1))
    return text[: -1 if text.endswith(b"\0") else None].decode()


def _write_time(out: bytearray, value: Any) -> None:
    out.extend(bytes(-len(out) % 4))
    out.extend(struct.pack("<iI", value.secs, value.nsecs))


def _read_time(source: Bytes) -> Time:
    source.align(4)
    seconds, nanoseconds = struct.unpack_from(source.order + "iI", source.data, source.at)
    source.at += 8
    return Time.of(seconds * 10**9 + nanoseconds)


def _write_numbers(field: Field) -> Write:
    kind, fixed = np.dtype("<" + PRIMITIVES[field.kind]), field.length

    def write(out: bytearray, values: Any) -> None:
        array = np.frombuffer(values, kind) if isinstance(values, bytes) else np.asarray(values, kind)
        _write_count(out, len(array), fixed, field.name)
        if len(array):
            out.extend(bytes(-len(out) % kind.itemsize))
            out.extend(array.tobytes())

    return write


def _read_numbers(field: Field) -> Read:
    kinds = {order: np.dtype(order + PRIMITIVES[field.kind]) for order in "<>"}
    size, fixed = kinds["<"].itemsize, field.length

    def read(source: Bytes) -> Any:
        count = fixed or source.count(size)
        if not count:
            return np.zeros(0, kinds["<"])
        source.align(size)
        return np.frombuffer(source.take(size * count), kinds[source.order])

    return read
