"""Checks of every message from a browser, made before the page sees it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import viser
from msgspec import Meta

MOST_MESSAGE = 1 << 20  # [bytes]; the browser sends files in parts of half this size
LEAST_PART = 1 << 16  # smallest part of a file, except for the last [bytes]
MOST_UPLOAD = 64 << 20  # largest file [bytes]
MOST_UNFINISHED = 2 * MOST_UPLOAD  # largest sum of all unfinished uploads, from all browsers [bytes]
ROUNDING = 1e-9  # tolerance for a value that a browser puts at the end of a range

Name = Annotated[str, Meta(max_length=256)]
LARGEST = 1e9
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]  # neither NaN nor infinite
Metres = Annotated[float, Meta(ge=-10.0, le=10.0)]
Part = Annotated[float, Meta(ge=-1.001, le=1.001)]  # component of a unit quaternion
Count = Annotated[int, Meta(ge=0, le=1 << 31)]
Three = tuple[Number, Number, Number]
Quaternion = tuple[Part, Part, Part, Part]


class _Message(msgspec.Struct, tag_field="type", tag=True, forbid_unknown_fields=True):
    """Base of the messages of viser's browser side that the page uses; class and field names are viser's."""


class ViewerCameraMessage(_Message):
    wxyz: Quaternion
    position: Three
    fov: Number
    near: Number
    far: Number
    image_height: Count
    image_width: Count
    look_at: Three
    up_direction: Three


class TransformControlsUpdateMessage(_Message):
    name: Name
    wxyz: Quaternion
    position: tuple[Metres, Metres, Metres]
    owner: Name = ""


class TransformControlsDragStartMessage(_Message):
    name: Name
    owner: Name = ""


class TransformControlsDragEndMessage(_Message):
    name: Name
    owner: Name = ""


class _Updates(msgspec.Struct, forbid_unknown_fields=True):
    """The allowed change of a control: its value, and no other attribute."""

    value: bool | Number | Name


class GuiUpdateMessage(_Message):
    uuid: Name
    updates: _Updates


class CommandTriggerMessage(_Message):
    uuid: Name


class GuiFormSubmitMessage(_Message):
    uuid: Name


class GuiFormDirtyMessage(_Message):
    uuid: Name


class FileTransferStartUpload(_Message):
    source_component_uuid: Name
    transfer_uuid: Name
    filename: Name
    mime_type: Name
    part_count: Count
    size_bytes: Count


class FileTransferPart(_Message):
    source_component_uuid: Name
    transfer_uuid: Name
    part_index: Count
    content: bytes


Handle = TransformControlsUpdateMessage | TransformControlsDragStartMessage | TransformControlsDragEndMessage
Form = GuiFormSubmitMessage | GuiFormDirtyMessage
Control = GuiUpdateMessage | CommandTriggerMessage | Form
Message = ViewerCameraMessage | Control | Handle | FileTransferStartUpload | FileTransferPart


class _Refused(Exception):
    """A message that the page must not see; its text, if any, is for the user."""


class Sender:
    """One browser. Attributes: looks: it has sent its camera pose; viser knows the browser from then on."""

    def __init__(self) -> None:
        self.looks = False


@dataclass
class Upload:
    """An upload in progress: announced size [bytes], and the parts and bytes that are still missing."""

    sender: Sender
    size: int
    parts: set[int]
    left: int


class Inbox:
    """Passes on the messages that our own page can send, and reports the rest.

    Args:
        control, container: return the control, or the folder or form, with an identifier; None if there is none.
        node: returns the scene node with a name; None if there is none.
        command: returns the command (a key of the page) with an identifier; None if there is none.

    Attributes:
        report: called with a text for the user when a message is refused.
        accepted, refused: numbers of messages so far, by type; malformed ones are counted under "shape".
    """

    def __init__(
        self,
        control: Callable[[str], Any],
        container: Callable[[str], Any],
        node: Callable[[str], Any],
        command: Callable[[str], Any] = lambda uuid: None,
    ) -> None:
        self._control, self._container, self._node, self._command = control, container, node, command
        self._decoder = msgspec.msgpack.Decoder(Message)
        self._uploads: dict[str, Upload] = {}
        self.report: Callable[[str], object] = lambda text: None
        self.accepted: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def checked(self, raw: bytes | str, sender: Sender) -> bytes | None:
        """The message for viser to read; None if it is refused."""
        kind = "shape"
        try:
            message = self._read(raw)
            kind = type(message).__name__
            self._check(message, sender)
        except _Refused as refusal:
            if str(refusal):
                self.report(str(refusal))
            self.refused[kind] += 1  # counted last, so that whoever waits for the count finds the report
            return None
        self.accepted[kind] += 1
        return msgspec.msgpack.encode(message)  # only the fields that were checked

    def forget(self, sender: Sender) -> None:
        """Forget a browser that has disconnected, and its unfinished uploads."""
        self._uploads = {key: upload for key, upload in self._uploads.items() if upload.sender is not sender}

    def _read(self, raw: bytes | str) -> Message:
        try:
            return self._decoder.decode(raw)  # type: ignore[arg-type]  # a text raises too
        except Exception as error:  # malformed bytes can raise anything in a decoder
            raise _Refused(f"a message of a wrong shape was refused: {_short(error)}") from None

    def _check(self, message: Message, sender: Sender) -> None:
        if isinstance(message, ViewerCameraMessage):
            sender.looks = True
        elif not sender.looks:
            raise _Refused  # viser would change the control without notifying anyone
        elif isinstance(message, GuiUpdateMessage):
            handle = self._control(message.uuid)
            if handle is None:
                raise _Refused  # a control that was replaced while the message was on its way
            disabled = getattr(handle, "disabled", False)  # a progress bar has neither this nor a label
            problem = "is disabled" if disabled else _problem(handle, message.updates.value)
            if problem:
                raise _Refused(f"{getattr(handle, 'label', 'a control')}: {problem}")
        elif isinstance(message, CommandTriggerMessage):
            if self._command(message.uuid) is None:
                raise _Refused("a key was refused: the page has no such command")
        elif isinstance(message, Form):
            if not isinstance(self._container(message.uuid), viser.GuiFormHandle):
                raise _Refused("a form was refused: there is no such form")
        elif isinstance(message, FileTransferStartUpload):
            self._start_upload(message, sender)
        elif isinstance(message, FileTransferPart):
            self._take_part(message, sender)
        else:
            self._check_handle(message)

    def _check_handle(self, message: Handle) -> None:
        node = self._node(message.name)
        if not isinstance(node, viser.TransformControlsHandle) or message.owner:
            raise _Refused(f"{_short(message.name)}: there is no such handle")
        if isinstance(message, TransformControlsUpdateMessage) and abs(math.hypot(*message.wxyz) - 1.0) > 1e-3:
            raise _Refused(f"{message.name}: the orientation is not a unit quaternion")

    def _start_upload(self, message: FileTransferStartUpload, sender: Sender) -> None:
        button = self._control(message.source_component_uuid)
        if not isinstance(button, viser.GuiUploadButtonHandle) or button.disabled:
            raise _Refused("an upload was refused: there is no such button")
        if message.size_bytes > MOST_UPLOAD:
            raise _Refused(f"{_short(message.filename)}: larger than {MOST_UPLOAD >> 20} MB; use trocar view FILE")
        least, most = min(message.size_bytes, 1), message.size_bytes // LEAST_PART + 1
        if not least <= message.part_count <= most:
            raise _Refused(f"{_short(message.filename)}: {message.size_bytes} bytes in {message.part_count} parts")
        if message.transfer_uuid in self._uploads:
            raise _Refused("an upload was refused: its identifier is taken")
        if sum(upload.size for upload in self._uploads.values()) + message.size_bytes > MOST_UNFINISHED:
            raise _Refused(f"{_short(message.filename)}: other uploads are not finished; try again later")
        if message.part_count:
            size, parts = message.size_bytes, set(range(message.part_count))
            self._uploads[message.transfer_uuid] = Upload(sender, size, parts, left=size)

    def _take_part(self, message: FileTransferPart, sender: Sender) -> None:
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
    """The reason why a control cannot have a value; None if it can."""
    match handle:
        case viser.GuiButtonHandle():
            return None if value is True else f"a button sends True, not {_short(value)}"
        case viser.GuiDropdownHandle() | viser.GuiButtonGroupHandle():
            known = _short(", ".join(handle.options))
            return None if value in handle.options else f"{_short(value)} is not one of {known}"
        case viser.GuiCheckboxHandle():
            return None if isinstance(value, bool) else f"must be True or False, got {_short(value)}"
        case viser.GuiSliderHandle():
            return _outside(value, handle.min, handle.max)
        case viser.GuiNumberHandle():
            return _outside(value, -LARGEST, LARGEST)
        case _:
            return "cannot be changed from the browser"


def _outside(value: Any, low: float, high: float) -> str | None:
    slack = ROUNDING * max(1.0, abs(low), abs(high)) if math.isfinite(high - low) else 0.0
    if not isinstance(value, bool) and isinstance(value, int | float) and low - slack <= value <= high + slack:
        return None
    return f"must be a number from {low:g} to {high:g}, got {_short(value)}"


def _short(value: object) -> str:
    """A text of at most 100 characters."""
    text = str(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
