"""Sockets of ZeroMQ that listen on this machine: REP, which answers requests, and PUB, which sends to all clients.

One thread serves the sockets of a selector. A client that sends something else than the protocol, too much, or does not
read is disconnected; its next request is read when it has taken the last answer.
"""

from __future__ import annotations

import os
import selectors
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from trocar.errors import TrocarError
from trocar.transports.zmtp import CHUNK, Peer, PeerError

HOST = "127.0.0.1"
MAX_CLIENTS = 16  # of a socket
MAX_SUBSCRIPTION = 1 << 10  # bytes of a message to PUB


class ListeningSocket:
    """A socket and its clients.

    Args:
        selector: of its thread. port: 0 selects a free one. kind, others: of this socket and those that it talks to.
        limit: bytes of a message. report: called with one line about each client that is disconnected.

    Attributes:
        port: the port it listens on. clients: connected ones.
    """

    def __init__(
        self,
        selector: selectors.BaseSelector,
        port: int,
        kind: str,
        others: tuple[str, ...],
        limit: int,
        report: Callable[[str], None],
    ) -> None:
        try:
            self._socket = socket.create_server((HOST, port))
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise TrocarError(f"port {port} cannot be opened: {reason}; choose another port") from None
        self._socket.setblocking(False)
        self.port = int(self._socket.getsockname()[1])
        self._selector, self._report = selector, report
        self._answers, self._peer = kind != "PUB", lambda: Peer(kind, others, limit)
        self.clients: set[Client] = set()
        selector.register(self._socket, selectors.EVENT_READ, self._accept)

    def _accept(self, _events: int) -> None:
        try:
            link, (_, port) = self._socket.accept()
        except OSError as error:  # it has left again, or this process has too many open files
            self._report(f"a client by ZMQ was refused: {error.strerror}")
            return
        if len(self.clients) >= MAX_CLIENTS:
            link.close()
            self._report(f"a client by ZMQ was refused: {MAX_CLIENTS} are connected")
            return
        client = Client(link, port, self._peer(), self._selector, self._forget, self._answers)
        self.clients.add(client)
        client.greet()  # one that has reset the connection leaves at once

    def _forget(self, client: Client, reason: str) -> None:
        self.clients.discard(client)
        if reason:
            self._report(f"client {client.port} by ZMQ disconnected: {reason}")

    def close(self) -> None:
        """Disconnect all clients."""
        for client in tuple(self.clients):
            client.leave("")
        self._selector.unregister(self._socket)
        self._socket.close()


class Client:
    """A connection of a `ListeningSocket`.

    Args:
        forget: called with the client and the reason for which it is disconnected, "" if it has left by itself.
        answers: keep its messages; otherwise they are dropped, such as subscriptions: every client gets everything.
    """

    def __init__(
        self,
        link: socket.socket,
        port: int,
        peer: Peer,
        selector: selectors.BaseSelector,
        forget: Callable[[Client, str], None],
        answers: bool,
    ) -> None:
        self.port, self._link, self._peer, self._selector, self._forget = port, link, peer, selector, forget
        self._answers = answers
        self._messages: deque[list[bytes]] = deque()
        self._events = 0
        link.setblocking(False)

    def greet(self) -> None:
        """Begin the handshake."""
        with suppress(OSError):
            self._link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._send()

    def leave(self, reason: str) -> None:
        """Close the connection."""
        self._watch(0)
        self._link.close()
        self._forget(self, reason)

    @property
    def waits(self) -> bool:
        """A message has come, and this client has read all answers."""
        return bool(self._messages) and not self._peer.outgoing

    def message(self) -> list[bytes]:
        """The next message."""
        return self._messages.popleft()

    def send(self, parts: list[bytes]) -> None:
        """Send a message; a client that has not yet read the last one does not get it."""
        if self._peer.ready and not self._peer.outgoing:
            self._peer.send(parts)
            self._send()

    def _ready(self, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._send()
        elif events & selectors.EVENT_READ:
            try:
                data = self._link.recv(CHUNK)
                messages = self._peer.received(data)
                if self._answers:
                    self._messages += messages
            except BlockingIOError:
                return
            except PeerError as error:
                self.leave(str(error))
            except OSError:
                self.leave("")
            else:
                self._send() if data else self.leave("")

    def _send(self) -> None:
        """Send what the client can take now, and choose what to wait for."""
        waiting = self._peer.outgoing
        try:
            with suppress(BlockingIOError):
                del waiting[: self._link.send(waiting)]
        except OSError:
            self.leave("")
            return
        read = 0 if self._messages else selectors.EVENT_READ
        self._watch(selectors.EVENT_WRITE if waiting else read)

    def _watch(self, events: int) -> None:
        """Wait for these events, none if 0."""
        if events == self._events:
            return
        if not events:
            self._selector.unregister(self._link)
        elif not self._events:
            self._selector.register(self._link, events, self._ready)
        else:
            self._selector.modify(self._link, events, self._ready)
        self._events = events


def serve_next(requests: ListeningSocket, answer: Callable[[bytes], bytes]) -> bool:
    """Answer one request of every client that has one; True if there was one.

    A request is a message with an envelope, the parts up to an empty one, which the answer gets back.
    """
    served = False
    for client in tuple(requests.clients):
        if not client.waits:
            continue
        parts = client.message()
        if b"" not in parts:
            client.leave("it sent a request without an envelope")
            continue
        served, place = True, parts.index(b"") + 1
        client.send([*parts[:place], answer(b"".join(parts[place:]))])
    return served
