"""A client of CoppeliaSim's legacy remote API, written from its tables: queues, streams, one message per cycle."""

from __future__ import annotations

import socket
import struct
import time
from typing import Self

from trocar_reproductions.coppelia.packets import (
    BLOCKING,
    DISCONTINUE,
    ONESHOT,
    PACKET,
    PAYLOAD,
    STREAMING,
    MessageHead,
    RemoteCommand,
    ScriptCall,
    packed_message,
    packets,
    unpacked_message,
)


class RemoteError(Exception):
    """The server has not executed a command."""


class RemoteApiClient:
    """One connection; methods are named after the functions of the API.

    Args:
        port: of the server on this machine. cycle: least time between messages [s]; the original client's is 5 ms.
    """

    def __init__(self, port: int = 19997, cycle: float = 0.0, timeout: float = 10.0) -> None:
        self.link = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self._cycle, self._sent = cycle, 0.0
        self._number = -1
        self._queue: dict[tuple[int, bytes], RemoteCommand] = {}
        self._inbox: dict[tuple[int, bytes], RemoteCommand] = {}
        self.head = MessageHead(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.link.close()

    def exchange(self) -> list[RemoteCommand]:
        """Send the queued commands and read one reply."""
        if self._cycle:
            time.sleep(max(0.0, self._sent + self._cycle - time.perf_counter()))
        self._sent = time.perf_counter()
        self._number += 1
        data = packets(packed_message(MessageHead(self._number), self._queue.values()))
        for at in range(0, len(data), PACKET.size + PAYLOAD):  # the original client sends each packet on its own
            self.link.sendall(data[at : at + PACKET.size + PAYLOAD])
        self._queue.clear()
        self.head, replies = unpacked_message(self.receive())
        self._inbox |= {(reply.number, reply.key): reply for reply in replies if reply.mode != DISCONTINUE}
        return replies

    def receive(self) -> bytes:
        """The next message."""
        message, left = b"", 1
        while left:
            _, size, left = PACKET.unpack(self._read(PACKET.size))
            message += self._read(size)
        return message

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.link.recv(size - len(data))
            if not more:
                raise ConnectionError("the server has closed the connection")
            data += more
        return data

    def call(self, number: int, key: bytes = b"", data: bytes = b"", mode: int = BLOCKING) -> bytes:
        """Queue a command; a blocking one is sent at once, and its reply returned."""
        self._queue[number, key] = RemoteCommand(number, mode, key, data)
        if mode != BLOCKING:
            return b""
        self.exchange()
        return self._taken(number, key)

    def _taken(self, number: int, key: bytes) -> bytes:
        reply = self._inbox.pop((number, key))
        if reply.failed:
            raise RemoteError(f"command 0x{number:04x} with key {key!r}")
        return reply.data

    def buffered(self, number: int, key: bytes, layout: str = "<f") -> tuple[float, ...] | None:
        """The newest value of a stream, None if there is none."""
        reply = self._inbox.get((number, key))
        return None if reply is None or reply.failed else struct.unpack(layout, reply.data)

    # -- functions -----------------------------------------------------------------------------------------------------

    def synchronous(self, on: bool = True) -> None:
        self.call(0x0001 if on else 0x0002)

    def trigger(self) -> None:
        self.call(0x0003)

    def ping(self) -> None:
        self.call(0x1021, struct.pack("<i", 1))

    def start(self) -> None:
        self.call(0x1007, struct.pack("<i", 0))

    def stop(self) -> None:
        self.call(0x1007, struct.pack("<i", 2))

    def finish(self) -> None:
        self.call(0x000A)
        self.link.close()

    def handle(self, name: str) -> int:
        return int(struct.unpack("<i", self.call(0x3001, name.encode() + b"\0"))[0])

    def joint_position(self, handle: int) -> float:
        return float(struct.unpack("<f", self.call(0x1001, struct.pack("<i", handle)))[0])

    def stream_joint(self, handle: int, on: bool = True) -> None:
        """Ask for position and force of a joint with every message."""
        for number in (0x1001, 0x100D):
            self.call(number, struct.pack("<i", handle), mode=STREAMING if on else DISCONTINUE)

    def joint(self, handle: int) -> tuple[float, float]:
        """The newest position and force of a streamed joint; 0 where the server reports an error."""
        values = [self.buffered(number, struct.pack("<i", handle)) for number in (0x1001, 0x100D)]
        return values[0][0] if values[0] else 0.0, values[1][0] if values[1] else 0.0

    def position(self, handle: int, frame: int = -1) -> tuple[float, ...]:
        return struct.unpack("<3f", self.call(0x200E, struct.pack("<2i", handle, frame)))

    def orientation(self, handle: int, frame: int = -1) -> tuple[float, ...]:
        return struct.unpack("<3f", self.call(0x200D, struct.pack("<2i", handle, frame)))

    def set_position(self, handle: int, position: tuple[float, ...], frame: int = -1, mode: int = ONESHOT) -> None:
        self.call(0x101B, struct.pack("<i", handle), struct.pack("<i3f", frame, *position), mode)

    def set_quaternion(self, handle: int, xyzw: tuple[float, ...], frame: int = -1, mode: int = ONESHOT) -> None:
        self.call(0x1801, struct.pack("<i", handle), struct.pack("<i4f", frame, *xyzw), mode)

    def float_signal(self, name: str) -> float:
        return float(struct.unpack("<f", self.call(0x3010, name.encode() + b"\0"))[0])

    def set_float_signal(self, name: str, value: float, mode: int = ONESHOT) -> None:
        self.call(0x3013, name.encode() + b"\0", struct.pack("<f", value), mode)

    def call_script(self, script: str, function: str, arguments: ScriptCall) -> ScriptCall:
        key = struct.pack("<i", 1) + script.encode() + b"\0" + function.encode() + b"\0"
        return ScriptCall.unpacked(self.call(0x3401, key, arguments.packed()))
