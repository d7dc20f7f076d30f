"""Bytes of CoppeliaSim's legacy remote API, version 11: packets, messages and commands. All numbers are little-endian.

A message travels as packets; it holds a header and commands. A command has a number, an operation mode, a key, which
with the number identifies it (an object's handle, a signal's name), and data. A large command can be split into pieces.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from trocar.errors import TrocarError

PACKET = struct.Struct("<hhh")  # 1, bytes of payload, packets of this message still to come
HEADER = struct.Struct("<HBiiiHB")  # checksum (not used), version, message, client time, server time, scene, state
COMMAND = struct.Struct("<iiHiiHiBB")  # size, full size, key size, offset, code, delay, time, status, unused
VERSION = 11
SCENE = 1  # id of the only scene
NO_MESSAGE = -1  # id of a reply that answers no command
PAYLOAD = 1294  # bytes in each packet that this server sends
MAX_MESSAGE = 8 << 20  # bytes; a drawn path of the program of Ferro et al. has 1.2 MB
MAX_COMMANDS = 20_000  # in a message
MAX_KEY = 2000  # bytes

# Operation modes, in bits 16 to 18 of a command's code
ONESHOT, BLOCKING, STREAMING, SPLIT, STREAMING_SPLIT, DISCONTINUE = range(6)


class ProtocolError(TrocarError):
    """Bytes that no client of this protocol sends; the connection cannot continue."""


class RemoteCommand(NamedTuple):
    """A command, a piece of one, or the reply to one.

    Attributes:
        number: which command. mode: operation mode. key: identifies the command together with its number.
        data: its data, or the piece of it at `offset`. full: bytes of the complete data.
        delay: time between the replies of a stream [ms].
        time: of a reply: simulation time [ms]. failed: of a reply: the command was not executed.
    """

    number: int
    mode: int = ONESHOT
    key: bytes = b""
    data: bytes = b""
    full: int | None = None
    offset: int = 0
    delay: int = 0
    time: int = 0
    failed: bool = False

    @property
    def is_piece(self) -> bool:
        return self.full is not None and self.full != len(self.data)


class MessageHead(NamedTuple):
    """The header of a message. Times in ms; `running` and `paused` are bits of the simulation's state."""

    message: int
    client_time: int = 0
    server_time: int = 0
    running: bool = False
    paused: bool = False


def packed_message(head: MessageHead, commands: Iterable[RemoteCommand]) -> bytes:
    """Bytes of a message."""
    state = head.running + 2 * head.paused
    parts = [HEADER.pack(0, VERSION, head.message, head.client_time, head.server_time, SCENE, state)]
    for command in commands:
        head_size = COMMAND.size + len(command.key)
        full = len(command.data) if command.full is None else command.full
        sizes = head_size + len(command.data), head_size + full
        code = command.number | command.mode << 16
        last = command.delay, command.time, command.failed, 0
        parts += [COMMAND.pack(*sizes, len(command.key), command.offset, code, *last), command.key, command.data]
    return b"".join(parts)


def unpacked_message(message: bytes) -> tuple[MessageHead, list[RemoteCommand]]:
    """Header and commands of a message; raises a ProtocolError if its sizes do not fit."""
    if len(message) < HEADER.size:
        raise ProtocolError(f"a message of {len(message)} bytes is shorter than its header of {HEADER.size} bytes")
    _, version, number, client_time, server_time, _, state = HEADER.unpack_from(message)
    if version != VERSION:
        raise ProtocolError(f"version {version} of the remote API is not served, only {VERSION}")
    commands: list[RemoteCommand] = []
    at = HEADER.size
    while at < len(message):
        if len(commands) == MAX_COMMANDS:
            raise ProtocolError(f"a message has more than {MAX_COMMANDS} commands")
        if at + COMMAND.size > len(message):
            raise ProtocolError(f"a message ends within the header of its command {len(commands) + 1}")
        size, full, key_size, offset, code, delay, time, status, _ = COMMAND.unpack_from(message, at)
        begin, end = at + COMMAND.size + key_size, at + size
        if key_size > MAX_KEY or not begin <= end <= len(message):
            left = len(message) - at
            raise ProtocolError(f"a command of {size} bytes with a key of {key_size} does not fit in {left} bytes")
        if not size <= full <= MAX_MESSAGE or not 0 <= offset <= full - size:
            raise ProtocolError(f"a piece of {size} bytes at {offset} does not fit in a command of {full} bytes")
        key, data = message[at + COMMAND.size : begin], message[begin:end]
        sizes = full - (size - len(data)), offset, delay
        commands.append(RemoteCommand(code & 0xFFFF, code >> 16 & 7, key, data, *sizes, time, bool(status & 1)))
        at = end
    return MessageHead(number, client_time, server_time, bool(state & 1), bool(state & 2)), commands


