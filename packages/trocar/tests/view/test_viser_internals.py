"""The private parts of viser that the page uses exist in the installed version."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect

import pytest

pytest.importorskip("viser", reason="pip install 'trocar[view]'")

import viser
from viser import _icons, _messages
from viser.infra import _infra

from tests.support.waiting import TIMEOUT
from trocar.view.message_buffer import LoopEvent
from trocar.view.server import serve
from trocar.view.viser_internals import VERSION, WIRE, remove_node


def test_the_version_is_the_one_that_was_read():
    assert viser.__version__.startswith(f"{VERSION}."), "check every name in view/viser_internals.py, then its VERSION"


@pytest.mark.parametrize("kind", WIRE)
def test_messages_of_the_browser_have_the_fields_of_viser(kind):
    fields = {field.name for field in dataclasses.fields(getattr(_messages, kind)) if field.init}
    assert fields == set(WIRE[kind])


def test_a_node_that_has_gone_with_its_parent_is_removed_without_a_warning():
    server = serve(port=0)
    try:
        parent, child = server.scene.add_frame("/a"), server.scene.add_frame("/a/b")
        parent.remove()
        remove_node(child)
        with pytest.warns(UserWarning, match="already removed"):
            child.remove()
    finally:
        server.stop()


def test_the_archive_of_icons_is_read_once():
    server = serve(port=0)
    try:
        _icons.svg_from_icon.cache_clear()
        path = _icons.ICONS_DIR / "tabler-icons.zip"
        assert _icons.zipfile.ZipFile(path) is _icons.zipfile.ZipFile(path)
        assert [_icons.svg_from_icon(name)[:4] for name in (viser.Icon.HOME, viser.Icon.EQUAL)] == ["<svg"] * 2
    finally:
        server.stop()


def test_the_private_parts_exist():
    assert "websockets.asyncio.server.serve(" in inspect.getsource(_infra)
    for kind, field in ((_messages.SetPositionMessage, "position"), (_messages.SetOrientationMessage, "wxyz")):
        assert [f.name for f in dataclasses.fields(kind) if f.init] == ["name", field]
    server = serve(port=0)
    try:
        for name in ("_gui_input_handle_from_uuid", "_command_handle_from_uuid", "_container_handle_from_uuid"):
            assert isinstance(getattr(server.gui, name), dict)
        slider = server.gui.add_slider("a", 0.0, 1.0, 0.1, 0.0)
        assert server.gui._gui_input_handle_from_uuid[slider._impl.uuid] is slider
        assert callable(server.scene._queue_scene_message)
        assert callable(server.scene._websock_interface.atomic)
    finally:
        server.stop()


def test_a_message_from_another_thread_wakes_waiting_connections_in_the_loop_only():
    """asyncio's own event would go through those who wait while the loop adds others."""

    async def run():
        loop, event = asyncio.get_running_loop(), LoopEvent()
        waiting = [asyncio.ensure_future(event.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.to_thread(event.set)
        assert event.is_set()
        assert not any(one.done() for one in waiting)
        assert await event.wait()
        await asyncio.to_thread(loop.call_soon_threadsafe, event.set)
        assert await asyncio.wait_for(asyncio.gather(*waiting), TIMEOUT) == [True] * 3
        event.clear()
        assert not event.is_set()

    asyncio.run(run())


def test_buffers_of_a_page_and_of_its_browsers_have_such_events():
    server = serve("127.0.0.1", 0)
    try:
        buffers = [server._websock_server._broadcast_buffer, _infra.AsyncMessageBuffer(None, False)]
        assert {type(buffer.message_event) for buffer in buffers} == {LoopEvent}
    finally:
        server.stop()
