"""Uses of viser's private parts, but those of `message_buffer`: guarded connections, checked messages, poses, icons.

viser has no public way to refuse a connection or a message, to find a control by its identifier, to send many poses at
once, or to keep its icons open. A test compares the names used here with the installed version.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import math
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Union
from weakref import WeakSet

import msgspec
import viser
import websockets.asyncio.server
from msgspec import Meta
from viser import _icons, _messages
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response
from websockets.protocol import State

from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar.view import message_buffer
from trocar.view.access import Access
from trocar.view.client_page import title_page

VERSION = "1.1"  # of viser
MAX_BROWSERS = 16
MAX_MESSAGE = 1 << 20  # [bytes]; the browser sends files in parts of half this size
MIN_PART = 1 << 16  # smallest part of a file, except for the last [bytes]
MAX_UPLOAD = 64 << 20  # largest file [bytes]
MAX_UNFINISHED = 2 * MAX_UPLOAD  # largest sum of all unfinished uploads, from all browsers [bytes]
RATE, BURST = 100.0, 300  # messages of one browser: per second, and in a burst
POLL_INTERVAL = 0.1  # real time between two checks of a waiting connection [s]
# No other site may frame the page; links out of it do not send its address, which contains the token.
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'self'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
# For a notebook of this machine, which shows the page in a frame.
NOTEBOOK = {"Content-Security-Policy": "frame-ancestors 'self' http://127.0.0.1:* http://localhost:*"}

Name = Annotated[str, Meta(max_length=256)]
Number = Annotated[float, Meta(ge=-1e9, le=1e9)]  # neither NaN nor infinite
Count = Annotated[int, Meta(ge=0, le=1 << 31)]
Three, Four = tuple[Number, Number, Number], tuple[Number, Number, Number, Number]
_HANDLE = {"name": Name, "owner": (Name, "")}
# Messages that the browser's side of viser may send, with the types of their fields; names are viser's.
WIRE: dict[str, dict[str, Any]] = {
    "ViewerCameraMessage": {
        **dict.fromkeys(("position", "look_at", "up_direction"), Three),
        **dict.fromkeys(("fov", "near", "far"), Number),
        **dict.fromkeys(("image_height", "image_width"), Count),
        "wxyz": Four,
    },
    "TransformControlsUpdateMessage": {"wxyz": Four, "position": Three, **_HANDLE},
    "TransformControlsDragStartMessage": _HANDLE,
    "TransformControlsDragEndMessage": _HANDLE,
    # a control may change its value, and no other attribute
    "GuiUpdateMessage": {
        "uuid": Name,
        "updates": msgspec.defstruct("Updates", [("value", bool | Number | Name)], forbid_unknown_fields=True),
    },
    "CommandTriggerMessage": {"uuid": Name},
    "GuiFormSubmitMessage": {"uuid": Name},
    "GuiFormDirtyMessage": {"uuid": Name},
    "FileTransferStartUpload": {
        **dict.fromkeys(("source_component_uuid", "transfer_uuid", "filename", "mime_type"), Name),
        **dict.fromkeys(("part_count", "size_bytes"), Count),
    },
    "FileTransferPart": {
        **dict.fromkeys(("source_component_uuid", "transfer_uuid"), Name),
        "part_index": Count,
        "content": bytes,
    },
}
_STRUCTS = [
    msgspec.defstruct(
        kind,
        [(name, *(value if isinstance(value, tuple) else (value,))) for name, value in fields.items()],
        tag_field="type",
        tag=True,
        forbid_unknown_fields=True,
    )
    for kind, fields in WIRE.items()
]
_replacing = threading.Lock()
_quiet = logging.getLogger("trocar.view.server")  # failed handshakes are not reported
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


# -- messages ----------------------------------------------------------------------------------------------------------


class _Refused(Exception):
    """A message that the page must not see; its text, if any, is for the user."""


@dataclass
class Upload:
    """An upload in progress: announced size [bytes], and the parts and bytes that are still missing."""

    sender: object
    size: int
    parts: set[int]
    left: int


class Inbox:
    """Passes on messages of the right kind, type and size about things that the page has, and reports the rest.

    Ranges of values are checked where the values are used: by the robot's controllers and services.

    Attributes:
        report: called with a text for the user when a message is refused.
        accepted, refused: numbers of messages so far, by type; malformed ones are counted under "shape".
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._decoder: Any = msgspec.msgpack.Decoder(Union[tuple(_STRUCTS)])  # noqa: UP007
        self._uploads: dict[str, Upload] = {}
        self._looking = WeakSet[Any]()  # senders of a camera pose; viser knows a browser from then on
        self.report: Callable[[str], object] = lambda text: None
        self.accepted: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def checked(self, raw: bytes | str, sender: object) -> bytes | None:
        """The message of a browser for viser to read; None if it is refused."""
        kind = "shape"
        try:
            try:
                message = self._decoder.decode(raw)  # a text raises too
            except Exception as error:  # malformed bytes can raise anything in a decoder
                raise _Refused(f"a message of a wrong shape was refused: {_short(error)}") from None
            kind = type(message).__name__
            self._check(kind, message, sender)
        except _Refused as refusal:
            if str(refusal):
                self.report(str(refusal))
            self.refused[kind] += 1  # counted last, so that whoever waits for the count finds the report
            return None
        self.accepted[kind] += 1
        return msgspec.msgpack.encode(message)  # only the fields that were checked

    def forget(self, sender: object) -> None:
        """Forget a browser that has disconnected, and its unfinished uploads."""
        self._uploads = {key: upload for key, upload in self._uploads.items() if upload.sender is not sender}

    def _check(self, kind: str, message: Any, sender: object) -> None:
        gui = self._server.gui
        if kind == "ViewerCameraMessage":
            self._looking.add(sender)
        elif sender not in self._looking:
            raise _Refused  # viser would change the control without notifying anyone
        elif kind == "GuiUpdateMessage":
            handle = gui._gui_input_handle_from_uuid.get(message.uuid)
            if handle is None:
                raise _Refused  # a control that was replaced while the message was on its way
            disabled = getattr(handle, "disabled", False)  # a progress bar has neither this nor a label
            problem = "is disabled" if disabled else _problem(handle, message.updates.value)
            if problem:
                raise _Refused(f"{getattr(handle, 'label', 'a control')}: {problem}")
        elif kind == "CommandTriggerMessage":
            if message.uuid not in gui._command_handle_from_uuid:
                raise _Refused("a key was refused: the page has no such command")
        elif kind.startswith("GuiForm"):
            if not isinstance(gui._container_handle_from_uuid.get(message.uuid), viser.GuiFormHandle):
                raise _Refused("a form was refused: there is no such form")
        elif kind == "FileTransferStartUpload":
            self._start_upload(message, sender)
        elif kind == "FileTransferPart":
            self._take_part(message, sender)
        else:
            node = self._server.scene.get_handle_by_name(message.name)
            if not isinstance(node, viser.TransformControlsHandle) or message.owner:
                raise _Refused(f"{_short(message.name)}: there is no such handle")
            if kind == "TransformControlsUpdateMessage" and abs(math.hypot(*message.wxyz) - 1.0) > 1e-3:
                raise _Refused(f"{message.name}: the orientation is not a unit quaternion")

    def _start_upload(self, message: Any, sender: object) -> None:
        button = self._server.gui._gui_input_handle_from_uuid.get(message.source_component_uuid)
        if not isinstance(button, viser.GuiUploadButtonHandle) or button.disabled:
            raise _Refused("an upload was refused: there is no such button")
        size, name = message.size_bytes, _short(message.filename)
        if size > MAX_UPLOAD:
            raise _Refused(f"{name}: larger than {MAX_UPLOAD >> 20} MB; use trocar view FILE")
        if not min(size, 1) <= message.part_count <= size // MIN_PART + 1:
            raise _Refused(f"{name}: {size} bytes in {message.part_count} parts")
        if message.transfer_uuid in self._uploads:
            raise _Refused("an upload was refused: its identifier is taken")
        if sum(upload.size for upload in self._uploads.values()) + size > MAX_UNFINISHED:
            raise _Refused(f"{name}: other uploads are not finished; try again later")
        if message.part_count:
            self._uploads[message.transfer_uuid] = Upload(sender, size, set(range(message.part_count)), left=size)

    def _take_part(self, message: Any, sender: object) -> None:
        upload = self._uploads.get(message.transfer_uuid)
        if upload is None or upload.sender is not sender:
            raise _Refused  # the rest of an upload that was refused
        if message.part_index not in upload.parts or len(message.content) > upload.left:
            raise _Refused("a part of an upload was refused: it exceeds the announced size, or came twice")
        upload.parts.remove(message.part_index)
        upload.left -= len(message.content)
        if not upload.parts:
            del self._uploads[message.transfer_uuid]


