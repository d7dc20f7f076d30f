"""Random messages to the page: none ends a thread, prints a traceback or changes protected state.

TROCAR_FUZZ=N sends N messages instead of two thousand; TROCAR_FUZZ_SEED=N selects other messages.
"""

from __future__ import annotations

import socket
import time

import msgspec
import numpy as np
import pytest

from tests.support.odd_values import INPUTS, SEED, nonsense, number, numbers, rounds, text
from tests.support.waiting import TIMEOUT

pytest.importorskip("viser", reason="pip install 'trocar[view]'")

from tests.support.raw_browser import CAMERA, RawBrowser, until, websocket
from tests.support.viewed_robot import ViewedRobot
from trocar.view.server import serve

KINDS = (
    "GuiUpdateMessage",
    "GuiFormSubmitMessage",
    "GuiFormDirtyMessage",
    "ViewerCameraMessage",
    "TransformControlsUpdateMessage",
    "TransformControlsDragStartMessage",
    "TransformControlsDragEndMessage",
    "FileTransferStartUpload",
    "FileTransferPart",
    # messages of viser that this page does not send
    "ShareUrlRequest",
    "ShareUrlDisconnect",
    "GuiButtonHoldMessage",
    "CommandTriggerMessage",
    "SceneNodeClickMessage",
    "ScenePointerMessage",
    "GetRenderResponseMessage",
    "GuiRemoveMessage",
    "RemoveSceneNodeMessage",
    "BackgroundImageMessage",
)
OURS = KINDS.index("ShareUrlRequest")
SLOW = ("instrument", "counterweight", "friction")  # settings whose change rebuilds the scene


@pytest.fixture
def page():
    result = ViewedRobot()
    yield result
    result.close()


class Messages:
    """Random messages about the controls that a page has."""

    def __init__(self, page, rng):
        self.rng, self.page = rng, page
        slow = {control._impl.uuid for name, control in page.mechanism.controls.items() if name in SLOW}
        # films, files and rebuilt scenes are slow, so they are rare
        slow.add(page.mechanism.gravity.button._impl.uuid)
        slow |= {h._impl.uuid for h in self.handles() if getattr(h, "label", "").startswith("Export")}
        self.slow = slow
        self.transfers = 0

    def handles(self):
        return list(self.page.server.gui._gui_input_handle_from_uuid.values())

    def forms(self):
        entries = (self.page.controls.tip.entry, self.page.controls.push)  # gravity is slow
        return [entry.form._impl.uuid for entry in entries]

    def pick(self, values):
        return values[self.rng.integers(len(values))]

    def next(self):
        """Bytes or a text."""
        rng = self.rng
        match rng.integers(20):
            case 0:
                return bytes(rng.integers(0, 256, rng.integers(0, 200), dtype=np.uint8))
            case 1:
                return text(rng)
            case 2:
                return self.encoded(nonsense(rng))
            case 3 | 4:  # valid except for one bit
                content = bytearray(self.encoded(self.message()))
                content[rng.integers(len(content))] ^= 1 << rng.integers(8)
                return bytes(content)
            case _:
                return self.encoded(self.message())

    @staticmethod
    def encoded(message):
        return msgspec.msgpack.encode(message)

    def message(self):
        rng = self.rng
        kind = self.pick((KINDS[:1], KINDS[:1], KINDS[:OURS], KINDS[:OURS], KINDS[OURS:])[rng.integers(5)])
        name = self.pick((self.page.controls.tip.handle.name, self.page.controls.grip.name, "/arm", text(rng)))
        match kind:
            case "GuiUpdateMessage":
                found = {"uuid": (handle := self.handle())._impl.uuid, "updates": self.updates(handle)}
            case "GuiFormSubmitMessage" | "GuiFormDirtyMessage":
                found = {"uuid": self.pick([*self.forms(), text(rng)])}
            case "ViewerCameraMessage":
                found = dict(CAMERA)
            case "TransformControlsUpdateMessage":
                q = rng.normal(size=4)
                found = {
                    "name": name,
                    "wxyz": (q / np.linalg.norm(q)).tolist(),
                    "position": numbers(rng, 3),
                    "owner": "",
                }
            case "FileTransferStartUpload":
                self.transfers += 1
                buttons = [h._impl.uuid for h in self.handles() if "Upload" in type(h).__name__]
                found = {
                    "source_component_uuid": self.pick([*buttons, text(rng)]),
                    "transfer_uuid": f"t{self.transfers}",
                    "filename": self.pick(("a.csv", "a.npz", text(rng))),
                    "mime_type": "",
                    "part_count": int(rng.integers(0, 3)),
                    "size_bytes": int(rng.integers(0, 40)) * self.pick((1, 1, 10**6)),
                }
            case "FileTransferPart":
                found = {
                    "source_component_uuid": "",
                    "transfer_uuid": f"t{rng.integers(max(self.transfers - 2, 0), self.transfers + 1)}",
                    "part_index": int(rng.integers(0, 3)),
                    "content": bytes(rng.integers(0, 256, rng.integers(0, 40), dtype=np.uint8)),
                }
            case _:
                found = {"name": name, "uuid": self.handle()._impl.uuid, "owner": ""}
                found = {key: value for key, value in found.items() if rng.integers(4)}
        found = {"type": kind, **found}
        if rng.integers(6) == 0:
            found[self.pick([*found, text(rng)])] = nonsense(rng)
        return found

    def handle(self):
        handle = self.pick(self.handles())
        while handle._impl.uuid in self.slow and self.rng.integers(20):
            handle = self.pick(self.handles())
        return handle

    def updates(self, handle):
        rng = self.rng
        usual = {"value": self.value(handle)}
        if rng.integers(8) == 0:
            attribute = self.pick(("removed", "update_cb", "sync_cb", "value", "uuid", "props", "gui_api", text(rng)))
            usual[attribute] = nonsense(rng)
        return usual

    def value(self, handle):
        rng = self.rng
        if rng.integers(3) == 0:
            return nonsense(rng)
        if hasattr(handle, "options"):
            return self.pick(handle.options)
        if hasattr(handle, "min"):
            low, high = (-300.0, 300.0) if handle.min is None else (handle.min, handle.max)  # fields have no limits
            return float(rng.uniform(low, high)) if rng.integers(3) else number(rng)
        return True


