"""ZMTP 3.0, the protocol of ZeroMQ's sockets over TCP, without encryption (rfc.zeromq.org/spec/23).

ZeroMQ's library keeps the parts of a message until the last one has come, and limits the size of each part only: a peer
that goes on sending parts fills the memory before the program sees anything. `Peer` limits the whole message.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Collection, Sequence

from trocar.errors import TrocarError, shown

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
SIGNATURE, NAMED = 10, 32  # bytes of the signature, and up to the end of the mechanism's name
MORE, LONG, COMMAND = 1, 2, 4  # flags of a frame
MAX_COMMAND = 1 << 10  # bytes
MAX_PARTS = 64  # of a message
CHUNK = 1 << 16  # bytes read at once
RETRY = 0.05  # pause between two attempts to connect [s]


class PeerError(TrocarError):
    """Bytes that are not of the protocol, or exceed a limit."""


class Peer:
    """One end of a connection, without its socket: bytes that have come, and bytes to send.

    Args:
        kind: of this socket, such as REP. others: kinds that it talks to. limit: bytes of a message in all its parts.

    Attributes:
        outgoing: bytes to send; the sender removes them. ready: the handshake is over.
    """

    def __init__(self, kind: str, others: Collection[str], limit: int) -> None:
        self._others, self._limit = others, limit
        self._incoming, self._parts, self._size = bytearray(), list[bytes](), 0
        self._greeted = self.ready = False
        self._kind, self._early = kind, bytearray()  # messages before the handshake is over
        self.outgoing = bytearray(GREETING)

    def send(self, parts: Sequence[bytes]) -> None:
        """Queue a message."""
        queue = self.outgoing if self.ready else self._early
        for k, part in enumerate(parts):
            queue += _head(MORE if k < len(parts) - 1 else 0, len(part)) + part

    def received(self, data: bytes) -> list[list[bytes]]:
        """Messages that are complete with these bytes. Raises PeerError; the connection is to be closed then."""
        self._incoming += data
        if not self._greeted and not self._greet():
            return []
        messages = []
        while (frame := self._frame()) is not None:
            flags, body = frame
            if flags & COMMAND:
                self._obey(body)
                continue
            self._parts.append(body)
            if not flags & MORE:
                messages.append(self._parts)
                self._parts, self._size = [], 0
        return messages

    def _greet(self) -> bool:
        """Read the greeting, once it is complete."""
        seen = self._incoming
        if not GREETING.startswith(seen[:1]) or (len(seen) >= SIGNATURE and not seen[SIGNATURE - 1] & 1):
            raise PeerError("it does not speak ZeroMQ's protocol")
        if len(seen) > SIGNATURE and seen[SIGNATURE] < 3:
            raise PeerError(f"it speaks version {seen[SIGNATURE]} of ZeroMQ's protocol, not 3")
        if len(seen) < len(GREETING):
            return False
        if seen[SIGNATURE + 2 : NAMED].rstrip(b"\0") != b"NULL":
            raise PeerError("it asks for encryption or a password, which are not served")
        del seen[: len(GREETING)]
        self._greeted = True
        self.outgoing += _command(b"READY", _property(b"Socket-Type", self._kind.encode()))
        return True

    def _frame(self) -> tuple[int, bytes] | None:
        """Flags and content of the next frame, if all of it has come. Its size is checked before it comes."""
        seen = self._incoming
        if not seen:
            return None
        flags = seen[0]
        head = 9 if flags & LONG else 2
        if flags > MORE | LONG | COMMAND or (flags & COMMAND and flags & MORE):
            raise PeerError(f"it sent a frame with the flags {flags}")
        if len(seen) < head:
            return None
        size = struct.unpack_from(">Q", seen, 1)[0] if flags & LONG else seen[1]
        if flags & COMMAND:
            if size > MAX_COMMAND:
                raise PeerError(f"it sent a command of {size} bytes; at most {MAX_COMMAND} are read")
        elif not self.ready:
            raise PeerError("it sent a message before the handshake")
        elif self._size + size > self._limit or len(self._parts) >= MAX_PARTS:
            raise PeerError(f"its message exceeds {self._limit} bytes or {MAX_PARTS} parts")
        if len(seen) < head + size:
            return None
        body = bytes(seen[head : head + size])
        del seen[: head + size]
        self._size += 0 if flags & COMMAND else size
        return flags, body

    def _obey(self, command: bytes) -> None:
        name, rest = command[1 : 1 + command[0]] if command else b"", command[1 + command[0] :] if command else b""
        if not self.ready:
            if name != b"READY":
                raise PeerError(f"it began with the command {shown(name)}")
            kind = _properties(rest).get(b"socket-type", b"").decode("latin-1")
            if kind not in self._others:
                raise PeerError(f"it is a socket of the kind {shown(kind)}; expected {' or '.join(self._others)}")
            self.ready = True
            self.outgoing += self._early
        elif name == b"PING":
            self.outgoing += _command(b"PONG", rest[2:18])
        elif name == b"ERROR":
            raise PeerError("it reported an error")


def _head(flags: int, size: int) -> bytes:
    return struct.pack(">BQ", flags | LONG, size) if size > 255 else bytes((flags, size))


def _command(name: bytes, content: bytes) -> bytes:
    body = bytes((len(name),)) + name + content
    return _head(COMMAND, len(body)) + body


def _property(name: bytes, value: bytes) -> bytes:
    return bytes((len(name),)) + name + struct.pack(">I", len(value)) + value


def _properties(content: bytes) -> dict[bytes, bytes]:
    """Values of a handshake by name, in lower case."""
    values = {}
    while content:
        name, rest = content[1 : 1 + content[0]], content[1 + content[0] :]
        if len(rest) < 4 or (size := struct.unpack_from(">I", rest)[0]) > len(rest) - 4:
            raise PeerError("its handshake is incomplete")
        values[name.lower()], content = rest[4 : 4 + size], rest[4 + size :]
    return values


class Requester:
    """A client that sends a request and waits for the answer: ZeroMQ's REQ.

    Args:
        host, port: of the server. limit: bytes of an answer in all its parts.
    """

    def __init__(self, host: str, port: int, limit: int) -> None:
        self._address, self._limit = (host, port), limit
        self._link: tuple[socket.socket, Peer] | None = None

    def ask(self, request: bytes, timeout: float) -> list[bytes]:
        """The parts of the answer. A connection that is lost is made again, with the request, until the time is over.

        Raises:
            TimeoutError: there is no answer in time [s]. PeerError: the answer is none, or is too long.
        """
        deadline = time.monotonic() + timeout
        try:
            while True:
                try:
                    return self._asked(request, deadline)
                except (ConnectionError, socket.gaierror):
                    self.close()
                    time.sleep(min(RETRY, max(0.0, deadline - time.monotonic())))
        except BaseException:  # also Ctrl-C: an answer that comes later would be taken for that of the next request
            self.close()
            raise

    def _asked(self, request: bytes, deadline: float) -> list[bytes]:
        if self._link is None:
            link = socket.create_connection(self._address, _left(deadline))
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._link = link, Peer("REQ", ("REP", "ROUTER"), self._limit)
        link, peer = self._link
        peer.send([b"", request])
        while True:
            if peer.outgoing:
                link.settimeout(_left(deadline))
                link.sendall(peer.outgoing)
                peer.outgoing.clear()
            link.settimeout(_left(deadline))
            data = link.recv(CHUNK)
            if not data:
                raise ConnectionResetError
            for message in peer.received(data):
                if len(message) < 2 or message[0]:
                    raise PeerError("it sent an answer without an envelope")
                return message[1:]

    def close(self) -> None:
        """End the connection."""
        if self._link is not None:
            self._link[0].close()
            self._link = None


def _left(deadline: float) -> float:
    """Time until a deadline [s]."""
    left = deadline - time.monotonic()
    if left <= 0.0:
        raise TimeoutError
    return left
