"""The web server: on the loopback by default, at exactly the requested port, open to those who have its address."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import logging
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from typing import Any

import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response
from websockets.protocol import State

from trocar.errors import TrocarError
from trocar.view.access import LOOPBACK, Access
from trocar.view.inbox import MOST_MESSAGE, Inbox, Sender

MOST_BROWSERS = 16
RATE, BURST = 100.0, 300  # messages of one browser: per second, and in a burst
TURN = 0.1  # real time between two checks of a waiting connection [s]
# No other site may frame the page; links out of it do not send its address, which contains the token.
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'self'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_replacing = threading.Lock()
_quiet = logging.getLogger("trocar.view.server")  # failed handshakes are not reported
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


class PageServer(viser.ViserServer):
    """viser's server behind two checks: of every connection, and of every incoming message.

    Attributes:
        access: token and rules of connections. inbox: checks of messages. rate: messages per second and browser.
    """

    def __init__(self, host: str, port: int) -> None:
        self.access = Access(host)
        self.inbox = Inbox(
            self._control, self._container, lambda name: self.scene.get_handle_by_name(name), self._command
        )
        self.rate = RATE
        self._connections: set[ServerConnection] = set()
        self._guarded = False
        with _replaced_serve(self._guard), contextlib.redirect_stdout(io.StringIO()):  # the command has its own banner
            super().__init__(host=host, port=port, verbose=False)
        if not self._guarded:
            stop(self)
            raise TrocarError(f"viser {viser.__version__} cannot be guarded: pip install 'trocar[view]'")

    def _control(self, uuid: str) -> Any:
        return self.gui._gui_input_handle_from_uuid.get(uuid)  # viser has no public way from an identifier to a control

    def _command(self, uuid: str) -> Any:
        return self.gui._command_handle_from_uuid.get(uuid)

    def _container(self, uuid: str) -> Any:
        return self.gui._container_handle_from_uuid.get(uuid)

    def _guard(self, options: dict[str, Any]) -> dict[str, Any]:
        """Options of the websocket server with the checks added."""
        self._guarded = True
        return options | {
            "process_request": partial(self._answer, options["process_request"]),
            "create_connection": partial(_CheckedConnection, self),
            "max_size": MOST_MESSAGE,
            "logger": _quiet,
        }

    def _answer(
        self, page: Callable[..., Response | None], connection: ServerConnection, request: Request
    ) -> Response | None:
        """Answer a request; None opens a websocket."""
        refusal = self.access.refusal(request)
        if refusal is not None:
            return connection.respond(HTTPStatus.FORBIDDEN, f"{refusal}\n")
        response = page(connection, request)
        if response is not None:
            for name, value in (HEADERS | {"Set-Cookie": self.access.cookie}).items():
                response.headers[name] = value
        elif len(self._connections) >= MOST_BROWSERS:
            return connection.respond(
                HTTPStatus.SERVICE_UNAVAILABLE, f"refused: {MOST_BROWSERS} browsers are connected already\n"
            )
        else:
            self._connections.add(connection)
        return response

    def left(self, connection: ServerConnection) -> None:
        """Release the place of a connection that has ended."""
        self._connections.discard(connection)


class _CheckedConnection(ServerConnection):
    """A connection that only passes on checked messages, at most at the server's rate.

    A browser that sends faster has to wait: meanwhile nothing is read from its connection.
    """

    def __init__(self, page: PageServer, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._page, self._sender = page, Sender()
        self._allowance, self._counted = float(BURST), time.monotonic()

    async def recv(self, decode: bool | None = None) -> Any:
        while True:
            raw = await super().recv(decode)
            await self._wait()
            checked = self._page.inbox.checked(raw, self._sender)
            if checked is not None:
                return checked

    async def _wait(self) -> None:
        """Wait until the rate allows another message."""
        self._allowance -= 1.0
        while self._refilled() < 0.0 and self.state is State.OPEN:
            await asyncio.sleep(min(-self._allowance / self._page.rate, TURN))

    def _refilled(self) -> float:
        now = time.monotonic()
        self._allowance = min(self._allowance + (now - self._counted) * self._page.rate, float(BURST))
        self._counted = now
        return self._allowance

    def connection_lost(self, exc: Exception | None) -> None:
        self._page.inbox.forget(self._sender)
        self._page.left(self)
        super().connection_lost(exc)


@contextlib.contextmanager
def _replaced_serve(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[None]:
    """Make viser start its websocket server with changed options; it offers no options for this itself."""
    with _replacing:  # one at a time, so that every server gets its own options
        original: Any = websockets.asyncio.server.serve

        def changed(handler: Any, *address: Any, **options: Any) -> Any:
            of_viser = str(getattr(handler, "__module__", "")).startswith("viser.")
            return original(handler, *address, **(change(options) if of_viser else options))

        setattr(websockets.asyncio.server, "serve", changed)  # noqa: B010  # mypy
        try:
            yield
        finally:
            setattr(websockets.asyncio.server, "serve", original)  # noqa: B010


def serve(host: str = "127.0.0.1", port: int = 8080) -> PageServer:
    """A server at exactly this host and port (0: any free one)."""
    _check_free(host, port)
    server = PageServer(host, port)
    if port and server.get_port() != port:  # taken meanwhile: viser uses the next free port
        stop(server)
        raise _taken(host, port)
    return server


def stop(server: viser.ViserServer) -> None:
    """Stop a server without output on stdout."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def address(server: PageServer) -> str:
    """The page's address, with the token that opens it."""
    host = server.get_host()
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{server.get_port()}/?token={server.access.token}"


def exposure(host: str) -> str | None:
    """A warning for a server that does not listen on the loopback."""
    if host in LOOPBACK:
        return None
    return (
        f"--host {host}: anyone on the network who has the printed address can watch and control the simulation, "
        "and it is sent unencrypted. For SSH the default is enough: ssh -L 8080:127.0.0.1:8080 MACHINE"
    )


def open_browser(url: str) -> bool:
    """Open the page in a browser if there is a display."""
    screen = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen) and webbrowser.open(url)


def _check_free(host: str, port: int) -> None:
    if not 0 <= port <= 65535:
        raise TrocarError(f"--port must be 0 (any free port) to 65535, got {port}")
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise TrocarError(f"--host {host!r}: {error.strerror}") from None
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(where)
        except PermissionError:
            raise TrocarError(f"port {port} requires root; use a port above 1023") from None
        except OSError as error:
            if port == 0 or error.errno == errno.EADDRNOTAVAIL:
                raise TrocarError(f"--host {host}: {error.strerror}") from None
            raise _taken(host, port) from None


def _taken(host: str, port: int) -> TrocarError:
    return TrocarError(f"port {port} of {host} is taken, perhaps by another viewer; use --port {port + 1} or --port 0")