@pytest.mark.filterwarnings("ignore::trocar.errors.NearSingular", "ignore::trocar.errors.NearLimit")
@pytest.mark.filterwarnings("ignore::trocar.errors.Unsolved", "ignore::trocar.errors.Inaccurate")
def test_random_messages_stop_nothing_and_print_nothing(page, capfd, caplog):
    rng = np.random.default_rng([SEED, 2])
    messages, browsers, inbox = Messages(page, rng), [RawBrowser(page.server) for _ in range(2)], page.server.inbox
    known = {name: page.server.scene.get_handle_by_name(name) for name in ("/floor", page.controls.tip.handle.name)}
    before = sum(inbox.accepted.values()) + sum(inbox.refused.values())
    count = rounds(2000)
    for k in range(count):
        browsers[k % 2].raw(messages.next())
        if k % 200 == 199:  # one browser disconnects in the middle of its actions, and another connects
            browsers[0].settled()
            browsers[0].close()
            browsers[0] = RawBrowser(page.server)
    for browser in browsers:
        browser.settled()
    seen = sum(inbox.accepted.values()) + sum(inbox.refused.values()) - before
    assert seen >= count
    for fate, messages_by_kind in (("accepted", inbox.accepted), ("refused", inbox.refused)):
        for kind, number_of in messages_by_kind.items():
            INPUTS[f"page: {kind}, {fate}"] += number_of
    assert sum(inbox.accepted.values()) > 0.1 * count
    assert sum(inbox.refused.values()) > 0.2 * count

    # everything exists and works
    assert page.page.running
    assert page.robot.error is None or "has stopped" in page.transport._status.content
    assert all(page.server.scene.get_handle_by_name(name) is handle for name, handle in known.items())
    assert not any(handle._impl.removed for handle in messages.handles())
    page.recordings.source.value = "simulation"
    page.simulation.pause()
    page.simulation.reset()
    until(lambda: page.transport.play.label == "Play", "the page to follow")
    browsers[1].set(page.transport.play, True)
    until(lambda: page.frame().time > 0.01, "time")
    for browser in browsers:
        browser.close()
    assert capfd.readouterr().err == ""
    assert [record.getMessage() for record in caplog.records if "failed" in record.getMessage()] == []


def test_random_requests_are_refused_and_the_server_continues(page, capfd):
    """Bytes that are not a request, and requests with all kinds of headers, none with the token."""
    rng = np.random.default_rng([SEED, 3])
    names = (b"Host", b"Origin", b"Cookie", b"Upgrade", b"Connection", b"Sec-WebSocket-Key", b"X")
    answers = set()
    for _ in range(rounds(100)):
        if rng.integers(3):
            values = [text(rng).encode() for _ in range(4)] + [b"127.0.0.1", b"websocket", b"http://127.0.0.1"]
            lines = [b"GET /" + text(rng)[:20].encode() + b" HTTP/1.1", b"Host: localhost"]
            lines += [names[rng.integers(7)] + b": " + values[rng.integers(7)] for _ in range(rng.integers(4))]
            request = b"\r\n".join([*lines, b"", b""])
        else:
            request = bytes(rng.integers(0, 256, rng.integers(1, 300), dtype=np.uint8)) + b"\r\n\r\n"
        with socket.create_connection(("127.0.0.1", page.server.get_port()), timeout=TIMEOUT) as connection:
            connection.sendall(request)
            INPUTS["page: request without the token"] += 1
            answers.add(connection.recv(12)[9:])
    assert answers <= {b"", b"400", b"403", b"426", b"500"}
    assert b"403" in answers
    RawBrowser(page.server).close()
    time.sleep(0.1)
    assert capfd.readouterr().err == ""


def test_tabs_that_come_and_go_leave_no_connection_behind(page, capfd):
    """Tabs that are closed properly, send nonsense, or are cut off in the middle of a message.

    Most of them open the same server without panels: that of the robot sends its whole scene to each.
    """
    rng, bare = np.random.default_rng([SEED, 4]), serve(port=0)
    for k in range(rounds(25)):
        INPUTS["page: tabs"] += 1
        tab = websocket(page.server if k % 20 == 0 else bare)
        kind = rng.integers(3)
        if kind == 0:
            tab.close()
        elif kind == 1:
            tab.send(bytes(rng.integers(0, 256, 50, dtype=np.uint8)))
            tab.socket.shutdown(socket.SHUT_RDWR)
        else:
            tab.socket.sendall(b"\x82\xfe\xff\xff" + bytes(10))  # a frame of 65535 bytes that does not come
            tab.socket.shutdown(socket.SHUT_RDWR)
        tab.close()
    for server in (page.server, bare):
        until(lambda server=server: not server._connections, "the end of all connections")
        RawBrowser(server).close()
    bare.stop()
    time.sleep(0.1)
    assert capfd.readouterr().err == ""
