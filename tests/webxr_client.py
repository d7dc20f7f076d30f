"""A phone or headset without a browser: it speaks the protocol of the page over TLS, and can say anything."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.raw_browser import until
from trocar.viewer.webxr import PoseServer


def trusting(certificate: Path) -> ssl.SSLContext:
    """A context that trusts this certificate and checks names."""
    return ssl.create_default_context(cafile=str(certificate))


def hand(p: Any = (0.0, 0.0, 0.0), q: Any = (0.0, 0.0, 0.0, 1.0), closed: float = 0.0, *buttons: str) -> dict[str, Any]:
    return {"p": [float(x) for x in p], "q": [float(x) for x in q], "closed": closed, "buttons": list(buttons)}


class RawDevice:
    """A connection of a device to a server."""

    def __init__(
        self,
        server: PoseServer,
        certificate: Path,
        device: str = "phone",
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        token = server.access.token if token is None else token
        url = f"wss://127.0.0.1:{server.port}/poses?device={device}&token={token}"
        self.server = server
        self.socket: ClientConnection = connect(
            url, ssl=trusting(certificate), additional_headers=headers, max_queue=None, open_timeout=None
        )

    def send(self, message: object) -> None:
        """Send a message and wait until the server has taken it."""
        before = self.server.received.total()
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))
        until(lambda: self.server.received.total() > before, "the message to be taken")

    def close(self) -> None:
        self.socket.close()
