"""The web server: on the loopback by default, at exactly the requested port."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import socket
import sys
import webbrowser

import viser

from trocar.errors import TrocarError

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(host: str = "127.0.0.1", port: int = 8080) -> viser.ViserServer:
    """A server at exactly this host and port (0: any free one)."""
    _check_free(host, port)
    with contextlib.redirect_stdout(io.StringIO()):  # viser's banner; the command prints its own
        server = viser.ViserServer(host=host, port=port, verbose=False)
    if port and server.get_port() != port:  # taken meanwhile: viser moves on to the next one
        stop(server)
        raise _taken(host, port)
    return server


def stop(server: viser.ViserServer) -> None:
    """Stop a server without output on stdout."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def address(server: viser.ViserServer) -> str:
    host = server.get_host()
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)
    return f"http://{host}:{server.get_port()}"


def exposure(host: str) -> str | None:
    """A warning for a server that is not on the loopback."""
    if host in LOOPBACK:
        return None
    return (
        f"--host {host}: anyone on the network can watch and control the simulation; "
        "there is no password. For SSH the default is enough: ssh -L 8080:127.0.0.1:8080 MACHINE"
    )


def open_browser(url: str) -> bool:
    """Open the page in a browser where there is a screen."""
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