def _problem(handle: Any, value: Any) -> str | None:
    """The reason why a control cannot have a value of this type; None if it can."""
    match handle:
        case viser.GuiButtonHandle():
            return None if value is True else f"a button sends True, not {_short(value)}"
        case viser.GuiDropdownHandle() | viser.GuiButtonGroupHandle():
            known = _short(", ".join(handle.options))
            return None if value in handle.options else f"{_short(value)} is not one of {known}"
        case viser.GuiCheckboxHandle():
            return None if isinstance(value, bool) else f"must be True or False, got {_short(value)}"
        case viser.GuiSliderHandle() | viser.GuiNumberHandle():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return None if number else f"must be a number, got {_short(value)}"
        case _:
            return "cannot be changed from the browser"


def _short(value: object) -> str:
    """A text of at most 100 characters."""
    text = str(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


# -- connections -------------------------------------------------------------------------------------------------------


class PageServer(viser.ViserServer):
    """viser's server behind two checks: of every connection, and of every incoming message.

    Attributes:
        access: token and rules of connections. inbox: checks of messages. rate: messages per second and browser.
        paths: functions that answer requests of the page itself, by path: they get the query and return False if it is
            wrong.
    """

    def __init__(self, host: str, port: int, *, framed: bool = False) -> None:
        self.access, self.inbox, self.rate = Access(host), Inbox(self), RATE
        self.paths: dict[str, Callable[[str], bool]] = {}
        self._headers = HEADERS | (NOTEBOOK if framed else {})
        self._connections: set[ServerConnection] = set()
        self._guarded = False
        message_buffer.install()
        setattr(_icons, "zipfile", SimpleNamespace(ZipFile=cache(_OpenArchive)))  # noqa: B010  # mypy
        with _replaced_serve(self._guard), contextlib.redirect_stdout(io.StringIO()):  # the command has its own banner
            super().__init__(host=host, port=port, verbose=False)
        if not self._guarded:
            self.stop()
            raise TrocarError(f"viser {viser.__version__} cannot be guarded: pip install 'trocar[view]'")

    def stop(self) -> None:
        """Stop the server, without viser's output on stdout."""
        with contextlib.redirect_stdout(io.StringIO()):
            super().stop()

    def _guard(self, options: dict[str, Any]) -> dict[str, Any]:
        """Options of the websocket server with the checks added."""
        self._guarded = True
        return options | {
            "process_request": partial(self._answer, options["process_request"]),
            "create_connection": partial(_CheckedConnection, self),
            "max_size": MAX_MESSAGE,
            "logger": _quiet,
        }

    def _answer(
        self, page: Callable[..., Response | None], connection: ServerConnection, request: Request
    ) -> Response | None:
        """Answer a request; None opens a websocket."""
        refusal = self.access.refusal(request)
        if refusal is not None:
            return connection.respond(HTTPStatus.FORBIDDEN, f"{refusal}\n")
        path, _, query = request.path.partition("?")
        try:
            if path in self.paths:
                response: Response | None = connection.respond(
                    HTTPStatus.OK if self.paths[path](query) else HTTPStatus.BAD_REQUEST, "\n"
                )
            else:
                response = page(connection, request)
        except (OSError, ValueError):  # no file can have this name, such as one of thousands of characters
            response = connection.respond(HTTPStatus.NOT_FOUND, "not found\n")
        if response is not None:
            if str(response.headers.get("Content-Type")).startswith("text/html"):
                title_page(response)
            for name, value in (self._headers | {"Set-Cookie": self.access.cookie}).items():
                response.headers[name] = value
        elif len(self._connections) >= MAX_BROWSERS:
            text = f"refused: {MAX_BROWSERS} browsers are connected already\n"
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, text)
        else:
            self._connections.add(connection)
        return response

    def release(self, connection: ServerConnection) -> None:
        """Release the place of a connection that has ended."""
        self.inbox.forget(connection)
        self._connections.discard(connection)


