"""A headless browser that speaks viser's protocol and can send any message."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Mapping
from typing import Any

import msgspec
import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.support.waiting import TIMEOUT, until
from tools.bench.page import CAMERA
from trocar.view.server import address
from trocar.view.viser_internals import PageServer

MARKS = itertools.count(1000)


def websocket(
    server: PageServer, headers: Mapping[str, str] | None = None, token: bool = True, **options: Any
) -> ClientConnection:
    """A connection as viser's page opens it."""
    url = address(server).replace("http:", "ws:")
    url = url if token else url.partition("?")[0]
    protocol = Subprotocol(f"viser-v{viser.__version__}")
    return connect(url, subprotocols=[protocol], additional_headers=headers, max_size=None, **options)


class RawBrowser:
    """A connection to a page; messages from the page are read and discarded."""

    def __init__(self, server: PageServer, looks: bool = True) -> None:
        self.server, self.socket = server, websocket(server)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if looks:
            before = set(server.get_clients())
            self.send(CAMERA)
            until(lambda: set(server.get_clients()) - before, "the browser to be known")

    def _read(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            for _ in self.socket:
                pass

    def raw(self, message: bytes | str) -> None:
        self.socket.send(message)

    def send(self, message: object) -> None:
        self.raw(msgspec.msgpack.encode(message))

    def set(self, handle: Any, value: object, **others: object) -> None:
        """Change a control as a user of the page does."""
        self.send({"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": value, **others}})

    def enter(self, entry: Any, *values: float) -> None:
        """Type numbers into the first fields of an entry and press Enter."""
        for field, value in zip(entry.fields, values, strict=False):
            self.set(field, value)
        self.send({"type": "GuiFormSubmitMessage", "uuid": entry.form._impl.uuid})

    def settled(self) -> None:
        """Wait until the page has seen all messages so far: the last one has a picture of a unique width.

        Its place would not do: the page moves cameras itself, for example to bring the view home.
        """
        mark = next(MARKS)
        self.send({**CAMERA, "image_width": mark})
        clients = self.server.get_clients
        until(lambda: any(client.camera.image_width == mark for client in clients().values()), "the last message")

    def close(self) -> None:
        self.socket.close()
        self._reader.join(TIMEOUT)
