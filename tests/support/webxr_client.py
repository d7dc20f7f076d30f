"""A phone or headset without a browser: it speaks the protocol of the page over TLS, and can say anything."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Coroutine, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.support.raw_browser import TIMEOUT, until
from trocar.view.webxr import PoseServer


def trusting(certificate: Path) -> ssl.SSLContext:
    """A context that trusts this certificate and checks names."""
    return ssl.create_default_context(cafile=str(certificate))


def hand(p: Any = (0.0, 0.0, 0.0), q: Any = (0.0, 0.0, 0.0, 1.0), closed: float = 0.0, *buttons: str) -> dict[str, Any]:
    return {"p": [float(x) for x in p], "q": [float(x) for x in q], "closed": closed, "buttons": list(buttons)}


class RawDevice:
    """A connection of a device to a server.

    It lives in an event loop, because a blocking client reads and writes in two threads, which OpenSSL does not allow.
    """

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

        async def opened() -> ClientConnection:
            return await connect(
                url, ssl=trusting(certificate), additional_headers=headers, max_queue=None, open_timeout=None
            )

        self._connection: ClientConnection = _result(opened())

    def send(self, message: object) -> None:
        """Send a message and wait until the server has taken it."""
        before = self.server.received.total()
        self.post(message if isinstance(message, str | bytes) else json.dumps(message))
        until(lambda: self.server.received.total() > before, "the message to be taken")

    def post(self, message: str | bytes, times: int = 1) -> None:
        """Send a message, repeatedly as fast as possible."""
        self.post_all([message] * times)

    def post_all(self, messages: Iterable[str | bytes]) -> None:
        """Send messages as fast as possible."""

        async def sent() -> None:
            for message in messages:
                await self._connection.send(message)
                await asyncio.sleep(0)  # to notice that the server has closed

        _result(sent())

    def receive(self) -> str | bytes:
        return _result(self._connection.recv())

    def close(self) -> None:
        _result(self._connection.close())


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="webxr-client", daemon=True).start()
    return loop


def _result(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result(TIMEOUT)
