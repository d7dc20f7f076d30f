"""Requests to the controller boards: what the dVRK sends, with zeros for CRCs."""

from __future__ import annotations

import struct

from trocar.transports.fpga import packets


def _quadlet(value: int) -> bytes:
    return struct.pack(">I", value)


def quadlet_read(node: int, address: int, **options: int) -> bytes:
    return _request(node, address, packets.QUADLET_READ, b"", **options)


def quadlet_write(node: int, address: int, value: int, **options: int) -> bytes:
    return _request(node, address, packets.QUADLET_WRITE, _quadlet(value), **options)


def block_read(node: int, address: int, length: int, **options: int) -> bytes:
    return _request(node, address, packets.BLOCK_READ, _quadlet(length << 16), **options)


def block_write(node: int, address: int, data: bytes, **options: int) -> bytes:
    return _request(node, address, packets.BLOCK_WRITE, _quadlet(len(data) << 16) + b"\0\0\0\0" + data, **options)


def _request(
    node: int, address: int, code: int, rest: bytes, *, flags: int = 0, generation: int = 1, label: int = 0
) -> bytes:
    first = (0xFFC0 + node) << 16 | (label & 63) << 10 | code << 4
    return struct.pack(">BBIII", flags, generation, first, packets.SOURCE << 16, address) + rest + b"\0\0\0\0"
