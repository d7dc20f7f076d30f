"""The TCP server of CoppeliaSim's legacy remote API, on this machine only.

One thread serves all clients, a message of each per turn. It executes the commands of a message, reads its streams,
answers it, and then takes the step of a trigger. A message with pictures is answered when these are rendered; the
simulation and other clients do not wait for that.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Self

from trocar import checks
from trocar.errors import TrocarError
from trocar_reproductions.coppelia import commands, packets
from trocar_reproductions.coppelia.commands import PendingImage
from trocar_reproductions.coppelia.packets import Assembly, MessageHead, PacketReader, ProtocolError, RemoteCommand
from trocar_reproductions.coppelia.remote_scene import NotServed, RemoteScene, SceneRefusal
from trocar_reproductions.coppelia.stepping import Stepping

HOST, PORT = "127.0.0.1", 19997
MAX_CLIENTS = 16
MAX_STREAMS = 1000  # of a client
MAX_ANSWER = 16 << 20  # bytes of data in the answer to a message
MAX_UNSENT = 16 << 20  # bytes that wait for a client that does not read
MAX_MESSAGES = 1000  # of a client that wait for their turn
TIMEOUT = 10.0  # of the end of the server [s]
CHUNK = 1 << 18  # bytes read at once
# Clients write each packet on its own without TCP_NODELAY: a delayed acknowledgement costs 40 ms (Linux only).
QUICKACK = getattr(socket, "TCP_QUICKACK", None)


class RemoteApiServer:
    """Serves a scene to clients of the legacy remote API.

        with RemoteApiServer(scene) as server:
            server.wait()

    Args:
        scene: the scene. port: 0 selects a free one. report: called with one line about each client and each error.

    Attributes:
        port: the port it listens on. stepping: the steps of the simulation, shared with other servers.
        scene, selector: of its clients.
    """

    def __init__(self, scene: RemoteScene, port: int = PORT, report: Callable[[str], None] = print) -> None:
        self._socket = _listening(port)
        self.port = int(self._socket.getsockname()[1])
        self._lines = report
        self.scene, self.stepping = scene, Stepping(scene, self.report, self.wake)
        self._clients: set[_Client] = set()
        self.selector = selectors.DefaultSelector()
        self._waker, self._wakes = socket.socketpair()
        self.selector.register(self._socket, selectors.EVENT_READ, self._accept)
        self.selector.register(self._wakes, selectors.EVENT_READ, lambda _: self._wakes.recv(CHUNK))
        self._closing, self._ended = False, threading.Event()
        self._left = False  # by all clients, while the simulation runs
        self._thread = threading.Thread(target=self._run, name="trocar-coppelia", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the server ends, at most for a time [s]."""
        # Thread.join would take the thread for ended after a Ctrl-C (CPython before 3.13), and `close` would not wait
        self._ended.wait(timeout)

    @property
    def serving(self) -> bool:
        """The server runs."""
        return not self._ended.is_set()

    def report(self, text: str) -> None:
        """Report a line; a closed output does not end the server."""
        with suppress(OSError):
            self._lines(text)

    def close(self) -> None:
        """Disconnect all clients and end the server."""
        self._closing = True
        self.wake()
        self._ended.wait(TIMEOUT)
        self.selector.close()
        for one in (self._waker, self._wakes):
            one.close()

    def wake(self) -> None:
        """Let the server look at its clients again; any thread may call this."""
        with suppress(OSError):  # it has ended
            self._waker.send(b"\0")

    def _run(self) -> None:
        try:
            while not self._closing:
                with self.stepping.lock:
                    busy = any(client.busy for client in self._clients)
                    delay = 0.0 if busy else self.stepping.delay()
                for key, events in self.selector.select(delay):
                    key.data(events)
                with self.stepping.lock:
                    self.stepping.settle()
                    self.stepping.run_free()
                    for client in tuple(self._clients):
                        client.work()
        finally:
            for client in tuple(self._clients):
                client.leave("disconnected: the server ends")
            self._socket.close()
            self._ended.set()

    def _accept(self, _events: int) -> None:
        try:
            link, (_, port) = self._socket.accept()
        except OSError as error:  # it has left again, or this process has too many open files
            self.report(f"a client was refused: {error.strerror}")
            return
        if len(self._clients) >= MAX_CLIENTS:
            self.report(f"a client was refused: {MAX_CLIENTS} are connected")
            link.close()
            return
        self._clients.add(_Client(link, port, self))
        self.report(f"client {port} connected")

    def forget(self, client: _Client) -> None:
        """A client has left; a simulation that waits for it goes on."""
        self._clients.discard(client)
        with self.stepping.lock:
            self.stepping.synchronise(client, False)
            self._left = self.scene.running and not self._clients

    def control(self, command: RemoteCommand) -> bytes | PendingImage:
        """Start, pause or stop the simulation. A stop ends the synchronous mode of all clients, as in CoppeliaSim.

        A program that was interrupted leaves a running simulation, which nobody can stop by hand here: after all
        clients have left, a start is one from the beginning.
        """
        if self._left and command.key == commands.START:
            self.scene.stop()
        self._left = False
        if command.key == commands.STOP:
            self.stepping.stop()
            return b""
        return commands.execute(self.scene, command)