def packets(message: bytes) -> bytes:
    """A message divided into packets."""
    parts = [message[at : at + PAYLOAD] for at in range(0, len(message), PAYLOAD)]
    left = range(len(parts) - 1, -1, -1)
    return b"".join(PACKET.pack(1, len(part), n) + part for part, n in zip(parts, left, strict=True))


class PacketReader:
    """Messages from the bytes of a connection, which can end anywhere within a packet."""

    def __init__(self) -> None:
        self._bytes, self._message = bytearray(), bytearray()
        self._left: int | None = None  # packets of the message still to come

    @property
    def in_message(self) -> bool:
        """A message has begun and is not complete."""
        return bool(self._bytes or self._left)

    def messages(self, data: bytes) -> Iterator[bytes]:
        """Complete messages, after the next bytes have come; raises a ProtocolError."""
        self._bytes += data
        while len(self._bytes) >= PACKET.size:
            order, size, left = PACKET.unpack_from(self._bytes)
            if order != 1:
                raise ProtocolError(f"a packet begins with {order} instead of 1; big-endian clients are not served")
            if size < 0 or left < 0 or (self._left and left != self._left - 1):
                raise ProtocolError(f"a packet of {size} bytes announces {left} more, after {self._left or 0}")
            if len(self._message) + size > MAX_MESSAGE:
                raise ProtocolError(f"a message has more than {MAX_MESSAGE} bytes")
            if len(self._bytes) < PACKET.size + size:
                return
            self._message += self._bytes[PACKET.size : PACKET.size + size]
            del self._bytes[: PACKET.size + size]
            self._left = left
            if left == 0:
                message, self._message = bytes(self._message), bytearray()
                yield message


class Assembly:
    """Complete commands from the pieces of split ones."""

    MAX_SPLIT = 16  # commands of which pieces have come

    def __init__(self) -> None:
        self._parts: dict[tuple[int, bytes], bytearray] = {}

    def command(self, piece: RemoteCommand) -> RemoteCommand | None:
        """The command that is complete with this piece; None if others must follow. Pieces come in order."""
        if not piece.is_piece:
            return piece
        assert piece.full is not None
        name = piece.number, piece.key
        whole = self._parts.setdefault(name, bytearray())
        if len(self._parts) > self.MAX_SPLIT:
            raise ProtocolError(f"more than {self.MAX_SPLIT} commands are incomplete")
        if piece.offset != len(whole):
            del self._parts[name]
            raise ProtocolError(f"a piece of command 0x{piece.number:04x} is at {piece.offset}, expected {len(whole)}")
        whole += piece.data
        if len(whole) < piece.full:
            return None
        return piece._replace(data=bytes(self._parts.pop(name)), offset=0)


def key_strings(key: bytes, at: int = 0) -> list[str]:
    """Strings of a key, each ended by a zero."""
    if not key.endswith(b"\0"):
        raise ProtocolError("the name in a key does not end with a zero")
    return [text.decode("latin-1") for text in key[at:-1].split(b"\0")]


class ScriptCall(NamedTuple):
    """Arguments or results of a script function."""

    ints: tuple[int, ...] = ()
    floats: tuple[float, ...] = ()
    texts: tuple[str, ...] = ()
    buffer: bytes = b""

    def packed(self) -> bytes:
        """Four counts, then numbers, texts and bytes."""
        n, m = len(self.ints), len(self.floats)
        numbers = struct.pack(f"<4i{n}i{m}f", n, m, len(self.texts), len(self.buffer), *self.ints, *self.floats)
        return numbers + b"".join(text.encode("latin-1") + b"\0" for text in self.texts) + self.buffer

    @classmethod
    def unpacked(cls, data: bytes) -> ScriptCall:
        """The inverse of `packed`; raises a ProtocolError if the counts do not fit."""
        counts = struct.unpack_from("<4i", data) if len(data) >= 16 else (-1,) * 4
        n, m, texts, size = counts
        text = data[16 + 4 * (n + m) :] if min(counts) >= 0 else b""
        parts = text.split(b"\0", texts) if 0 <= texts <= len(text) else []
        if min(counts) < 0 or 16 + 4 * (n + m) > len(data) or len(parts) != texts + 1 or len(parts[-1]) != size:
            raise ProtocolError(f"the counts {counts} of a script call do not fit its {len(data)} bytes")
        numbers = struct.unpack_from(f"<{n}i{m}f", data, 16)
        return cls(numbers[:n], numbers[n:], tuple(part.decode("latin-1") for part in parts[:-1]), parts[-1])