class _CheckedConnection(ServerConnection):
    """A connection that only passes on checked messages, at most at the server's rate.

    A browser that sends faster has to wait: meanwhile nothing is read from its connection.
    """

    def __init__(self, page: PageServer, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._page = page
        self._allowance, self._counted = float(BURST), time.monotonic()

    async def recv(self, decode: bool | None = None) -> Any:
        while True:
            raw = await super().recv(decode)
            await self._wait()
            if (checked := self._page.inbox.checked(raw, self)) is not None:
                return checked

    async def _wait(self) -> None:
        """Wait until the rate, which may change meanwhile, allows another message."""
        self._refill()
        self._allowance -= 1.0
        while self._allowance < 0.0 and self.state is State.OPEN:
            await asyncio.sleep(min(-self._allowance / self._page.rate, POLL_INTERVAL))
            self._refill()

    def _refill(self) -> None:
        now = time.monotonic()
        self._allowance = min(self._allowance + (now - self._counted) * self._page.rate, float(BURST))
        self._counted = now

    def connection_lost(self, exc: Exception | None) -> None:
        self._page.release(self)
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


# -- icons -------------------------------------------------------------------------------------------------------------


class _OpenArchive(zipfile.ZipFile):
    """viser's archive of icons, which it opens for every icon: its table of 5,000 names takes 15 ms to read."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.BytesIO(path.read_bytes()))

    def close(self) -> None:
        """Stay open."""


# -- poses -------------------------------------------------------------------------------------------------------------


def move_nodes(
    scene: viser.SceneApi, nodes: Iterable[tuple[int, Any]], positions: dict[int, Array], orientations: dict[int, Array]
) -> None:
    """Move nodes of a scene, each given with its index in the new positions (3,) [m] and quaternions (4,) wxyz.

    viser's setters compare each value with np.allclose and wake the server's thread: five times the cost.
    """
    queue = scene._queue_scene_message
    with scene._websock_interface.atomic():
        for index, node in nodes:
            if index in positions:
                node.position[:] = value = positions[index]
                queue(_messages.SetPositionMessage(node.name, value))  # type: ignore[arg-type]
            if index in orientations:
                node.wxyz[:] = value = orientations[index]
                queue(_messages.SetOrientationMessage(node.name, value))  # type: ignore[arg-type]


def remove_node(handle: Any) -> None:
    """Remove a node of the scene, unless it has gone with its parent."""
    if not handle._impl.removed:
        handle.remove()
