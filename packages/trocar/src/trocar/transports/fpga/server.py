"""The UDP port of the controller, and the loop that answers it: one thread for packets and engine.

A client fails if a reply takes longer than 20 ms, so nothing else may run Python code in this process.
"""

from __future__ import annotations

import gc
import math
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from trocar.errors import TrocarError
from trocar.transports.fpga.bedside import MAX_LINE, Bedside
from trocar.transports.fpga.clock import BoardClock
from trocar.transports.fpga.controller import BoardController
from trocar.transports.fpga.packets import MAX_BLOCK, PORT
from trocar.transports.priority import awake_processors, urgent_thread

BEDSIDE_PORT = 1395
TIMEOUT = 0.02  # of the client [s]; here, the longest wait for a packet
MAX_REPLY_TIME = 2e-3  # later replies are counted as late [s]
REPORT_INTERVAL = 10.0  # [s]
PRIORITY = 20  # among real-time threads: above loops whose clients wait longer
POLLED = 16  # packets between checks of the bedside socket and of the priority
TIMESTAMP = 35  # SO_TIMESTAMPNS of Linux: the kernel's time of arrival
LOOPBACK = "127."


class BoardServer:
    """Serves a controller on UDP.

    Args:
        controller: answers the packets. bedside: answers lines on the second port.
        host: address to listen on. Addresses of loopback accept packets of this machine only.
        port, bedside_port: UDP ports; 0 chooses a free one.
        report: takes a line when replies came too late for the client, at most every 10 s.

    Attributes:
        address, bedside_address: of the ports. requests, ignored: numbers of packets answered or executed, and not.
        late, lost: replies later than 2 ms, and later than the client waits (20 ms). slowest: [s].
        prioritised: the system granted real-time priority.
    """

    def __init__(
        self,
        controller: BoardController,
        bedside: Bedside,
        *,
        host: str = "127.0.0.1",
        port: int = PORT,
        bedside_port: int = BEDSIDE_PORT,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.controller, self._bedside, self._report = controller, bedside, report
        self._reported = -math.inf
        self._local = host.startswith(LOOPBACK)
        self._socket = _bound(("", port), self._local)
        self._lines = _bound(("127.0.0.1", bedside_port), True)
        self.address, self.bedside_address = (host, self._socket.getsockname()[1]), self._lines.getsockname()
        self._socket.settimeout(TIMEOUT)
        self._lines.setblocking(False)
        self._stamped = hasattr(self._socket, "recvmsg") and _enable_stamps(self._socket)
        self.requests = self.ignored = self.late = self.lost = 0
        self.slowest = 0.0
        self.prioritised = False
        self.clock = BoardClock(time.time())

    def close(self) -> None:
        self._socket.close()
        self._lines.close()

    def serve(self, running: Callable[[], bool] = lambda: True, *, ready: Callable[[], None] = lambda: None) -> None:
        """Answer packets until `running` returns False, which is asked at least every 20 ms without packets.

        `ready` is called when the next packet is answered at once: what comes before takes up to 0.4 s.
        """
        with _without_collection(), awake_processors():
            urgency = urgent_thread(PRIORITY)
            self.prioritised = urgency.granted
            packets = 0
            try:
                ready()
                while running():
                    packets += 1
                    if not self._serve_one() or packets % POLLED == 0:
                        self._serve_lines()
                        urgency.check()
            finally:
                urgency.release()

    def _serve_one(self) -> bool:
        """Wait for a packet and answer it; False after the time-out."""
        try:
            packet, arrival, client = self._receive()
        except TimeoutError:
            now = time.time()
            self.controller.idle(self.clock.arrive(now, now))
            return False
        if self._local and not client[0].startswith(LOOPBACK):
            self.ignored += 1
            return True
        reply = self.controller.answer(packet, self.clock.arrive(arrival, time.time()))
        self.requests += 1
        if reply is not None:
            with suppress(OSError):  # the client has gone
                self._socket.sendto(reply, client)
            took = time.time() - arrival
            if took > MAX_REPLY_TIME:
                self.late += 1
                self.lost += took > TIMEOUT
                self.slowest = max(self.slowest, took)
                if took > TIMEOUT and arrival > self._reported + REPORT_INTERVAL:
                    self._reported = arrival
                    self._report(f"a reply took {1e3 * took:.0f} ms; a client that waited for it has failed")
        return True

    def _receive(self) -> tuple[bytes, float, tuple[str, int]]:
        while True:
            try:
                if not self._stamped:
                    packet, client = self._socket.recvfrom(MAX_BLOCK + 1)
                    return packet, time.time(), client
                packet, ancillary, _, client = self._socket.recvmsg(MAX_BLOCK + 1, 64)
            except ConnectionError:  # a client closed its port before the reply
                continue
            if ancillary:
                seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
                return packet, seconds + 1e-9 * nanoseconds, client
            return packet, time.time(), client

    def _serve_lines(self) -> None:
        with suppress(BlockingIOError, ConnectionError):
            line, sender = self._lines.recvfrom(MAX_LINE + 1)
            answer = self._bedside.answer(line)
            with suppress(OSError):  # no client can have this address, such as one with port 0
                self._lines.sendto(answer, sender)

    def summary(self) -> str:
        """Numbers of requests, late replies and pauses."""
        late = f"{self.late} later than 2 ms" + (f", slowest {1e3 * self.slowest:.1f} ms" if self.late else "")
        lost = f", {self.lost} too late for the client" if self.lost else ""
        pauses = f"; {self.clock.pauses} pauses, {self.clock.paused:.2f} s" if self.clock.pauses else ""
        return f"{self.requests} requests, {self.ignored} ignored; replies: {late}{lost}{pauses}"


def _bound(address: tuple[str, int], local: bool) -> socket.socket:
    port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if local and hasattr(socket, "SO_BINDTODEVICE"):
        with suppress(OSError):  # older kernels require root; packets are filtered by their sender as well
            port.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
    try:
        # all addresses: the client also sends to the broadcast address, 127.255.255.255
        port.bind(address)
    except OSError as error:
        port.close()
        raise TrocarError(
            f"UDP port {address[1]} cannot be opened: {error.strerror}. Is another controller or server running?"
        ) from None
    return port


def _enable_stamps(port: socket.socket) -> bool:
    try:
        port.setsockopt(socket.SOL_SOCKET, TIMESTAMP, 1)
    except OSError:
        return False
    return True


@contextmanager
def _without_collection() -> Iterator[None]:
    """No garbage collection: one of all objects of a scene takes longer than the client waits."""
    enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()
