"""Packets of the dVRK's controllers over UDP: a FireWire packet, before it two bytes, or after it eight.

Sources: jhu-cisst/mechatronics-software 2.2 (EthUdpPort, EthBasePort) and mechatronics-firmware. All numbers are big
endian. A request is sent to one node of the FireWire bus or, as node 63, to all. The controller answers reads only.
The client does not check CRCs, so the replies have zeros there.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

PORT = 1394  # UDP port of a controller; the client has no option for another
QUADLET_WRITE, BLOCK_WRITE, QUADLET_READ, BLOCK_READ, QUADLET_REPLY, BLOCK_REPLY = 0, 1, 4, 5, 6, 7
BROADCAST = 63  # node number of all boards
BUS = 0x3FF  # the local FireWire bus
SOURCE = 0xFFD0  # FireWire address of the client
NOT_FORWARDED = 1  # flag of a request: only for the board that is connected to Ethernet
DROPPED = 2  # flag of a reply
MAX_BLOCK = 2048  # largest request and block [bytes]

_HEAD = struct.Struct(">BBIII")
_QUADLET = struct.Struct(">I")
_QUADLET_REPLY = struct.Struct(">5I8s")
_BLOCK_REPLY = struct.Struct(">5I")
_EXTRA = struct.Struct(">BBHHH")
_TIMES = 60, 120  # receive and total time of a request [1/49.152 MHz], within the range of a real controller

_SHORT, _QUADLET_SIZE, _BLOCK_SIZE = 18, 22, 26  # [bytes] with the first two: quadlet read; with value; empty block


class Request(NamedTuple):
    """A request: `value` of a quadlet write, `length` [bytes] of a block, `data` of a block write."""

    forwarded: bool
    generation: int
    node: int
    label: int
    code: int
    address: int
    value: int = 0
    length: int = 0
    data: bytes = b""


def parse(packet: bytes) -> Request | None:
    """The request in a packet; None if it is not one, or if its length is wrong."""
    size = len(packet)
    if not _SHORT <= size <= MAX_BLOCK:
        return None
    flags, generation, q0, q1, address = _HEAD.unpack_from(packet)
    if q0 >> 22 != BUS or q1 & 0xFFFF or address > 0xFFFF:
        return None
    code = q0 >> 4 & 15
    head = not flags & NOT_FORWARDED, generation, q0 >> 16 & 63, q0 >> 10 & 63, code, address
    if code == QUADLET_READ:
        return Request(*head) if size == _SHORT else None
    if size < _QUADLET_SIZE:
        return None
    (value,) = _QUADLET.unpack_from(packet, 14)
    if code == QUADLET_WRITE:
        return Request(*head, value) if size == _QUADLET_SIZE else None
    length = value >> 16
    if not length or length % 4 or length > MAX_BLOCK:
        return None
    if code == BLOCK_READ:
        return Request(*head, 0, length) if size == _QUADLET_SIZE else None
    if code == BLOCK_WRITE and size == _BLOCK_SIZE + length:
        return Request(*head, 0, length, packet[_QUADLET_SIZE:-4])
    return None


def extra(generation: int, flags: int = 0) -> bytes:
    """The eight bytes after every reply; on their own they report a dropped request."""
    return _EXTRA.pack(flags, generation & 0xFF, 0, *_TIMES)


def quadlet_reply(request: Request, node: int, value: int, trailer: bytes) -> bytes:
    return _QUADLET_REPLY.pack(_first(request, QUADLET_REPLY), (0xFFC0 + node) << 16, 0, value & 0xFFFFFFFF, 0, trailer)


def block_reply(request: Request, node: int, data: bytes, trailer: bytes) -> bytes:
    """A reply of the requested length: data are cut, or filled with zeros."""
    length = request.length
    if len(data) != length:
        data = data[:length].ljust(length, b"\0")
    head = _BLOCK_REPLY.pack(_first(request, BLOCK_REPLY), (0xFFC0 + node) << 16, 0, length << 16, 0)
    return b"".join((head, data, b"\0\0\0\0", trailer))


def _first(request: Request, code: int) -> int:
    return SOURCE << 16 | request.label << 10 | code << 4