class _Reply(NamedTuple):
    """A reply, and the picture that it waits for, if any."""

    command: RemoteCommand
    image: PendingImage | None = None

    @property
    def size(self) -> int:
        """Bytes of data, once it is ready."""
        return len(self.command.data) if self.image is None else self.image.size

    @property
    def ready(self) -> bool:
        return self.image is None or self.image.picture.done()


class _Answer(NamedTuple):
    """Answer to a message. triggers: the message asks for the next step, which follows once the answer is sent."""

    head: MessageHead
    replies: list[_Reply]
    triggers: bool


class _Client:
    """One connection: reads messages, executes their commands and answers."""

    def __init__(self, link: socket.socket, port: int, server: RemoteApiServer) -> None:
        self._link, self._port, self._server = link, port, server
        self._scene, self._stepping = server.scene, server.stepping
        self._reader, self._assembly = PacketReader(), Assembly()
        self._messages: deque[bytes] = deque()
        self._answer: _Answer | None = None  # complete but for pictures
        self._unsent = bytearray()
        self._streams: dict[tuple[int, bytes], tuple[RemoteCommand, float]] = {}  # with the time of the last reply [ms]
        self._reported: set[int] = set()  # commands not served
        self._open, self._finishing = True, False
        link.setblocking(False)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._events = selectors.EVENT_READ
        server.selector.register(link, self._events, self._ready)

    def leave(self, reason: str) -> None:
        """Close the connection."""
        if self._open:
            self._open = False
            self._report(reason)
            self._server.selector.unregister(self._link)
            self._link.close()
            self._server.forget(self)

    @property
    def busy(self) -> bool:
        """A message can be executed or answered now; not while a client waits for others or for a picture."""
        if self._stepping.waits(self):
            return False
        if self._answer is not None:
            return all(reply.ready for reply in self._answer.replies)
        return bool(self._messages)

    def work(self) -> None:
        """Execute and answer one message: the others, and the simulation, take their turns between two messages."""
        try:
            while self._open and self.busy:
                if self._answer is not None:
                    self._send_answer(*self._answer)
                    return
                self._execute_message(self._messages.popleft())
        except ProtocolError as error:
            self.leave(f"disconnected: {error}")
        except OSError as error:
            self.leave(f"left: {error.strerror or error}")

    def _ready(self, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                self._send()
            if not (self._open and events & selectors.EVENT_READ):
                return
            data = self._link.recv(CHUNK)
            self._acknowledge_quickly()
            if not data:
                with self._stepping.lock:
                    while self._open and self.busy:  # what it has sent before
                        self.work()
                self.leave("left within a message" if self._reader.in_message else "left")
                return
            self._messages += self._reader.messages(data)
            if len(self._messages) > MAX_MESSAGES:
                raise ProtocolError(f"it has sent {len(self._messages)} messages without waiting for a reply")
        except BlockingIOError:
            return
        except ProtocolError as error:
            self.leave(f"disconnected: {error}")
        except OSError as error:
            self.leave(f"left: {error.strerror or error}")

    def _execute_message(self, message: bytes) -> None:
        head, pieces = packets.unpacked_message(message)
        replies: list[_Reply] = []
        for piece in pieces:
            command = self._assembly.command(piece)
            if command is None:
                continue
            name = command.number, command.key
            if command.mode == packets.DISCONTINUE:
                self._streams.pop(name, None)
                replies.append(_Reply(command._replace(data=b"", full=None)))
            elif command.mode in (packets.STREAMING, packets.STREAMING_SPLIT):
                if len(self._streams) >= MAX_STREAMS and name not in self._streams:
                    raise ProtocolError(f"it asks for more than {MAX_STREAMS} streams")
                self._streams[name] = command, float("-inf")
            else:
                replies.append(self._reply(command))
        triggers = any(reply.command.number == commands.TRIGGER and not reply.command.failed for reply in replies)
        now = 1e3 * time.monotonic()
        for name, (command, last) in self._streams.items():
            if now - last >= command.delay:
                self._streams[name] = command, now
                replies.append(self._reply(command))
        number = head.message if replies else packets.NO_MESSAGE
        state = self._scene.running, self._scene.paused
        self._answer = _Answer(MessageHead(number, head.client_time, int(now) & 0x7FFFFFFF, *state), replies, triggers)

    def _send_answer(self, head: MessageHead, replies: list[_Reply], triggers: bool) -> None:
        self._answer = None
        if sum(reply.size for reply in replies) > MAX_ANSWER:
            raise ProtocolError(f"its message asks for more than {MAX_ANSWER} bytes")
        commands = [self._with_picture(*reply) for reply in replies]
        self._unsent += packets.packets(packets.packed_message(head, commands))
        self._send()
        if triggers:
            self._stepping.trigger(self)

    def _with_picture(self, reply: RemoteCommand, image: PendingImage | None) -> RemoteCommand:
        if image is None:
            return reply
        try:
            return reply._replace(data=image.data())
        except SceneRefusal as error:
            self._report_once(reply.number, error)
            return reply._replace(failed=True)

    def _reply(self, command: RemoteCommand) -> _Reply:
        """Execute a command. Its reply has the same number, mode and key."""
        data, image, failed = b"", None, False
        try:
            result = self._execute(command)
            if isinstance(result, PendingImage):
                image = result
                if not image.picture.done():
                    image.picture.add_done_callback(lambda _: self._server.wake())
            else:
                data = result
        except ProtocolError:
            raise
        except TrocarError as error:
            failed = True
            self._report_once(command.number, error)
        now = round(1e3 * self._scene.time) if self._scene.running else 0
        return _Reply(
            RemoteCommand(command.number, command.mode, command.key, data, time=now, failed=failed),
            image,
        )

    def _report_once(self, number: int, error: Exception) -> None:
        """Report a command that is not served, the first time."""
        if isinstance(error, NotServed) and number not in self._reported:
            self._reported.add(number)
            self._report(str(error))

    def _execute(self, command: RemoteCommand) -> bytes | PendingImage:
        match command.number:
            case commands.SYNCHRONOUS | commands.FREE_RUNNING:
                self._stepping.synchronise(self, command.number == commands.SYNCHRONOUS)
            case commands.TRIGGER:
                self._stepping.check_trigger(self)
            case commands.FINISH:
                self._finishing = True
            case commands.SIMULATION:
                return self._server.control(command)
            case _:
                return commands.execute(self._scene, command)
        return b""

    def _send(self) -> None:
        """Send what the client can take now; it leaves after the reply to its last command."""
        if self._unsent:
            with suppress(BlockingIOError):
                del self._unsent[: self._link.send(self._unsent)]
        if len(self._unsent) > MAX_UNSENT:
            raise ProtocolError(f"it does not read; {len(self._unsent)} bytes wait for it")
        if self._finishing and not self._unsent:
            self.leave("finished")
            return
        self._acknowledge_quickly()
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        if events != self._events:
            self._events = events
            self._server.selector.modify(self._link, events, self._ready)

    def _acknowledge_quickly(self) -> None:
        """Send the next acknowledgements at once; Linux forgets this after data were received or sent."""
        if QUICKACK is not None:
            self._link.setsockopt(socket.IPPROTO_TCP, QUICKACK, 1)

    def _report(self, text: str) -> None:
        self._server.report(f"client {self._port}: {text}")


def _listening(port: int) -> socket.socket:
    """A socket that listens on the loopback interface."""
    checks.count("port", port, 0, 65535)
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)  # without the address, which socket adds
        raise TrocarError(f"port {port} of {HOST} cannot be opened: {reason}; choose another port") from None
