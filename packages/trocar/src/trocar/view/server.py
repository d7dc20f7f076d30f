"""The web server of a page: on the loopback by default, at exactly the requested port."""

from __future__ import annotations

import errno
import os
import socket
import sys
import webbrowser

from trocar.errors import TrocarError
from trocar.view.access import LOOPBACK
from trocar.view.viser_internals import PageServer


class PortTaken(TrocarError):
    """Another program listens on the port."""


def serve(host: str = "127.0.0.1", port: int = 8080, *, framed: bool = False) -> PageServer:
    """A server at exactly this host and port (0: any free one); `framed`: pages of this machine may frame it."""
    if not 0 <= port <= 65535:
        raise TrocarError(f"port must be 0 (any free port) to 65535, got {port}")
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise TrocarError(f"host {host!r}: {error.strerror}") from None
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(where)
        except PermissionError:
            raise TrocarError(f"port {port} requires root; use a port above 1023") from None
        except OSError as error:
            if port == 0 or error.errno == errno.EADDRNOTAVAIL:
                raise TrocarError(f"host {host}: {error.strerror}") from None
            raise _taken(host, port) from None
    server = PageServer(host, port, framed=framed)
    if port and server.get_port() != port:  # taken meanwhile: viser uses the next free port
        server.stop()
        raise _taken(host, port)
    return server


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
        f"listening on {host}: anyone on the network who has the printed address can watch and control the simulation, "
        "and it is sent unencrypted. For SSH the default is enough: ssh -L 8080:127.0.0.1:8080 MACHINE"
    )


def open_browser(url: str) -> bool:
    """Open the page in a browser if there is a display."""
    screen = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen) and webbrowser.open(url)


def _taken(host: str, port: int) -> PortTaken:
    return PortTaken(
        f"port {port} of {host} is taken, perhaps by another viewer; use port {port + 1}, or 0 for any free one"
    )
